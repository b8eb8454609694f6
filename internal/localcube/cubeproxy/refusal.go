package cubeproxy

import (
	"errors"
	"io"
	"net/http"

	"github.com/hermesbox/hermesbox/internal/localcube/cluster"
)

// visitFailed answers where a sandbox is not to be visited.
func visitFailed(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, cluster.ErrForbidden):
		refuse(w, http.StatusForbidden, "forbidden")
	case errors.Is(err, cluster.ErrGone):
		refuse(w, http.StatusGone, "gone")
	case errors.Is(err, cluster.ErrUnknown):
		refuse(w, http.StatusNotFound, "not found")
	case errors.Is(err, cluster.ErrPaused):
		w.Header().Set("Retry-After", "2")
		refuse(w, http.StatusServiceUnavailable, "service unavailable")
	default:
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "service unavailable")
	}
}

// refuse answers in the proxy's own shape.
func refuse(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":"`+word+`"}`) // a client that hung up is none of ours to tell
}

const badGateway = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>openresty</center>\r\n</body>\r\n</html>\r\n"

// upstreamFailed answers where the sandbox could not be reached, or hung up without an answer.
func upstreamFailed(w http.ResponseWriter, to target, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	case errors.Is(err, cluster.ErrGone), to.visit.Gone():
		refuse(w, http.StatusGone, "gone")
		return
	case errors.Is(err, cluster.ErrNoPort):
		refuse(w, http.StatusNotFound, "not found")
		return
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, badGateway) // a client that hung up is none of ours to tell
}
