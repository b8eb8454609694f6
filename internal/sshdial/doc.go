// Package sshdial makes SSH connections as OpenSSH makes them.
//
// It reads ssh_config and known_hosts, offers the keys of the agent and of
// files in OpenSSH's order, goes through jump hosts, and runs commands on one
// connection. It asks for no password, opens no terminal, and writes no file.
//
// Invariants: no host key is trusted that known_hosts does not vouch for,
// whatever ssh_config says of StrictHostKeyChecking; a directive of ssh_config
// that would change the connection is honoured or is an error, never passed
// over; no variable of the environment reaches the server.
package sshdial
