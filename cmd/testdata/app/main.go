// Command app is the program of an image that tests register as a template:
// it answers every request with 204 on the ports of a Hermes Studio image.
package main

import (
	"log"
	"net/http"
)

func main() {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	go func() { log.Fatal(http.ListenAndServe(":9000", ok)) }()
	log.Fatal(http.ListenAndServe(":49983", ok))
}
