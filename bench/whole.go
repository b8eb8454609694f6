package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// mostIdle is how many seconds an up through all stages may take that finds nothing to do.
const mostIdle = 1.0

const wholeImage = "hermesbox-bench/whole:1"

// studio is the stand-in for Hermes Agent and its Web UI that the tests of verification have, from the repository's root.
const studio = "sandbox/verify/testdata/studio"

// wholeRecipe is that of the stand-in, with all of the source in the agent's place, so that verification finds it there.
const wholeRecipe = `FROM hermesbox-standin/sandbox-code:bookworm
COPY . /opt/hermes-agent/
COPY .hermesbox/manifest /usr/share/hermesbox/manifest
RUN set -e; cd /opt/hermes-agent; rm -rf .hermesbox; python=$(readlink -f /usr/bin/python3); \
    site=.venv/lib/${python##*/}/site-packages; mkdir -p "$site" .venv/bin /root/.hermes /workspace; ln -s "$python" .venv/bin/python; \
    printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >.venv/pyvenv.cfg; echo /opt/hermes-agent >"$site/agent.pth"; \
    install -m 0755 hermes .venv/bin/hermes; install -m 0755 hermes-studio /usr/local/bin/hermes-studio; \
    cp config.yaml SOUL.md /root/.hermes/; install -m 0644 profile.sh /etc/profile.d/hermesbox.sh
EXPOSE 9000 49983
`

// wholeBench measures up through all stages, to a verified template of a local Cube, on the tree of 22,000 files with
// the stand-in in it. The first up makes all of it; those that are measured find nothing to do. Beside it are context
// check of the same tree and GNU tar into sha256sum.
func wholeBench(ctx context.Context, out io.Writer, o options) (met bool, err error) {
	s := shapes[0]
	tree, err := prepare(ctx, s, o)
	if err != nil {
		return false, err
	}
	w, err := openWorld(ctx, o.hermesbox)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	work, recipe, err := w.project(wholeRecipe)
	if err != nil {
		return false, err
	}
	source := filepath.Join(work, "source")
	copying := fmt.Sprintf("cp -a %s %s && cp %s/* %[2]s/ && mkdir %[2]s/tools && cp %[3]s/tool.py %[2]s/tools/files.py", tree, source, studio)
	if _, err := measure(ctx, ".", copying); err != nil {
		return false, err
	}
	w.images = append(w.images, wholeImage)
	up := fmt.Sprintf("XDG_STATE_HOME=%s %s up --cube local -f %s -t %s %s >/dev/null", w.dir, o.hermesbox, recipe, wholeImage, source)
	check := contest{
		name: "up, all stages, nothing changed", ours: up, rival: o.hermesbox + " context check " + source + " >/dev/null",
		targets: []target{{"s", seconds, mostIdle}, {"s+", secondsAbove, mostAbove}},
	}
	sums := contest{
		name: "up, all stages, against tar | sha256sum", ours: up, rival: "cd source && " + tarLine + "sha256sum >/dev/null",
		targets: []target{{"wall", wall, 0}},
	}
	return playAll(ctx, out, s, work, []contest{check, sums}, o.runs)
}

func seconds(ours, _ sample) float64 { return ours.wall.Seconds() }
