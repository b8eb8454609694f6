// Package cluster is the engine of the local Cube: templates, their jobs, and
// sandboxes, over one Docker Engine. It speaks no HTTP; cubeapi, cubemaster and
// cubeproxy serve it.
//
// A template is an image and a spec, a sandbox a container that runs the
// image's own entrypoint, and a pause is a pause. What a sandbox is made from
// is written in its container's labels; what changes later, and what Docker has
// no place for, in one file of the state directory. There is one node, and no
// memory snapshot: each sandbox boots its image.
//
// Invariants: a container that carries our labels without a finished record in
// the file is the rest of a create that was cut off, and is removed at the next
// start. A job that was running when the process ended is failed. Containers of
// another state directory are not touched. Nothing here is a security boundary.
package cluster
