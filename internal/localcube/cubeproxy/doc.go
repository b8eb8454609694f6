// Package cubeproxy serves the local Cube's data plane: requests for a port of
// a sandbox, named by the Host header {port}-{id}.{domain} or by the path
// /sandbox/{id}/{port}/…, as CubeProxy of Cube 0.7 does.
//
// Every request restarts the sandbox's idle window and, where its policy says
// so, wakes it. Answers are passed on as they come; WebSockets and other
// upgrades pass. The domain is not looked at.
package cubeproxy
