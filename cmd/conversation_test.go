package cmd_test

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// countingModel is a model endpoint that answers with the number of questions
// that it was shown.
//
//go:embed testdata/counting_model.py
var countingModel string

// TestConversation talks to Hermes through the port of the Web UI, rebuilds the
// sandbox, and goes on: the conversation is still known.
func TestConversation(t *testing.T) {
	t.Parallel()
	b := newSkillBox(t, "hermesbox-test/conversation:latest")
	b.run(0, "sandbox", "create", "--home", "alice", "--workspace", "alice", "--no-web-ui")
	b.stdin = countingModel
	b.in("cat >/workspace/model.py")
	b.stdin = `model: {provider: custom, base_url: "http://127.0.0.1:18000/v1", api_key: none, default: counting}` + "\n"
	b.in("cat >>/root/.hermes/config.yaml")
	b.stdin = ""

	b.run(0, "sandbox", "rebuild", "alice", "--no-web-ui=false")
	first := b.say("remember the word quokka", "")
	if first.text() != "1 questions" {
		t.Fatalf("the first answer is %+v", first)
	}
	b.run(0, "sandbox", "rebuild", "alice")
	if second := b.say("which word was it?", first.ID); second.text() != "2 questions" {
		t.Errorf("the second answer is %+v", second)
	}
	if list := b.in("COLUMNS=200 hermes sessions list"); !strings.Contains(list, "remember the word quokka") {
		t.Errorf("the conversations of Hermes:\n%s", list)
	}
}

// said is an answer of the gateway's API.
type said struct {
	ID     string
	Error  any
	Output []struct{ Content []struct{ Text string } }
}

func (s said) text() string {
	if len(s.Output) != 1 || len(s.Output[0].Content) != 1 {
		return ""
	}
	return s.Output[0].Content[0].Text
}

// say begins a conversation, or goes on after an earlier answer, as soon as the
// gateway behind the Web UI is there.
func (b *skillBox) say(text, after string) said {
	b.Helper()
	b.in("setsid python3 /workspace/model.py </dev/null >/dev/null 2>&1 &")
	question := map[string]any{"model": "hermes-agent", "input": text, "store": true}
	if after != "" {
		question["previous_response_id"] = after
	}
	body, err := json.Marshal(question)
	if err != nil {
		b.Fatal(err)
	}
	address, token, _ := strings.Cut(b.ask("sandbox", "url", "alice", "--with-token"), "#/?token=")
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		var answer said
		status := b.post(address+"v1/responses", token, string(body), &answer)
		if status == http.StatusOK {
			return answer
		}
		if time.Now().After(end) {
			b.Fatalf("HTTP %d: %+v", status, answer)
		}
	}
}

// post asks a port of a sandbox: its name need not be resolved.
func (b *skillBox) post(address, token, body string, out any) int {
	b.Helper()
	to, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	named := to.Host
	to.Host = "127.0.0.1:" + to.Port()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, to.String(), strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Host = named
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal(text, out); err != nil {
		b.Logf("HTTP %d: %s", res.StatusCode, text)
	}
	return res.StatusCode
}
