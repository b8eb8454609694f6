// Package sshtest gives tests real OpenSSH servers, each with its own host
// keys, configuration, client key and known_hosts, and counts what is asked of
// them.
//
// A server is the machine's sshd in inetd mode behind a listener of this
// package, so that connections can be counted, cut and frozen. It logs in the
// user that runs the test, with an empty HOME; other users need root, and exist
// in a mount namespace of the server's only: the machine's own /etc is not
// touched.
package sshtest
