package cubeproxy

import (
	"bytes"
	"strings"
)

// plainHead gives the length of the head that text begins with, if the request
// is nothing but this head, is clean, and leaves the connection open: GET or
// HEAD, HTTP/1.1, one Host, lines that end in CRLF, no body, no upgrade. Of all
// else, heads that have not come whole included, it gives 0: net/http is to
// judge those.
func plainHead(text []byte) int {
	end := bytes.Index(text, []byte("\r\n\r\n"))
	if end < 0 {
		return 0
	}
	first, rest, more := bytes.Cut(text[:end], []byte("\r\n"))
	if !more || !plainRequestLine(first) {
		return 0
	}
	hosts := 0
	for more {
		var line []byte
		line, rest, more = bytes.Cut(rest, []byte("\r\n"))
		host, ok := plainLine(line)
		if !ok {
			return 0
		}
		if host {
			hosts++
		}
	}
	if hosts != 1 {
		return 0
	}
	return end + len("\r\n\r\n")
}

func plainRequestLine(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("GET "))
	if !ok {
		rest, ok = bytes.CutPrefix(line, []byte("HEAD "))
	}
	path, tail := bytes.CutSuffix(rest, []byte(" HTTP/1.1"))
	return ok && tail && len(path) > 0 && path[0] == '/' && !bytes.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' || r == '#' })
}

// plainLine judges one line of the head, and tells whether it is the Host.
func plainLine(line []byte) (host, ok bool) {
	name, value, colon := bytes.Cut(line, []byte(":"))
	if !colon || len(name) == 0 || bytes.ContainsFunc(name, notToken) || bytes.ContainsFunc(value, notValue) {
		return false, false
	}
	switch strings.ToLower(string(name)) {
	case "host":
		return true, !bytes.ContainsFunc(bytes.TrimSpace(value), notHost)
	case "content-length", "transfer-encoding", "upgrade", "expect", "trailer", "http2-settings":
		return false, false
	case "connection":
		return false, strings.EqualFold(string(bytes.TrimSpace(value)), "keep-alive")
	}
	return false, true
}

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func notToken(r rune) bool { return !isLetter(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) }

func notHost(r rune) bool { return !isLetter(r) && !strings.ContainsRune("-._:[]", r) }

// notValue is strict: of what is not ASCII, net/http is to judge.
func notValue(r rune) bool { return r != '\t' && r < ' ' || r > '~' }
