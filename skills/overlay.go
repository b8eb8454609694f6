package skills

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/hermesbox/hermesbox/internal/envd"
)

// Where a sandbox has its skills.
const (
	Private = "/root/.hermes/skills"
	Public  = "/opt/hermes-common-skills"
)

//go:embed overlay.sh
var overlayScript string

// Overlaid is what an overlay did with the public skills, by name.
type Overlaid struct {
	// Linked are new links, Kept those of before.
	Linked []string `json:"linked"`
	Kept   []string `json:"kept"`
	// Private are those whose name something else in the home has.
	Private []string `json:"private"`
}

func (o Overlaid) String() string {
	return fmt.Sprintf("%d linked, %d linked before, %d kept private", len(o.Linked), len(o.Kept), len(o.Private))
}

// Overlay links the public skills of a sandbox into its home.
func Overlay(ctx context.Context, service *envd.Client) (Overlaid, error) {
	return overlay(ctx, service, Private, Public)
}

func overlay(ctx context.Context, service *envd.Client, private, public string) (Overlaid, error) {
	var out, said bytes.Buffer
	exit, err := service.Run(ctx, envd.Command{
		Path: "/bin/sh", Args: []string{"-c", overlayScript, "hermesbox", private, public}, Dir: "/",
	}, nil, envd.Output{Stdout: &out, Stderr: &said})
	if err != nil {
		return Overlaid{}, fmt.Errorf("linking skills: %w", err)
	}
	if !exit.OK() {
		return Overlaid{}, fmt.Errorf("linking skills: %s: %s", exit, strings.TrimSpace(said.String()))
	}
	return ParseOverlaid(out.String())
}

// ParseOverlaid reads what overlay.sh prints.
func ParseOverlaid(text string) (Overlaid, error) {
	o := Overlaid{Linked: []string{}, Kept: []string{}, Private: []string{}}
	for line := range strings.Lines(text) {
		what, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch what {
		case "linked":
			o.Linked = append(o.Linked, name)
		case "kept":
			o.Kept = append(o.Kept, name)
		case "private":
			o.Private = append(o.Private, name)
		default:
			return o, fmt.Errorf("linking skills: the answer %.40q cannot be read", line)
		}
	}
	return o, nil
}
