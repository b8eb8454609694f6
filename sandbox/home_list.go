package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Homes lists what is in the directory of homes, the default home too. A name
// that is no home-id is there as an unusable home. Nothing is changed.
func Homes(ctx context.Context, n node.Node, l Layout) ([]Home, error) {
	all := []Home{}
	take := func(a answer.Pair) error {
		if a.Key == "id" {
			all = append(all, Home{ID: a.Value})
			return nil
		}
		if len(all) == 0 {
			return a.Odd()
		}
		return takeHome(a, map[string]*Home{"home": &all[len(all)-1]})
	}
	if err := ask(ctx, n, nodeScript{name: "homes.sh", args: []string{l.Root}, place: Place{Layout: l}}, take); err != nil {
		return nil, fmt.Errorf("listing the homes of node %s: %w", n.Name(), err)
	}
	for i, h := range all {
		if h.ID != DefaultHome && config.CheckID(h.ID) != "" {
			all[i] = Home{ID: h.ID, State: Unusable, Problem: "its name is no home-id", Modified: h.Modified}
		}
	}
	return all, nil
}

// HomeDetail is a home and what is to be known of it.
type HomeDetail struct {
	Home
	// Size in bytes; -1 where nothing is there to measure.
	Size int64 `json:"size"`
	// Config says what is wrong with config.yaml, "" for nothing.
	Config string `json:"config_problem"`
}

// ShowHome tells of one home; DefaultHome is allowed.
func ShowHome(ctx context.Context, n node.Node, l Layout, id string) (HomeDetail, error) {
	if problem := config.CheckID(id); problem != "" && id != DefaultHome {
		return HomeDetail{}, fmt.Errorf("%w: home: %s", ErrSpec, problem)
	}
	d := HomeDetail{Size: -1}
	take := func(a answer.Pair) (err error) {
		switch a.Key {
		case "id":
			d.ID = a.Value
		case "size":
			err = a.Number(&d.Size, 1024)
		case "config":
			d.Config, err = judgeConfig(a)
		default:
			err = takeHome(a, map[string]*Home{"home": &d.Home})
		}
		return err
	}
	if err := ask(ctx, n, nodeScript{name: "homes.sh", args: []string{l.Root, id}, place: Place{Layout: l, Home: id}}, take); err != nil {
		return HomeDetail{}, fmt.Errorf("looking at home %s on node %s: %w", id, n.Name(), err)
	}
	return d, nil
}

// judgeConfig says what is wrong with the config.yaml in a tar in hexadecimal.
func judgeConfig(a answer.Pair) (problem string, err error) {
	packed, err := hex.DecodeString(strings.Join(strings.Fields(a.Value), ""))
	if err != nil {
		return "", a.Odd()
	}
	if len(packed) == 0 {
		return "it is longer than 1 MiB", nil
	}
	r := tar.NewReader(bytes.NewReader(packed))
	header, err := r.Next()
	if errors.Is(err, io.EOF) || err == nil && header.Typeflag != tar.TypeReg {
		return "it is no file any more", nil
	}
	if err != nil {
		return "", a.Odd()
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return "", a.Odd()
	}
	return configProblem(text), nil
}

func configProblem(text []byte) string {
	_, err := parseConfig(text)
	if err == nil {
		return ""
	}
	said := err.Error() // which can quote what a sandbox wrote
	return strings.ToValidUTF8(said[:min(len(said), 200)], "")
}
