package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// largeBody is what one large answer has, in bytes.
const largeBody = 64 << 20

// streamPause is how long a stream is silent between its two parts.
const streamPause = 300 * time.Millisecond

// answers is the program in a sandbox that the proxy is measured with: /large is large, /stream comes in two parts, all
// else is small.
func answers() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // who hangs up needs no answer
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(largeBody))
		part := make([]byte, 256<<10)
		for range largeBody / len(part) {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		if err := http.NewResponseController(w).Flush(); err == nil {
			time.Sleep(streamPause)
			_, _ = io.WriteString(w, "last")
		}
	})
	return mux
}

// answer serves them on an address.
func answer(addr string) error {
	server := http.Server{Addr: addr, Handler: answers(), ReadHeaderTimeout: time.Minute}
	return fmt.Errorf("serving: %w", server.ListenAndServe())
}
