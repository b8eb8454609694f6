package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hermesbox/hermesbox/internal/cube"
)

func TestHops(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(answers())
	t.Cleanup(server.Close)
	addr := strings.TrimPrefix(server.URL, "http://")
	for name, hop := range map[string]func(context.Context, io.Writer, string) error{"relay": relay, "reverse": reverse} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			in, out := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- hop(ctx, out, addr) }()
			at, err := bufio.NewReader(in).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			ways := []*way{newWay(name, strings.TrimSpace(at), "")}
			for _, path := range []string{"/", "/large"} {
				got, err := race(t.Context(), ways, path, 2, 4, 1)
				if err != nil || len(got[0].each) != 4 || got[0].p50() <= 0 || got[0].rate() <= 0 {
					t.Errorf("%s: %+v, %v", path, got, err)
				}
			}
			if took, err := ways[0].firstOf(t.Context(), "/stream"); err != nil || took >= streamPause {
				t.Errorf("the first byte of a stream comes after %s, %v", took, err)
			}
			closeAll(ways)
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(answers())
	t.Cleanup(server.Close)
	body, err := newWay("direct", strings.TrimPrefix(server.URL, "http://"), "").get(t.Context(), "/large")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n != largeBody || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestDriveFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	addr := strings.TrimPrefix(server.URL, "http://")
	if _, err := newWay("ours", addr, "").drive(t.Context(), "/", 2, 2); err == nil || !strings.Contains(err.Error(), "ours answers 404") {
		t.Errorf("got %v", err)
	}
	server.Close()
	if _, err := newWay("ours", addr, "").firstOf(t.Context(), "/"); err == nil {
		t.Error("nothing answers")
	}
}

func TestPrintRatios(t *testing.T) {
	t.Parallel()
	ways := []*way{{name: "proxy"}, {name: "published"}}
	for _, tt := range []struct {
		name        string
		all         []float64
		least, most float64
		met         bool
		text        string
	}{
		{"fast enough", []float64{120, 100}, 0, 1.3, true, "1.20  <= 1.30   ok"},
		{"too slow", []float64{140, 100}, 0, 1.3, false, "1.40  <= 1.30   MISSED"},
		{"enough", []float64{90, 100}, 0.8, 0, true, "0.90  >= 0.80   ok"},
		{"too little", []float64{70, 100}, 0.8, 0, false, "0.70  >= 0.80   MISSED"},
		{"no bound", []float64{700, 100}, 0, 0, true, "7.00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if met := printRatios(&out, "x", ways, tt.all, tt.least, tt.most, "us"); met != tt.met || !strings.Contains(out.String(), tt.text) || !strings.Contains(out.String(), "published 100 us") {
				t.Errorf("%v: %q lacks %q", met, out.String(), tt.text)
			}
		})
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(manySandboxes())
	t.Cleanup(api.Close)
	if err := fetchList(t.Context(), api.URL); err != nil {
		t.Error(err)
	}
	client, err := cube.New(cube.Options{APIURL: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	all, err := client.ListSandboxes(t.Context(), nil)
	if err != nil || len(all) != listed || all[3].Metadata["hermesbox.name"] != "box-3" || all[3].State != cube.Running {
		t.Errorf("%d sandboxes, %v: %+v", len(all), err, all[3])
	}
	none := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(none.Close)
	if err := fetchList(t.Context(), none.URL); err == nil {
		t.Error("there is no list")
	}
}

func TestPrintLists(t *testing.T) {
	t.Parallel()
	for took, met := range map[time.Duration]bool{99 * time.Millisecond: true, 101 * time.Millisecond: false} {
		var out bytes.Buffer
		if got := printLists(&out, "x", sample{wall: took, cpu: took}, sample{wall: 50 * time.Millisecond}); got != met || !strings.Contains(out.String(), "rival 50.00 ms") || !strings.Contains(out.String(), "and 0 ms") {
			t.Errorf("%s: %v, %q", took, got, out.String())
		}
	}
}
