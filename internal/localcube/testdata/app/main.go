// Command app stands in for an image: on ports 9000 and 49983 it answers every
// request, with the Host it sees; /stream answers in two parts, /upgrade echoes,
// /more says more than it is asked, /endless has a head without end, /two two heads,
// /none, /zero and /bare are as no net/http would answer, /slow takes its time, /hold and /silent never end, and /left counts who left them.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", r.Host, r.URL.RequestURI()) })
	http.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "one")
		if err := http.NewResponseController(w).Flush(); err != nil {
			log.Print(err)
		}
		time.Sleep(time.Second)
		fmt.Fprint(w, "two")
	})
	http.HandleFunc("/upgrade", echo)
	http.HandleFunc("/more", func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
	})
	http.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 200 OK\r\n", strings.Repeat("X-Long: "+strings.Repeat("x", 1000)+"\r\n", 5000))
	})
	http.HandleFunc("/two", func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 ", "OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
	})
	http.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok")
	})
	http.HandleFunc("/zero", func(w http.ResponseWriter, _ *http.Request) { raw(w, "HTTP/1.1 000 Nothing\r\n\r\n") })
	http.HandleFunc("/bare", func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\n<html>")
	})
	http.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(400 * time.Millisecond)
		fmt.Fprint(w, "at last")
	})
	var left atomic.Int32
	wait := func(r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // only then it is noticed that the client leaves
			log.Print(err)
		}
		<-r.Context().Done()
		left.Add(1)
	}
	http.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { wait(r) })
	http.HandleFunc("/hold", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "held")
		if err := http.NewResponseController(w).Flush(); err != nil {
			log.Print(err)
		}
		wait(r)
	})
	http.HandleFunc("/left", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, left.Load()) })
	http.HandleFunc("/trailer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Sum", "4")
	})
	http.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "ten bytes.")
		if err := http.NewResponseController(w).Flush(); err != nil {
			log.Print(err)
		}
		panic(http.ErrAbortHandler)
	})
	http.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10000000")
		for range 10 {
			if _, err := w.Write(make([]byte, 1_000_000)); err != nil {
				return
			}
		}
	})
	go func() { log.Fatal(http.ListenAndServe(":49983", nil)) }()
	log.Fatal(http.ListenAndServe(":9000", nil))
}

// raw answers with these texts as they are, and keeps the connection open.
func raw(w http.ResponseWriter, texts ...string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		log.Print(err)
		return
	}
	for _, text := range texts {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		log.Print(err)
	}
}

// echo switches protocols and sends back what comes.
func echo(w http.ResponseWriter, _ *http.Request) {
	conn, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	if _, err := io.Copy(conn, both); err != nil {
		log.Print(err)
	}
}
