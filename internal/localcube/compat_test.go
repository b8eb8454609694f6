package localcube_test

import (
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
}
