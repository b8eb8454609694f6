package skills

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/envd"
)

// Where a sandbox has its skills, and the settings of Hermes.
const (
	Private = "/root/.hermes/skills"
	Public  = "/opt/hermes-common-skills"
	config  = "/root/.hermes/config.yaml"
	mounts  = "/proc/mounts"
	bundled = "/opt/hermes-agent/skills"
)

//go:embed overlay.sh
var overlayScript string

// What keeps an overlay from being made.
var (
	// ErrNoMount means that the sandbox was made without the public skills; it
	// must be rebuilt.
	ErrNoMount = errors.New("the sandbox has no public skills mounted at " + Public)
	// ErrHome means that the home's directory of skills cannot be used.
	ErrHome = errors.New("the home's directory of skills cannot be used")
)

// Overlaid is what an overlay did with the public skills, by name; or how it stands.
type Overlaid struct {
	// Linked are new links, Kept those of before.
	Linked []string `json:"linked"`
	Kept   []string `json:"kept"`
	// Private are those whose name something else in the home has.
	Private []string `json:"private"`
	// Elsewhere are those whose name a private skill in a category has, or one
	// that calls itself so, or something that Hermes is going to copy into the home. Twice are the same, but linked before.
	Elsewhere []string `json:"elsewhere"`
	Twice     []string `json:"twice"`
	// Missing are free and not linked, Dangling are links to skills that are
	// gone, Removed are those of them that were removed.
	Missing  []string `json:"missing"`
	Dangling []string `json:"dangling"`
	Removed  []string `json:"removed"`
	// Failed are links that could not be made or removed, Said is why.
	Failed []string `json:"failed"`
	Said   string   `json:"said"`
	// Unnamed tells that Hermes's settings do not name the public skills, so that
	// it warns of each and could write through a link.
	Unnamed bool `json:"unnamed"`
}

// Gone are links of public skills that are no more, whether removed or not.
func (o Overlaid) Gone() []string {
	return append(o.Removed[:len(o.Removed):len(o.Removed)], o.Dangling...)
}

// String says what was done, without what did not happen.
func (o Overlaid) String() string {
	text := fmt.Sprintf("%d linked, %d linked before, %d kept private", len(o.Linked), len(o.Kept), len(o.Private)+len(o.Elsewhere))
	for _, more := range []struct {
		names []string
		words string
	}{{o.Removed, "removed"}, {o.Missing, "missing"}, {o.Dangling, "dangling"}, {o.Twice, "there twice"}, {o.Failed, "failed"}} {
		if len(more.names) > 0 {
			text += fmt.Sprintf(", %d %s", len(more.names), more.words)
		}
	}
	return text
}

// Overlay links the public skills of a sandbox into its home, and removes links
// to those that are gone, in one command. Its errors are ErrNoMount, ErrHome and
// those of the command service; links that could not be made are no error but Failed.
func Overlay(ctx context.Context, service *envd.Client) (Overlaid, error) {
	o, err := overlay(ctx, service, "apply")
	if err != nil {
		return o, fmt.Errorf("linking skills: %w", err)
	}
	return o, nil
}

// Status tells how the overlay of a sandbox stands, and changes nothing.
func Status(ctx context.Context, service *envd.Client) (Overlaid, error) {
	o, err := overlay(ctx, service, "look")
	if err != nil {
		return o, fmt.Errorf("looking at the skills: %w", err)
	}
	return o, nil
}

// What a sandbox may tell, and how long it may take for that.
const (
	overlayLimit    = 8 << 20
	overlayPatience = 2 * time.Minute
)

func overlay(ctx context.Context, service *envd.Client, mode string) (Overlaid, error) {
	ctx, cancel := context.WithTimeout(ctx, overlayPatience)
	defer cancel()
	out, said := &answer.Buffer{Left: overlayLimit}, &answer.Buffer{Left: overlayLimit}
	exit, err := service.Run(ctx, envd.Command{
		Path: "/bin/sh", Args: []string{"-c", overlayScript, "hermesbox", mode, Private, Public, mounts, config, bundled},
		Dir: "/", Env: map[string]string{"LC_ALL": "C"}, KillOnCancel: true,
	}, nil, envd.Output{Stdout: out, Stderr: said})
	if err != nil {
		return Overlaid{}, err
	}
	if !exit.OK() {
		return Overlaid{}, fmt.Errorf("%s: %s", exit, lastLine(said.String()))
	}
	return ParseOverlaid(out.String())
}

// ParseOverlaid reads what overlay.sh prints. It comes out of a sandbox: names
// may be anything.
func ParseOverlaid(text string) (Overlaid, error) {
	o := Overlaid{}
	lists := map[string]*[]string{
		"linked": &o.Linked, "kept": &o.Kept, "private": &o.Private, "elsewhere": &o.Elsewhere, "twice": &o.Twice,
		"missing": &o.Missing, "dangling": &o.Dangling, "removed": &o.Removed, "failed": &o.Failed,
	}
	for _, list := range lists {
		*list = []string{}
	}
	all, err := answer.Parse([]byte(text))
	for _, a := range all {
		switch list := lists[a.Key]; {
		case list != nil:
			*list = append(*list, a.Value)
		case a.Key == "unnamed":
			o.Unnamed = true
		case a.Key == "said":
			o.Said = lastLine(a.Value)
		case a.Key == "problem":
			return o, insideProblem(a.Value)
		default:
			return o, a.Odd()
		}
	}
	return o, err
}

func insideProblem(what string) error {
	switch what {
	case "mount":
		return ErrNoMount
	case "link":
		return fmt.Errorf("%w: %s is a link, which is not followed", ErrHome, Private)
	case "file":
		return fmt.Errorf("%w: %s is no directory", ErrHome, Private)
	}
	return fmt.Errorf("%w: %s", ErrHome, lastLine(what))
}
