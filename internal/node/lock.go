package node

import _ "embed"

// LockFunc is shell text that defines "lock FILE [SECONDS]", for putting in
// front of a script: an exclusive lock on a node, which ends with the script,
// however that ends. Its head says how it is used.
//
//go:embed lock.sh
var LockFunc string
