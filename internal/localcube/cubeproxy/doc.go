// Package cubeproxy serves the local Cube's data plane: requests for a port of
// a sandbox, named by the Host header {port}-{id}.{domain} or by the path
// /sandbox/{id}/{port}/…, as CubeProxy of Cube 0.7 does.
//
// A sandbox is in use while a request to it is open, streams and WebSockets
// included; where its policy says so, a request wakes it. Answers are passed on
// as they come; WebSockets and other upgrades pass. The domain is not looked at.
//
// There are two ways through. A request that is nothing but a clean head goes
// the short one (Listen): one goroutine a connection reads it, asks the sandbox
// and writes the answer, and the kernel moves large bodies. With the first
// request that is more than that, the connection goes to net/http for good,
// whose handler here is a httputil.ReverseProxy.
package cubeproxy
