// Package cubemaster serves the local Cube's CubeMaster interface: templates
// from images with their jobs, and sandboxes, as CubeMaster of Cube 0.7 does.
//
// Every handled request is answered 200 with the outcome in ret; text/plain,
// since clients must not rely on a type. Keys of bodies match without regard to
// case. There is one node, which cannot be registered or marked unhealthy.
package cubemaster
