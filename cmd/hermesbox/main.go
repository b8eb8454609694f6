// Command hermesbox builds the Hermes Agent sandbox image and what follows from it.
package main

import (
	"context"
	"os"

	"github.com/hermesbox/hermesbox/cmd"
)

func main() {
	sys := cmd.System{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
	os.Exit(cmd.Run(context.Background(), sys, os.Args[1:]))
}
