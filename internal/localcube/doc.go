// Package localcube is the local Cube: CubeAPI, CubeMaster's template interface
// and CubeProxy on loopback, in one process over a Docker Engine, for laptops
// and CI jobs without a cluster.
//
// [Serve] runs it, [Ask] and [Ensure] find a running one, [Down] ends it and
// removes what it made. cluster holds templates and sandboxes; cubeapi,
// cubemaster and cubeproxy serve them; egress enforces outbound rules.
//
// Invariants: one process serves a state directory, which a lock sees to. All
// listeners are on loopback. What a user mounts is under the shared root, which
// stands for /data/shared and is never removed. It is no security boundary:
// whoever reaches the loopback ports may use it, and sandboxes are containers.
package localcube
