// Package skills brings public skills into homes: what every node has in its
// shared, read-only directory is linked into a home where its name is free.
//
// It knows no Cube and no node; a sandbox is reached through its command
// service.
//
// Invariants: whatever exists in a home is private and wins; nothing but links
// into the shared directory is ever made or removed.
package skills
