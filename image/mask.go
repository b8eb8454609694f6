package image

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/docker/docker/pkg/jsonmessage"
	bkclient "github.com/moby/buildkit/client"
	"github.com/opencontainers/go-digest"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// masker takes secrets out of what a builder reports, before any display makes
// a form of its own of it. Output comes in chunks, and a secret may lie across two.
type masker struct {
	secrets *redact.Redactor
	streams map[stream]*maskedStream
}

// stream is one output of one step.
type stream struct {
	vertex digest.Digest
	number int
}

// maskedStream is the masked output of a stream that was not handed on yet.
type maskedStream struct {
	ready  bytes.Buffer
	writer io.WriteCloser
}

func newMasker(secrets *redact.Redactor) *masker {
	if secrets == nil {
		secrets = redact.New()
	}
	return &masker{secrets: secrets, streams: map[stream]*maskedStream{}}
}

// follow hands statuses on, masked, until in is closed; then it closes out.
func (m *masker) follow(in <-chan *bkclient.SolveStatus, out chan<- *bkclient.SolveStatus) {
	defer close(out)
	for status := range in {
		m.mask(status)
		out <- status
	}
}

func (m *masker) mask(status *bkclient.SolveStatus) {
	for _, vertex := range status.Vertexes {
		vertex.Name, vertex.Error = m.secrets.String(vertex.Name), m.secrets.String(vertex.Error)
	}
	for _, log := range status.Logs {
		log.Data = m.masked(stream{log.Vertex, log.Stream}, log.Data)
	}
	for _, vertex := range status.Vertexes {
		if vertex.Completed != nil {
			m.flush(vertex.Digest, status)
		}
	}
}

// masked is what of a stream can be shown so far.
func (m *masker) masked(key stream, data []byte) []byte {
	s := m.streams[key]
	if s == nil {
		s = &maskedStream{}
		s.writer = m.secrets.Writer(&s.ready)
		m.streams[key] = s
	}
	_, _ = s.writer.Write(data) // a buffer takes everything
	return s.take()
}

func (s *maskedStream) take() []byte {
	out := bytes.Clone(s.ready.Bytes())
	s.ready.Reset()
	return out
}

// flush hands on what a step's streams held back.
func (m *masker) flush(vertex digest.Digest, status *bkclient.SolveStatus) {
	for key, s := range m.streams {
		if key.vertex != vertex {
			continue
		}
		delete(m.streams, key)
		_ = s.writer.Close() // a buffer takes everything
		if rest := s.take(); len(rest) > 0 {
			status.Logs = append(status.Logs, &bkclient.VertexLog{Vertex: vertex, Stream: key.number, Data: rest})
		}
	}
}

// maskMessages takes secrets out of an Engine's messages, before a display
// redraws them.
func maskMessages(in io.Reader, secrets *redact.Redactor) io.Reader {
	if secrets == nil {
		return in
	}
	return &maskedMessages{decode: json.NewDecoder(in), secrets: secrets}
}

// maskedMessages hands messages on, one after the other.
type maskedMessages struct {
	decode  *json.Decoder
	secrets *redact.Redactor
	rest    bytes.Buffer
}

// Read reads no more than the message that it is in.
func (m *maskedMessages) Read(p []byte) (int, error) {
	if m.rest.Len() == 0 {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	return m.rest.Read(p)
}

func (m *maskedMessages) next() error {
	var message jsonmessage.JSONMessage
	if err := m.decode.Decode(&message); err != nil {
		return err // the display wraps it
	}
	for _, text := range []*string{&message.ID, &message.Status, &message.Stream, &message.From} {
		*text = m.secrets.String(*text)
	}
	if message.Error != nil {
		message.Error.Message = m.secrets.String(message.Error.Message)
	}
	return json.NewEncoder(&m.rest).Encode(message)
}
