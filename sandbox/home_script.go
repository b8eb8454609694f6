package sandbox

import (
	"context"
	"embed"
	"fmt"
	"io"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/node"
)

// scriptFiles run on nodes: home.sh has what the others share.
//
//go:embed home.sh look.sh prepare.sh adopt.sh default.sh origin.sh homes.sh
var scriptFiles embed.FS

// nodeScript is one of scriptFiles and what it is given.
type nodeScript struct {
	name  string
	args  []string
	place Place // what errors are about
	stdin io.Reader
}

// refused is the exit code of a script that has given its reason as an answer.
const refused = 3

// answerLimit is the longest answer that is read.
const answerLimit = 32 << 20

func (s nodeScript) text() (string, error) {
	shared, err := scriptFiles.ReadFile("home.sh")
	if err != nil {
		return "", err
	}
	own, err := scriptFiles.ReadFile(s.name)
	return node.LockFunc + string(shared) + string(own), err
}

// ask runs a script and hands on its answers.
func ask(ctx context.Context, n node.Node, s nodeScript, take func(answer.Pair) error) error {
	out := &answer.Buffer{Left: answerLimit}
	if err := s.run(ctx, n, out); err != nil {
		return err
	}
	return s.read(n.Name(), out.Bytes(), take)
}

// run runs a script whose answers go to out. A script that refuses is no error
// here: it says so among its answers.
func (s nodeScript) run(ctx context.Context, n node.Node, out io.Writer) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	said := &answer.Buffer{Left: 64 << 10}
	code, err := n.Run(ctx, node.Script{Text: text, Args: s.args, Stdin: s.stdin, Stdout: out, Stderr: said})
	switch {
	case err != nil:
		return err
	case code != 0 && code != refused:
		return fmt.Errorf("exit code %d: %s", code, firstLine(said.String()))
	}
	return nil
}

// read hands on the answers of a script, or says why it refused.
func (s nodeScript) read(node string, out []byte, take func(answer.Pair) error) error {
	all, err := answer.Parse(out)
	if err != nil {
		return err
	}
	if len(all) > 0 && all[len(all)-1].Key == "refused" {
		return s.refusal(node, all)
	}
	for _, a := range all {
		if err := take(a); err != nil {
			return err
		}
	}
	return nil
}
