// Package nettest gives tests network namespaces of their own, on Linux as root.
//
// A namespace has no name on the machine and ends with its test, and with it
// every link, route and listener that was made inside.
package nettest
