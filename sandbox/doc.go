// Package sandbox makes sandboxes of Hermes Studio with a home and a workspace
// of their own, and looks after them: it prepares the directories on the node,
// seeds homes, creates, finds, pauses, resumes, stops and rebuilds.
//
// It neither builds images nor registers templates, and it draws no terminal.
//
// Invariants: what a sandbox's state is, Cube says; a home with a config.yaml
// is never written to from the node, but for a nonce; no two live sandboxes hold
// one home unless that was asked for; nothing here prints or stores a secret.
package sandbox
