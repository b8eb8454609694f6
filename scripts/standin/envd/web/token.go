package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const tokenHeader = "X-Access-Token"

// The texts are the real service's answers.
var (
	errUnauthorized = errors.New("unauthorized access, please provide a valid access token or method signing if supported")
	errWrongToken   = errors.New("access token present in header but does not match")
	errNoSignature  = errors.New("missing signature query parameter")
	errSignature    = errors.New("invalid signature")
	errExpired      = errors.New("signature is already expired")
)

// open tells the requests that need no token in a header: they have none, or another proof.
func open(r *http.Request) bool {
	switch r.Method + " " + r.URL.Path {
	case "GET /health", "GET /files", "POST /files", "POST /init":
		return true
	}
	return false
}

// signed checks a request for /files: the token in its header, else a signature made with the token
// over path, operation and user, and the expiration where one is given.
func (s *Server) signed(r *http.Request, q url.Values, operation string) error {
	token := s.settings.Token()
	if token == "" {
		return nil
	}
	if given := r.Header.Get(tokenHeader); given != "" {
		if !s.settings.Grants(given) {
			return errWrongToken
		}
		return nil
	}
	if !q.Has("signature") {
		return errNoSignature
	}
	signedText := q.Get("path") + ":" + operation + ":" + q.Get("username") + ":" + token
	if q.Has(expiration) {
		signedText += ":" + q.Get(expiration)
	}
	sum := sha256.Sum256([]byte(signedText))
	want := "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
	if subtle.ConstantTimeCompare([]byte(want), []byte(q.Get("signature"))) != 1 {
		return errSignature
	}
	if until, err := strconv.ParseInt(q.Get(expiration), 10, 64); err == nil && until < time.Now().Unix() {
		return errExpired
	}
	return nil
}
