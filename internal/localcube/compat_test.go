package localcube_test

import (
	"net/http"
	"testing"

	client "github.com/hermesbox/hermesbox/internal/cube"
)

// TestSpeaksAs: who knows only the address of CubeAPI takes it for version 0.7.0.
func TestSpeaksAs(t *testing.T) {
	t.Parallel()
	c := newCube(t)
	link, err := client.New(client.Options{APIURL: c.st.APIURL})
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if since, err := link.Since(t.Context()); err != nil || since != "0.7.0" {
		t.Errorf("%q, %v", since, err)
	}
	got := c.api(http.MethodGet, "/templates/compat", "")
	want := `{"summary":{"staleTemplates":0,"staleReplicas":0,"affectedNodes":0,"missingReplicas":0,"unknownReplicas":0},"templates":[{"templateID":"` + c.tpl +
		`","instanceType":"cubebox","overall":"OK","nodes":[{"nodeID":"local","nodeIP":"127.0.0.1","compatStatus":"OK"}]}]}`
	if got.status != http.StatusOK || got.body != want {
		t.Errorf("compat: %d %s, want %s", got.status, got.body, want)
	}
}
