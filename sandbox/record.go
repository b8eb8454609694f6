package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/cube"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Record is what create leaves on the node, since Cube can lose metadata and
// never tells mounts. It holds no secret, and is believed only for an id that
// Cube lists.
type Record struct {
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	Home       string           `json:"home"`
	Workspace  string           `json:"workspace"`
	Template   string           `json:"template"`
	Generation int64            `json:"generation"`
	Mounts     []cube.HostMount `json:"mounts"`
}

// recordLimit is the longest record that is read.
const recordLimit = 16 << 10

// ParseRecord reads the record called file, the sandbox's id and .json.
func ParseRecord(file string, text []byte) (Record, error) {
	var r Record
	if len(text) > recordLimit {
		return r, fmt.Errorf("reading record %q: longer than %d bytes", file, recordLimit)
	}
	decode := json.NewDecoder(bytes.NewReader(text))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("reading record %q: %w", file, err)
	}
	if problem := r.check(file); problem != "" {
		return Record{}, fmt.Errorf("reading record %q: %s", file, problem)
	}
	return r, nil
}

// check says what is wrong with a record, "" for nothing.
func (r Record) check(file string) string {
	switch {
	case r.ID == "" || file != r.ID+".json":
		return "it is not about the sandbox that it is called for"
	case CheckName(r.Name) != "", config.CheckID(r.Home) != "", config.CheckID(r.Workspace) != "":
		return "its ids cannot be"
	case r.Generation <= 0:
		return "it has no generation"
	}
	return ""
}

// fill adds what Cube does not know.
func (c *Client) fill(all []Sandbox, records map[string]Record) {
	for i, s := range all {
		r, ok := records[s.ID]
		if !ok {
			continue
		}
		all[i].Mounts = r.Mounts
		if s.lost() {
			all[i].Name, all[i].Home, all[i].Workspace, all[i].Generation = r.Name, r.Home, r.Workspace, r.Generation
		}
	}
}

// records reads those of all nodes at once. A node that does not answer costs a
// warning: what Cube says stands.
func (c *Client) records(ctx context.Context) map[string]Record {
	var mu sync.Mutex
	var wait sync.WaitGroup
	out := map[string]Record{}
	for _, n := range c.Nodes {
		wait.Go(func() {
			found, err := c.readRecords(ctx, n)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.warn("the records on node %s could not be read: %v", n.Name(), err)
			}
			for _, r := range found {
				out[r.ID] = r
			}
		})
	}
	wait.Wait()
	return out
}

// readRecords reads the records of a node.
func (c *Client) readRecords(ctx context.Context, n node.Node) ([]Record, error) {
	var out, said bytes.Buffer
	code, err := n.Run(ctx, node.Script{Text: readRecordsScript, Args: []string{c.Layout.Records()}, Stdout: &out, Stderr: &said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", code, firstLine(said.String()))
	}
	return c.parseRecords(out.Bytes()), nil
}
