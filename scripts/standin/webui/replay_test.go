package webui

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exchange is one line of testdata/webui.jsonl: what the real program answered.
type exchange struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    any               `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"` // 0: nothing answered
		Headers map[string]string `json:"headers"`
		Body    any               `json:"body"`
	} `json:"response"`
	Varies []string `json:"varies"`
}

func recorded(t *testing.T) map[string]exchange {
	t.Helper()
	file, err := os.Open("testdata/webui.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]exchange{}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return all
		}
		var one exchange
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		all[one.Name] = one
	}
}

// scenario is a state of the home and what was asked of the real program in it, in the recorded order.
type scenario struct {
	name  string
	setup func(*standin)
	asks  []string
	// early asks before the server listens; a start that never listens has no other.
	early bool
}

var scenarios = []scenario{
	{name: "no key", setup: func(s *standin) {
		s.configured()
		s.write(".hermes/.env", "")
	}, asks: []string{"health-gateway-down", "health-gateway-down-later"}},
	{name: "before it listens", early: true, setup: func(s *standin) {
		s.configured()
		s.env = append(s.env, "FAKE_HERMES_DELAY_MS=2000")
	}, asks: []string{"root-before-listen"}},
	{name: "configured", setup: func(s *standin) {
		s.configured()
		appleSkills(s)
		s.write(".hermes/SOUL.md", "(text of SOUL.md)")
		s.write(".hermes/logs/agent.log", "x")
		s.write(".hermes/audio_cache/x", "")
	}, asks: []string{
		"root", "root-head", "health-right-after-ready", "auth-status-fresh", "skills-no-auth", "skills-bearer",
		"skills-wrong-token", thirdFailure, "skills-locked", "login-while-locked", "locked-ips", "unlock-all",
		"login-no-password-set", "login-empty", "auth-setup", "auth-status-after-setup", "login-right", "login-wrong",
		"remove-password", "spa-route", "root-query-token", "api-unknown-no-auth", "api-unknown-auth", "profiles", "gateways",
		"config", "available-models", "sessions-empty", "memory", "files-list", "files-read-escape", "workspace-folders",
		"logs", "v1-models-proxy", "v1-models-no-auth", "v1-chat-proxy", "v1-chat-proxy-stream", "options-cors",
		"v1-chat-proxy-compact", "v1-chat-proxy-compact-stream",
	}},
	{name: "virtual machine", setup: func(s *standin) { s.configured() }, asks: []string{"vm-health"}},
	{name: "token of the environment", setup: func(s *standin) {
		s.configured()
		s.env = append(s.env, "AUTH_TOKEN=lan-secret-1")
	}, asks: []string{"auth-token-env-right", "auth-token-env-wrong"}},
	{name: "authentication off", setup: func(s *standin) {
		s.configured()
		s.env = append(s.env, "AUTH_DISABLED=1")
	}, asks: []string{"auth-disabled-api"}},
	{name: "empty home", setup: func(*standin) {}, asks: []string{"no-config-health"}},
	{name: "no hermes", early: true, setup: func(s *standin) {
		s.env = append(s.env, "HERMES_BIN=hermes-that-is-nowhere")
	}, asks: []string{"no-hermes-health"}},
	{name: "another HOME", setup: func(s *standin) {
		s.write("elsewhere/.env", "API_SERVER_KEY="+recordedKey+"\n")
		s.env = append(s.env, "HERMES_HOME="+filepath.Join(s.home, "elsewhere"))
	}, asks: []string{"home-differs-health"}},
	{name: "container, plain config", early: true, setup: func(s *standin) {
		s.write(".hermes/config.yaml", "model:\n  provider: custom\n")
		marker(s)
	}, asks: []string{"container-plain-config"}},
	{name: "container", setup: func(s *standin) {
		s.configured()
		marker(s)
		appleSkills(s)
		link(s, "lab-notes")
		s.write("workspace/.keep", "")
		s.env = append(s.env, "WORKSPACE_BASE="+filepath.Join(s.home, "workspace"))
	}, asks: []string{"workspace-base", "skills-with-link", "health-ready"}},
	{name: "links", setup: func(s *standin) {
		s.configured()
		linkedSkills(s)
	}, asks: []string{"skills-links"}},
	{name: "links and external skills", setup: func(s *standin) {
		s.configured()
		s.write(".hermes/config.yaml", s.read(".hermes/config.yaml")+"skills:\n  external_dirs: [/opt/hermes-common-skills]\n")
		linkedSkills(s)
	}, asks: []string{"skills-links-external"}},
}

