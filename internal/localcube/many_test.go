package localcube_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/dockertest"
	"github.com/hermesbox/hermesbox/internal/localcube"
)

func itoa(n int) string { return strconv.Itoa(n) }

// post sends JSON; it is for calls whose answer does not matter.
func post(url, body string) {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err == nil {
		_ = resp.Body.Close()
	}
}

// create makes a sandbox.
func create(t *testing.T, st localcube.Status, tpl string) string {
	t.Helper()
	id, err := tryCreate(st, tpl)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func tryCreate(st localcube.Status, tpl string) (string, error) {
	resp, err := http.Post(st.APIURL+"/sandboxes", "application/json", strings.NewReader(`{"templateID":"`+tpl+`"}`))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("creating a sandbox: %s: %s (%w)", resp.Status, text, err)
	}
	_, rest, _ := strings.Cut(string(text), `"sandboxID":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id, nil
}

func remove(t *testing.T, st localcube.Status, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, st.APIURL+"/sandboxes/"+id, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("deleting %s: %s, %v", id, resp.Status, err)
	}
}

// TestMany makes 20 sandboxes at once, then 50 one after the other, and looks for what they leave.
func TestMany(t *testing.T) { //nolint:paralleltest // counts the descriptors and goroutines of this process
	if testing.Short() {
		t.Skip("takes a minute")
	}
	engine := dockertest.Default(t)
	importApp(t, engine, "hermesbox-test/many:1", `ENTRYPOINT ["/entry.sh"]`)
	opts := localcube.Options{Docker: engine.Client, StateDir: tempDir(t)}
	st := serve(t, opts)
	instance := instanceOf(t, opts.StateDir)
	tpl := appTemplate(t, st, "hermesbox-test/many:1")

	ids := make([]string, 20)
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i], errs[i] = tryCreate(st, tpl) })
	}
	all.Wait()
	for i, id := range ids {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		remove(t, st, id)
	}
	http.DefaultClient.CloseIdleConnections()
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 50 {
		remove(t, st, create(t, st, tpl))
	}
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(time.Second) // connections end a little later
	if now := descriptors(t); now > files+5 {
		t.Errorf("%d descriptors, %d before", now, files)
	}
	if now := runtime.NumGoroutine(); now > goroutines+10 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	if left := containers(t, engine, instance); len(left) > 0 {
		t.Errorf("containers left: %v", left)
	}
	if st.EgressEnforced {
		if rules := rulesOf(t, engine, instance); len(rules) > 0 {
			t.Errorf("rules left: %q", rules)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

// appTemplate makes a template of testdata/app.
func appTemplate(t *testing.T, st localcube.Status, image string) string {
	t.Helper()
	return templateOf(t, st, `{"image":"`+image+`","exposedPorts":[9000,49983],"probePort":9000}`)
}
