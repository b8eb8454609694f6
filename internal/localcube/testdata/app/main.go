// Command app stands in for the image of the recorded exchanges: it answers
// every request on ports 9000 and 49983.
package main

import (
	"log"
	"net/http"
)

func main() {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	go func() { log.Fatal(http.ListenAndServe(":49983", answer)) }()
	log.Fatal(http.ListenAndServe(":9000", answer))
}