// thirdFailure is one more refused request, which the recording's notes name but no line holds.
const thirdFailure = "(third failure)"

func marker(s *standin) {
	s.write("marker", "")
	s.env = append(s.env, "HERMES_WEB_UI_STANDIN_MARKER="+filepath.Join(s.home, "marker"))
}

func appleSkills(s *standin) {
	const dir = ".hermes/skills/apple/"
	bodies := map[string]string{
		"apple-notes":     "Use `memo` to manage Apple Notes directly from the terminal. Notes sync across all Apple devices via iCloud.",
		"apple-reminders": "Use `remindctl` to manage Apple Reminders directly from the terminal. Tasks sync across all Apple devices via iCloud.",
		"imessage":        "Send and receive messages.",
		"findmy":          "Track Apple devices and AirTags via the FindMy.app on macOS. Since Apple doesn't\nprovide a CLI for FindMy",
	}
	s.write(dir+"DESCRIPTION.md", "Apple / macOS skills — tools that interact with the Mac desktop (Finder,\nnative apps) or system features.\n")
	manifest := ""
	for name, body := range bodies {
		s.write(dir+name+"/SKILL.md", "---\nname: "+name+"\ndescription: \"other words\"\n---\n\n# Title\n\n"+body+"\n")
		manifest += name + ":0123\n"
	}
	s.write(".hermes/skills/.bundled_manifest", manifest)
}

func linkedSkills(s *standin) {
	link(s, "lab-notes")
	link(s, "data-export")
	s.write(".hermes/skills/own-flat/SKILL.md", "---\nname: own-flat\ndescription: y\n---\nx\n")
}

func link(s *standin, name string) {
	s.t.Helper()
	s.write("common/"+name+"/SKILL.md", "---\nname: "+name+"\n---\ntext\n")
	if err := os.MkdirAll(filepath.Join(s.home, ".hermes/skills"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.home, "common", name), filepath.Join(s.home, ".hermes/skills", name)); err != nil {
		s.t.Fatal(err)
	}
}

// TestReplay sends what was sent to the real program and compares the answers. Both an unlisted difference and a
// listed one that no longer is there fail.
func TestReplay(t *testing.T) {
	t.Parallel()
	all := recorded(t)
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := newStandin(t)
			sc.setup(s)
			s.start()
			if !sc.early {
				s.ready()
			}
			for _, name := range sc.asks {
				if name == thirdFailure {
					s.get("/api/hermes/skills", "")
					continue
				}
				one, ok := all[name]
				if !ok {
					t.Fatalf("no recorded exchange %s", name)
				}
				got := ask(t, s, one)
				if diff := cmp.Diff(differences[name].parts, differing(one, got)); diff != "" {
					t.Errorf("%s: parts that differ (-listed +seen):\n%s\nanswer: %+v", name, diff, got)
				}
			}
		})
	}
}

// TestEveryExchangeIsAccountedFor: each recorded line is replayed, or listed with a reason why not.
func TestEveryExchangeIsAccountedFor(t *testing.T) {
	t.Parallel()
	all := recorded(t)
	asked := map[string]bool{}
	for _, sc := range scenarios {
		for _, name := range sc.asks {
			asked[name] = name != thirdFailure
		}
	}
	for name, one := range all {
		_, left := notAsked[name]
		other := one.Version != "0.5.16"
		if n := count(asked[name], left, other); n != 1 {
			t.Errorf("%s is accounted for %d times; want once", name, n)
		}
	}
	for name, d := range differences {
		if !asked[name] || d.reason == "" {
			t.Errorf("difference %s is of no replayed exchange, or has no reason", name)
		}
	}
	for name, reason := range notAsked {
		if _, ok := all[name]; !ok || reason == "" {
			t.Errorf("%s is listed as not asked, but is no recorded exchange or has no reason", name)
		}
	}
}

func count(cases ...bool) int {
	n := 0
	for _, c := range cases {
		if c {
			n++
		}
	}
	return n
}

// nodeVersion is of the Node that runs the test, not of the program.
var nodeVersion = regexp.MustCompile(`"node_version":"[^"]*"`)

// localise turns what a run has of its own into what the recording had.
func localise(s *standin, body string) string {
	body = nodeVersion.ReplaceAllString(body, `"node_version":"24.22.3"`)
	return strings.NewReplacer(
		fmt.Sprint(s.gateway+1), "8643",
		filepath.Join(s.home, "workspace"), "/workspace",
	).Replace(body)
}
