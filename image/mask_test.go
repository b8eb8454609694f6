package image

import (
	"bytes"
	"strings"
	"testing"
	"time"

	bkclient "github.com/moby/buildkit/client"
	"github.com/opencontainers/go-digest"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// What an Engine reports of a push is masked, and its digest is not.
func TestMaskMessages(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t\"0123456789"
	in := strings.NewReader(`{"status":"The push refers to s3cr3t\"0123456789"}
{"status":"Pushing","progressDetail":{"current":1,"total":2},"id":"layer"}
{"status":"Pushed","id":"layer"}
{"aux":{"Tag":"1","Digest":"sha256:12","Size":3}}
{"errorDetail":{"message":"refused s3cr3t\"0123456789"},"error":"refused s3cr3t\"0123456789"}`)
	var out bytes.Buffer
	digest, err := readPush(maskMessages(in, redact.New(secret)), &out)
	if digest != "sha256:12" || err == nil || strings.Contains(out.String()+err.Error(), secret[:6]) {
		t.Errorf("got %q, %v\n%s", digest, err, out.String())
	}
	for _, words := range []string{"The push refers to ***", "layer: Pushed"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("%q not in %q", words, out.String())
		}
	}
	if !strings.Contains(err.Error(), "refused ***") {
		t.Errorf("the error is %v", err)
	}
}

// A secret that a step prints in pieces is masked in every form of progress.
func TestMaskerAcrossChunks(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-0123456789"
	vertex := digest.FromString("step")
	in, out := make(chan *bkclient.SolveStatus), make(chan *bkclient.SolveStatus)
	go newMasker(redact.New(secret)).follow(in, out)
	go func() {
		defer close(in)
		in <- &bkclient.SolveStatus{Vertexes: []*bkclient.Vertex{{Digest: vertex, Name: "RUN echo " + secret}}}
		for _, piece := range []string{"before " + secret[:5], secret[5:9], secret[9:] + " after\n", "tail " + secret[:3]} {
			in <- &bkclient.SolveStatus{Logs: []*bkclient.VertexLog{{Vertex: vertex, Stream: 1, Data: []byte(piece)}}}
		}
		done := time.Now()
		in <- &bkclient.SolveStatus{Vertexes: []*bkclient.Vertex{{Digest: vertex, Name: "RUN", Error: "failed: " + secret, Completed: &done}}}
	}()
	var shown bytes.Buffer
	for status := range out {
		for _, v := range status.Vertexes {
			shown.WriteString(v.Name + v.Error)
		}
		for _, log := range status.Logs {
			shown.Write(log.Data)
		}
	}
	text := shown.String()
	if strings.Contains(text, secret) || !strings.Contains(text, "before ") || !strings.Contains(text, " after\n") || !strings.HasSuffix(text, secret[:3]) {
		t.Errorf("shown: %q", text)
	}
}
