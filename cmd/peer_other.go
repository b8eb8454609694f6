//go:build !linux

package cmd

// ownPeer: this system does not tell whose a connection is.
func ownPeer(string, string) bool { return true }
