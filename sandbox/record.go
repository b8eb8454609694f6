package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/hermesbox/hermesbox/internal/answer"
	"github.com/hermesbox/hermesbox/internal/config"
	"github.com/hermesbox/hermesbox/internal/node"
)

// Record is what create leaves on the node, since Cube can lose metadata and
// never tells mounts. It holds no secret, and is believed only for an id that
// Cube lists.
type Record struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Home       string  `json:"home"`
	Workspace  string  `json:"workspace"`
	Template   string  `json:"template"`
	Generation int64   `json:"generation"`
	Mounts     []Mount `json:"mounts"`
	Chosen     Chosen  `json:"chosen,omitzero"`
}

// recordLimit is the longest record that is read.
const recordLimit = 16 << 10

// ParseRecord reads the record called file, the sandbox's id and .json.
func ParseRecord(file string, text []byte) (Record, error) {
	var r Record
	if len(text) > recordLimit {
		return r, fmt.Errorf("reading record %q: longer than %d bytes", file, recordLimit)
	}
	// Fields that are not known are a later version's.
	if err := json.Unmarshal(text, &r); err != nil {
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
			all[i].Chosen = r.Chosen
		}
	}
}

// records reads those of all nodes at once. A node that does not answer costs a
// warning: what Cube says stands.
func (c *Client) records(ctx context.Context) map[string]Record {
	var mu sync.Mutex
	out := map[string]Record{}
	c.everywhere(func(n node.Node) {
		found, err := c.readRecords(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			c.warn("the records on node %s could not be read: %v", n.Name(), err)
		}
		maps.Copy(out, c.parseRecords(found))
	})
	return out
}

// readRecords reads the records of a node, as they are.
func (c *Client) readRecords(ctx context.Context, n node.Node) (map[string][]byte, error) {
	out := &answer.Buffer{Left: answerLimit}
	var said bytes.Buffer
	code, err := n.Run(ctx, node.Script{Text: readRecordsScript, Args: []string{c.Layout.Records()}, Stdout: out, Stderr: &said})
	if err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", code, firstLine(said.String()))
	}
	answers, err := answer.Parse(out.Bytes())
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, a := range answers {
		file, text, err := a.Split()
		if err != nil {
			return nil, err
		}
		texts[file] = []byte(text)
	}
	return texts, nil
}

// record is the third script of a create: it leaves the record on the node.
func (m *making) record(ctx context.Context) error {
	text, err := json.Marshal(Record{
		ID: m.made.ID, Name: m.made.Name, Home: m.made.Home, Workspace: m.made.Workspace,
		Template: m.made.Template, Generation: m.made.Generation, Mounts: m.made.Mounts, Chosen: m.spec.Chosen,
	})
	if err != nil {
		return fmt.Errorf("writing the record: %w", err)
	}
	var said bytes.Buffer
	code, err := m.node.Run(ctx, node.Script{
		Text: writeRecordScript, Args: []string{m.Layout.Records(), m.made.ID + ".json"},
		Stdin: bytes.NewReader(text), Stderr: &said,
	})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, firstLine(said.String()))
	}
	if err != nil {
		return fmt.Errorf("leaving the record on node %s: %w", m.node.Name(), err)
	}
	return nil
}

// recordTimeout is how long the record may take, also where the create is
// interrupted meanwhile.
const recordTimeout = 30 * time.Second

// startRecord leaves the record while the sandbox boots.
func (m *making) startRecord(ctx context.Context) {
	if m.node == nil {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	m.recording = make(chan error, 1)
	go func() {
		defer cancel()
		m.recording <- m.record(last)
	}()
}

// awaitRecord waits for it; a second time there is nothing to wait for.
func (m *making) awaitRecord() error {
	if m.recording == nil {
		return nil
	}
	err := <-m.recording
	m.recording = nil
	return err
}
