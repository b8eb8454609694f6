package web

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

var errEncoding = errors.New("no acceptable encoding found, supported: [gzip]")

// wantsGzip decides on the coding of an answer. Ranges and conditions are about the plain file, so
// with them it is never compressed.
func wantsGzip(h http.Header) (bool, error) {
	coding, err := acceptable(h.Get("Accept-Encoding"))
	if err != nil {
		return false, err
	}
	for _, name := range []string{"Range", "If-Modified-Since", "If-None-Match", "If-Range"} {
		if h.Get(name) != "" {
			return false, nil
		}
	}
	return coding == "gzip", nil
}

// acceptable picks gzip where it is wanted at least as much as the plain bytes; "" are the plain ones.
func acceptable(header string) (string, error) {
	weight := map[string]float64{}
	for item := range strings.SplitSeq(header, ",") {
		name, q := weighted(item)
		if name != "" {
			weight[name] = q
		}
	}
	identity, named := weight["identity"]
	refused := named && identity == 0
	switch star := weight["*"]; {
	case weight["gzip"] > 0 && weight["gzip"] >= identity && weight["gzip"] >= star:
		return "gzip", nil
	case !refused:
		return "", nil
	case star > 0 || weight["gzip"] > 0:
		return "gzip", nil
	}
	return "", errEncoding
}

func weighted(item string) (string, float64) {
	name, params, _ := strings.Cut(item, ";")
	q := 1.0
	for param := range strings.SplitSeq(params, ";") {
		if value, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(param)), "q="); ok {
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				q = n
			}
		}
	}
	return strings.ToLower(strings.TrimSpace(name)), q
}

// serveGzip has no length to announce; a file that cannot be read to its end leaves a gzip stream
// without one, which the client sees.
func serveGzip(w http.ResponseWriter, path string, file io.Reader) {
	contentType := mime.TypeByExtension(filepath.Ext(path))
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	if _, err := io.Copy(zip, file); err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = zip.Close() // fails only where the client is gone
}

// plainBody is the body of an upload, unpacked where it says that it is packed.
func plainBody(r *http.Request) (io.ReadCloser, error) {
	header := r.Header.Get("Content-Encoding")
	switch coding, _ := weighted(header); coding {
	case "", "identity":
		return r.Body, nil
	case "gzip":
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("failed to create gzip reader: %w", err)
		}
		return zip, nil
	}
	return nil, fmt.Errorf("unsupported Content-Encoding: %s, supported: [gzip]", header)
}
