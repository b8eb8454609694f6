package envd

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// frameLimit is the longest frame, as the SDKs have it.
const frameLimit = 64 << 20

// endStream is set in the first byte of the last frame. The other bit that
// there is means compression, which this client does not ask for.
const endStream = 0x02

// envelope is a message as streams carry it: flags, big-endian length, JSON.
func envelope(message any) ([]byte, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("writing a message to the command service: %w", err)
	}
	head := make([]byte, 5, 5+len(text))
	binary.BigEndian.PutUint32(head[1:], uint32(len(text))) //nolint:gosec // far below
	return append(head, text...), nil
}

// frame is one message of a stream.
type frame struct {
	end     bool
	payload []byte
}

// readFrame reads the next frame. io.EOF is the end of the stream, which no
// proper stream reaches before its end frame.
func readFrame(r io.Reader) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	if head[0] == '{' { // an error that was not put into a frame
		return unframed(io.MultiReader(bytes.NewReader(head[:]), r))
	}
	if head[0]&^endStream != 0 {
		return frame{}, fmt.Errorf("a frame has the flags %#02x, which were not asked for", head[0])
	}
	length := int64(binary.BigEndian.Uint32(head[1:]))
	if length > frameLimit {
		return frame{}, fmt.Errorf("a frame claims %d bytes; %d is the most", length, frameLimit)
	}
	// Growing with what comes, so that a lie about the length costs nothing.
	var payload bytes.Buffer
	if _, err := io.CopyN(&payload, r, length); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return frame{end: head[0]&endStream != 0, payload: payload.Bytes()}, nil
}

// unframed makes an end frame of a bare JSON error.
func unframed(r io.Reader) (frame, error) {
	text, err := io.ReadAll(io.LimitReader(r, 1<<16))
	if err != nil {
		return frame{}, err
	}
	if !json.Valid(text) {
		return frame{}, errors.New("the stream is not framed")
	}
	return frame{end: true, payload: fmt.Appendf(nil, `{"error":%s}`, text)}, nil
}

// trailer is the payload of an end frame.
type trailer struct {
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}
