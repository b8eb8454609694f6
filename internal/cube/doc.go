// Package cube speaks to a CubeSandbox cluster: to CubeAPI, which has the
// sandboxes, and to CubeMaster, which has the templates and the nodes. One
// [Client] holds both; where no CubeMaster is configured, templates go through
// CubeAPI.
//
// It knows what differs between the versions of Cube and hides it where it
// can: spellings, statuses, content types, ids given or generated. What it
// cannot hide comes back as one typed [Error], for errors.Is with the
// sentinels of this package. It decides nothing about templates or sandboxes,
// polls nothing and keeps no state; commands inside a sandbox are package
// envd's.
//
// Invariants: credentials go to CubeAPI only and never follow a redirect; no
// error text holds a key, a password or a query; every request has a
// deadline; no more of an answer is read than answerLimit bytes.
package cube
