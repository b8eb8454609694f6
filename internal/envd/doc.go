// Package envd speaks to the command service of a sandbox, on port 49983:
// it runs commands and handles files inside. The service is reached directly,
// or through the Cube proxy by host name or by path; see [Target].
//
// The wire format is Connect's, with JSON. It is written out here and not left
// to the Connect library, because that one sends the caller's deadline along,
// and this service kills the command when it comes. For the same reason
// nothing here ends a command unless it is asked to: a client that goes away
// leaves it running, and its output is lost.
//
// The package knows nothing of sandboxes, homes or Cube's API. Versions 0.5.13
// and 0.6.13 of the service are the ones it was made for.
//
// Invariants: every request carries a user, root unless told otherwise; no
// error text holds a token; no frame is believed to be longer than what came.
package envd
