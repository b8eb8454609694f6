// Command app stands in for an image: on ports 9000 and 49983 it answers every
// request, with the Host it sees; /stream answers in two parts, /upgrade echoes.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
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
