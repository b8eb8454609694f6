// Package inside has what tests of images and of sandboxes share: the manifest
// of the source and how files are compared with it, and a turn of the agent
// against a model of its own. It runs nothing.
package inside

import _ "embed" // for the script

// AgentTurn is a Python script that has Hermes Agent take a turn against a stub
// model on loopback and prints a JSON object {code, answer, turns, output} as
// its last line. Its arguments are the hermes program and a directory to use as
// home.
//
//go:embed agent_turn.py
var AgentTurn string
