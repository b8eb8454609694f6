package verify

import (
	"encoding/json"
	"testing"
)

// TestNoncesLeft: a node is asked to remove what the sandbox did not.
func TestNoncesLeft(t *testing.T) {
	t.Parallel()
	p := planted{nodes: []plantedNode{{file: "f", nonce: "one"}, {file: "g", nonce: "two"}}}
	for name, c := range map[string]struct {
		said string
		want int
	}{
		"removed on one":     {`{"seen":{"/root/.hermes/f":"one","/workspace/f":"one"},"removed":["/root/.hermes/f","/workspace/f"]}`, 1},
		"one of two removed": {`{"seen":{"/root/.hermes/f":"one","/workspace/f":"one"},"removed":["/workspace/f"]}`, 2},
		"of two nodes":       {`{"seen":{"/root/.hermes/f":"one","/workspace/g":"two"},"removed":["/root/.hermes/f","/workspace/g"]}`, 2},
		"another's":          {`{"seen":{"/root/.hermes/f":"two","/workspace/f":"two"},"removed":["/root/.hermes/f","/workspace/f"]}`, 2},
		"one file system":    {`{"seen":{"/root/.hermes/f":"one","/workspace/f":"one","/root/.hermes/g":"two","/workspace/g":"two"},"removed":["/root/.hermes/f","/workspace/f","/root/.hermes/g","/workspace/g"]}`, 0},
		"nothing seen":       {`{"seen":{"/root/.hermes/f":"","/workspace/f":""},"removed":[]}`, 2},
		"no answer":          {`"text"`, 2},
	} {
		if got := p.left(facts{"nonces": {Data: json.RawMessage(c.said)}}); len(got.nodes) != c.want || len(p.nodes) != 2 {
			t.Errorf("%s: %d left, want %d", name, len(got.nodes), c.want)
		}
	}
	if got := p.left(nil); len(got.nodes) != 2 {
		t.Error("without facts something counts as removed")
	}
}
