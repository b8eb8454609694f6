// Package inside has what tests of images and of sandboxes share: the manifest
// of the source and how files are compared with it, a stub of a model, and a
// turn of the agent against it. It runs nothing.
package inside

import _ "embed" // for the scripts

// AgentTurn is a Python script that has Hermes Agent take a turn against a stub
// model on loopback and prints a JSON object {code, answer, turns, output} as
// its last line. Its arguments are the hermes program and a directory to use as
// home.
var AgentTurn = model + "\n" + agentTurn

var (
	//go:embed model.py
	model string
	//go:embed agent_turn.py
	agentTurn string
)
