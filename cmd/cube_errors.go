package cmd

import (
	"errors"
	"strings"

	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/template"
)

// cubeAdvices go from the most to the least telling.
var cubeAdvices = []advice{
	{template.ErrSpec, exitUsage, "correct the flag or the key in hermesbox.yaml; nothing was sent"},
	{template.ErrUnreachableImage, exitUsage, "push it (build --push, or image.push: true), or give a reference that Cube can pull"},
	{cube.ErrNotConfigured, exitUsage, "set cube.api_url or cube.master_addr in hermesbox.yaml, or use --cube local"},
	{cube.ErrUnauthorized, exitAuth, "set CUBE_API_KEY to a key that this cluster accepts"},
	{cube.ErrForeign, exitFailed, "check cube.api_url and cube.master_addr: CubeAPI and CubeMaster have to answer there themselves"},
	{cube.ErrUnreachable, exitFailed, "check cube.api_url and cube.master_addr, and the network in between"},
	{cube.ErrInUse, exitFailed, "stop the sandboxes of this template first; hermesbox sandbox ls lists them"},
	{cube.ErrInProgress, exitFailed, "wait for the job (hermesbox template watch), then try again"},
	{cube.ErrNoNode, exitFailed, "look at the nodes of the cluster, and at --node"},
	{cube.ErrUnsupported, exitFailed, "this needs a newer Cube, or an address in cube.master_addr"},
	{cube.ErrNotFound, exitFailed, "hermesbox template ls lists what there is"},
}

// cubeFailed gives an error of Cube or of a template its exit code and the next step.
func cubeFailed(err error) error {
	var job *template.JobError
	if err == nil {
		return nil
	}
	if errors.As(err, &job) {
		return &failure{err: err, code: exitFailed, hint: jobHint(job)}
	}
	for _, a := range cubeAdvices {
		if errors.Is(err, a.is) {
			return &failure{err: err, code: a.code, hint: a.hint}
		}
	}
	return err
}

// jobHint is the next step after a job that made no template. Cube tells the
// cause in words only.
func jobHint(e *template.JobError) string {
	again := "; the next try needs no cleaning first"
	says := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(e.Cause, w) {
				return true
			}
		}
		return false
	}
	switch {
	case e.Stuck:
		return "it may still end: hermesbox template watch " + e.Template + "; template create starts another, and does not wait for this one"
	case says("No command specified"):
		return "the image has neither an entrypoint nor a command: give --cmd" + again
	case says("no healthy nodes", "failed on all nodes", "no more resource"):
		return "no node could take it: look at the nodes of the cluster, and at --node, --cpu and --memory" + again
	case says("probe", "context deadline exceeded"):
		return "nothing answered the probe in time: --probe must be the port of a service that the image starts by itself, which answers --probe-path with 2xx; 49983 is the command service of the sandbox base" + again
	case e.Phase == "PULLING", says("docker pull"):
		return "Cube could not pull the image: check the reference, and that Cube's own machine reaches the registry and may read it" + again
	case says("deleted meanwhile"):
		return "somebody deleted it; create it again"
	}
	return "hermesbox template show " + e.Template + " tells more" + again
}
