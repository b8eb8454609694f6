// Package cubeapi serves the local Cube's E2B-compatible REST interface, as
// CubeAPI of Cube 0.7 does: its routes at the root, its JSON, its refusals word
// for word, its CORS headers and compression. What the cluster behind it does
// is in package cluster.
//
// It has no authentication, but for a key that tests may demand. Snapshots,
// rollback, forks and volumes answer 501 with a text that says so.
package cubeapi
