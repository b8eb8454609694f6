package sshdial

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

// marker is what a line of known_hosts says of its key.
type marker string

const (
	trustedKey  marker = ""
	authority   marker = "@cert-authority"
	revokedMark marker = "@revoked"
)

// knownKey is a line of known_hosts.
type knownKey struct {
	marker marker
	names  string // patterns, or one hashed name
	key    ssh.PublicKey
	file   string
	line   int
}

// readKnownHosts gives the keys that files hold for a name, in order. Files
// that are not there hold none.
func readKnownHosts(files []string, name string) ([]knownKey, error) {
	var found []knownKey
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &ConfigError{File: file, Reason: "host keys cannot be read: " + reasonOf(err)}
		}
		found = append(found, knownHosts(data, file, name)...)
	}
	return found, nil
}

// knownHosts gives the lines that are about a name. Lines that cannot be read
// are passed over, as OpenSSH does: what they might vouch for stays unknown.
func knownHosts(data []byte, file, name string) []knownKey {
	var found []knownKey
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for n := 1; lines.Scan(); n++ {
		k, err := parseKnownKey(lines.Text())
		if err != nil || k.key == nil || !k.matches(name) {
			continue
		}
		k.file, k.line = file, n
		found = append(found, k)
	}
	return found
}

// parseKnownKey reads "[marker] names type key [comment]". A comment or a blank
// line gives no key.
func parseKnownKey(line string) (knownKey, error) {
	line = strings.TrimLeft(strings.TrimRight(line, " \t\r\n"), " \t")
	if line == "" || line[0] == '#' {
		return knownKey{}, nil
	}
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	var k knownKey
	if fields[0][0] == '@' {
		k.marker = marker(fields[0])
		if k.marker != authority && k.marker != revokedMark {
			return k, fmt.Errorf("unknown marker %s", fields[0])
		}
		fields = fields[1:]
	}
	if len(fields) < 3 {
		return k, errors.New("names, type and key are wanted")
	}
	blob, err := base64.StdEncoding.DecodeString(fields[2])
	if err != nil {
		return k, fmt.Errorf("reading the key: %w", err)
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return k, fmt.Errorf("reading the key: %w", err)
	}
	if key.Type() != fields[1] {
		return k, fmt.Errorf("the key is %s, not %s", key.Type(), fields[1])
	}
	k.names, k.key = fields[0], key
	return k, nil
}

// matches tells whether the line is about a name; the name is in lower case.
func (k knownKey) matches(name string) bool {
	if hashed, ok := strings.CutPrefix(k.names, "|"); ok {
		return matchHashed(name, hashed)
	}
	return matchAny(name, strings.Split(strings.ToLower(k.names), ","))
}

// matchHashed reads 1|salt|hash, both base64.
func matchHashed(name, hashed string) bool {
	parts := strings.Split(hashed, "|")
	if len(parts) != 3 || parts[0] != "1" {
		return false
	}
	salt, errSalt := base64.StdEncoding.DecodeString(parts[1])
	want, errHash := base64.StdEncoding.DecodeString(parts[2])
	if errSalt != nil || errHash != nil {
		return false
	}
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return hmac.Equal(mac.Sum(nil), want)
}
