// Command bench measures hermesbox against what else does its work, and compares the quotients with the promises: the
// context commands, an up that finds nothing to do, verification, the local Cube's proxy, and lists of many sandboxes. It
// needs GNU tar, a Docker Engine of this machine with the stand-in base, and quiet; it is no test and make test never
// runs it.
//
// Ours and the rival alternate, and the median of each cost is taken on its own. Trees are made once and kept in -dir.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

type options struct {
	hermesbox string
	self      string
	dir       string
	only      string
	image     string
	runs      int
}

var errMissed = errors.New("a promise was missed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // what was started is to be ended
	err := bench(ctx, os.Stdout, os.Args[1:])                             //nolint:forbidigo // this is a main
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err) //nolint:forbidigo // this is a main
		os.Exit(1)                             //nolint:forbidigo // this is a main
	}
}

func bench(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var o options
	flags.StringVar(&o.hermesbox, "hermesbox", "", "the `program` to measure")
	flags.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "hermesbox-bench"), "where trees are made and kept")
	flags.StringVar(&o.only, "only", "", "one `part` only: the trees 22k or 200k, up, whole, verify, proxy or lists")
	flags.StringVar(&o.image, "image", "", "`image` on the Engine that is verified, and whose command service and web UI are measured through the proxy")
	flags.IntVar(&o.runs, "runs", 5, "runs of each command")
	sync := flags.Bool("sync", false, "sync two directories as BuildKit does, and end")
	plants := flags.String("plant", "", "make the `tree` in a directory, and end")
	address := flags.String("answer", "", "answer requests on an `address`, as the server that the proxy is measured with")
	before := flags.String("reverse", "", "be Go's reverse proxy before an `address`")
	pass := flags.String("relay", "", "pass bytes to and from an `address`")
	list := flags.String("list", "", "list the sandboxes of the CubeAPI at an `address`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *sync && flags.NArg() == 2:
		return syncTrees(ctx, flags.Arg(0), flags.Arg(1))
	case *address != "" && flags.NArg() == 0:
		return answer(*address)
	case *before != "" && flags.NArg() == 0:
		return reverse(ctx, out, *before)
	case *pass != "" && flags.NArg() == 0:
		return relay(ctx, out, *pass)
	case *list != "" && flags.NArg() == 0:
		return fetchList(ctx, *list)
	case *plants != "" && flags.NArg() == 1:
		return plantNamed(flags.Arg(0), *plants)
	case *sync, *plants != "", flags.NArg() > 0, o.hermesbox == "":
		return errors.New("usage: bench -hermesbox PROGRAM [-runs N] [-only PART] [-image IMAGE] [-dir DIRECTORY]")
	}
	return compete(ctx, out, o)
}

func compete(ctx context.Context, out io.Writer, o options) error {
	var err error
	if o.self, err = os.Executable(); err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if o.hermesbox, err = filepath.Abs(o.hermesbox); err != nil {
		return fmt.Errorf("finding hermesbox: %w", err)
	}
	met := true
	for _, s := range shapes {
		if o.only != "" && o.only != s.name {
			continue
		}
		ok, err := run(ctx, out, s, o)
		if err != nil {
			return err
		}
		met = met && ok
	}
	for _, other := range []struct {
		name string
		run  func(context.Context, io.Writer, options) (bool, error)
	}{{"up", upBench}, {"whole", wholeBench}, {"verify", verifyBench}, {"proxy", proxyBench}, {"lists", listsBench}} {
		if o.only != "" && o.only != other.name {
			continue
		}
		ok, err := other.run(ctx, out, o)
		if err != nil {
			return fmt.Errorf("%s: %w", other.name, err)
		}
		met = met && ok
	}
	if !met {
		return errMissed
	}
	return nil
}

func plantNamed(root, name string) error {
	for _, s := range shapes {
		if s.name == name {
			return plant(root, s)
		}
	}
	return fmt.Errorf("no tree is named %q", name)
}
