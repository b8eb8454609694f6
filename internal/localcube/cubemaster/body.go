package cubemaster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxBody bounds what is read of a request.
const maxBody = 16 << 20

// read decodes a body as CubeMaster does: nothing may follow the value.
func read(r *http.Request, into any) error {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && !bytes.HasPrefix(trimmed, []byte("null")) {
		return noObject(data, trimmed)
	}
	return json.Unmarshal(data, into)
}

// noObject words a body that is no object as CubeMaster's decoder does.
func noObject(data, trimmed []byte) error {
	found, at := byte(0), len(data)
	if len(trimmed) > 0 {
		found, at = trimmed[0], len(data)-len(trimmed)+1
	}
	near := data[max(0, at-10):min(len(data), at+10)]
	wide := data[max(0, at-50):min(len(data), at+50)]
	return errors.New("readObjectStart: expect { or n, but found " + string(rune(found)) +
		fmt.Sprintf(", error found in #%d byte of ...|%s|..., bigger context ...|%s|...", min(at, 10), near, wide))
}

// badBody refuses a body that cannot be read.
func badBody(err error) answer { return params("", err.Error()) }
