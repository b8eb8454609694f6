package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// mostList is how long a list of 500 sandboxes may take, in ms.
const (
	listed   = 500
	mostList = 100
)

// listsBench lists the sandboxes of a CubeAPI that has 500, with our client and with the command, and against what
// fetches and decodes the same with the standard library alone.
func listsBench(ctx context.Context, out io.Writer, o options) (met bool, err error) {
	api := httptest.NewServer(manySandboxes())
	defer api.Close()
	dir, err := os.MkdirTemp("", "hermesbox-bench-lists-")
	if err != nil {
		return false, fmt.Errorf("making a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	client, err := cube.New(cube.Options{APIURL: api.URL})
	if err != nil {
		return false, err
	}
	defer client.Close()
	call := func() error {
		all, err := client.ListSandboxes(ctx, nil)
		if err == nil && len(all) != listed {
			err = fmt.Errorf("the client lists %d sandboxes of %d", len(all), listed)
		}
		return err
	}
	inside, err := playCalls(call, func() error { return fetchList(ctx, api.URL) }, 4*o.runs)
	if err != nil {
		return false, err
	}
	met = printLists(out, "cube.Client, against net/http and JSON", inside[0], inside[1])
	command := contest{
		ours:  "env -u CUBE_MASTER_ADDR -u SSL_CERT_FILE CUBE_API_URL=" + api.URL + " " + o.hermesbox + " sandbox ls --output json >/dev/null",
		rival: o.self + " -list " + api.URL + " >/dev/null",
	}
	ours, rival, err := play(ctx, dir, command, 2*o.runs)
	if err != nil {
		return false, err
	}
	return printLists(out, "sandbox ls, against the same as a program", ours, rival) && met, nil
}

// playCalls takes turns, and gives the median of each.
func playCalls(ours, rival func() error, runs int) ([2]sample, error) {
	var all [2][]sample
	for i := range runs + 1 {
		for j, call := range []func() error{ours, rival} {
			begin := time.Now()
			if err := call(); err != nil {
				return [2]sample{}, err
			}
			if i > 0 {
				all[j] = append(all[j], sample{wall: time.Since(begin)})
			}
		}
	}
	return [2]sample{medians(all[0]), medians(all[1])}, nil
}

// printLists says how long the list took. Where there are processes, it says what they worked as well: on a busy machine
// that is the better measure.
func printLists(out io.Writer, name string, ours, rival sample) bool {
	verdict := "ok"
	if ms(ours.wall) > mostList {
		verdict = "MISSED"
	}
	fmt.Fprintf(out, "lists %-42s ms    %8.2f  <= %-6d %-7s rival %.2f ms, ratio %.2f", name, ms(ours.wall), mostList, verdict, ms(rival.wall), wall(ours, rival))
	if ours.cpu > 0 {
		fmt.Fprintf(out, ", cpu %.0f and %.0f ms", ms(ours.cpu), ms(rival.cpu))
	}
	fmt.Fprintln(out)
	return verdict == "ok"
}

// manySandboxes answers as a CubeAPI that has 500 sandboxes and no template.
func manySandboxes() http.Handler {
	all := make([]cube.Sandbox, listed)
	start := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	for i := range all {
		n := strconv.Itoa(i)
		all[i] = cube.Sandbox{
			ID: fmt.Sprintf("%032x", i), TemplateID: fmt.Sprintf("tpl-%024x", i%7), ClientID: "node-1", EnvdVersion: "0.6.13", State: cube.Running,
			StartedAt: cube.Time{Time: start.Add(time.Duration(i) * time.Minute)}, EndAt: cube.Time{Time: start.AddDate(1, 0, 0)}, CPUCount: 2, CPUMilli: 2000, MemoryMB: 4096,
			Metadata: map[string]string{
				"hermesbox.name": "box-" + n, "hermesbox.home": "home-" + n, "hermesbox.workspace": "work-" + n, "hermesbox.template": fmt.Sprintf("tpl-%024x", i%7),
				"hermesbox.generation": strconv.FormatInt(start.UnixNano()+int64(i), 10), "cube.master.instance.type": "cubebox", "X-Caller": "X-Caller",
			},
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/sandboxes", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, all) })
	mux.HandleFunc("GET /templates", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, []string{}) })
	return mux
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who hangs up needs no answer
}

// fetchList gets and decodes the list with the standard library alone.
func fetchList(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v2/sandboxes?limit=10000", http.NoBody)
	if err != nil {
		return fmt.Errorf("asking for the list: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking for the list: %w", err)
	}
	var all []map[string]any
	err = errors.Join(json.NewDecoder(resp.Body).Decode(&all), resp.Body.Close())
	if err != nil || len(all) != listed {
		return fmt.Errorf("reading the list: %d sandboxes: %w", len(all), err)
	}
	return nil
}
