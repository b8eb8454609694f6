// Package skills brings public skills from a directory into homes: they are
// linted, deployed to the shared directory of each node, and linked in a
// sandbox where their name is free.
//
// It knows no Cube and opens no connection: a node is a node.Node, a sandbox is
// reached through its command service. Commands and hints are the caller's.
//
// Invariants: on a node nothing is replaced or removed but what an earlier
// deploy put there, and each skill is swapped in whole; in a home whatever
// exists is private and wins, and nothing but links into the shared directory is
// ever made or removed.
package skills
