package cube

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// cliFlags are the flags of cubemastercli's template commands.
type cliFlags struct {
	*flag.FlagSet
	image, size, id, job, user, password, instance, network, path string
	probe, cpu, memory                                            int
	internet, json, failed, request                               bool
	ports, nodes, allow, deny, cmd, arg, env, dns                 list
}

func parseCLI(t *testing.T, args []string) *cliFlags {
	t.Helper()
	f := &cliFlags{FlagSet: flag.NewFlagSet("tpl", flag.ContinueOnError)}
	f.SetOutput(io.Discard)
	for name, p := range map[string]*string{
		"image": &f.image, "writable-layer-size": &f.size, "template-id": &f.id, "job-id": &f.job, "registry-username": &f.user,
		"registry-password": &f.password, "instance-type": &f.instance, "network-type": &f.network, "interval": new(string), "build-id": new(string), "o": new(string),
	} {
		f.StringVar(p, name, "", "")
	}
	f.StringVar(&f.path, "probe-path", "/health", "")
	f.IntVar(&f.probe, "probe", 0, "")
	f.IntVar(&f.cpu, "cpu", 2000, "")
	f.IntVar(&f.memory, "memory", 2000, "")
	f.BoolVar(&f.internet, "allow-internet-access", false, "")
	f.BoolVar(&f.json, "json", false, "")
	f.BoolVar(&f.failed, "failed-only", false, "")
	f.BoolVar(&f.request, "include-request", false, "")
	for name, p := range map[string]*list{
		"expose-port": &f.ports, "node": &f.nodes, "allow-out-cidr": &f.allow, "deny-out-cidr": &f.deny,
		"cmd": &f.cmd, "arg": &f.arg, "env": &f.env, "dns": &f.dns,
	} {
		f.Var(p, name, "")
	}
	// The real one takes a bool in two words.
	joined := strings.ReplaceAll(strings.Join(args, "\x00"), "--allow-internet-access\x00false", "--allow-internet-access=false")
	if err := f.Parse(strings.Split(joined, "\x00")); err != nil {
		t.Fatal(err)
	}
	return f
}

// given tells whether a flag is on the command line.
func (f *cliFlags) given(name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}

func (f *cliFlags) templateRequest(t *testing.T) TemplateRequest {
	t.Helper()
	r := TemplateRequest{
		ID: f.id, Image: f.image, WritableLayerSize: f.size, RegistryUsername: f.user, RegistryPassword: Secret(f.password),
		InstanceType: f.instance, NetworkType: f.network, Nodes: f.nodes, Command: f.cmd, Args: f.arg, DNS: f.dns,
		Network:     &Network{Allow: f.allow, Deny: f.deny},
		Annotations: map[string]string{"hermesbox.spec": "sha256:1"},
	}
	if f.given("allow-internet-access") {
		r.Network.Internet = &f.internet
	}
	for _, text := range f.ports {
		port, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		r.ExposedPorts = append(r.ExposedPorts, port)
	}
	for _, e := range f.env {
		k, v, _ := strings.Cut(e, "=")
		r.Env = append(r.Env, EnvVar{k, v})
	}
	if f.given("probe") {
		r.Probe = &Probe{f.probe, f.path}
	}
	if f.given("cpu") || f.given("memory") {
		r.Resources = NewResources(f.cpu, f.memory)
	}
	return r
}

// captured is a request as it came over the wire.
type captured struct {
	Method, Path, Body string
}

// capture records the requests that a client sends and answers each the same.
func capture(t *testing.T, answer string) (*httptest.Server, *[]captured) {
	t.Helper()
	var all []captured
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		all = append(all, captured{r.Method, r.URL.RequestURI(), string(body)})
		io.WriteString(w, answer) //nolint:errcheck // the client then fails
	}))
	t.Cleanup(server.Close)
	return server, &all
}

const anyJob = `{"ret":{"ret_code":200},"job":{"job_id":"j","template_id":"t","status":"PENDING"}}`

// TestRequestsOfCubemastercli sends, for each recorded command line, what the
// real client sent.
func TestRequestsOfCubemastercli(t *testing.T) {
	t.Parallel()
	compared := map[string]int{}
	for _, r := range read(t, "cubemastercli.jsonl") {
		if len(r.Args) < 6 || r.Args[4] != "tpl" || len(r.Sent) == 0 {
			continue
		}
		command := r.Args[5]
		t.Run(r.Name, func(t *testing.T) {
			got, ok := resend(t, command, r.Args[6:])
			if !ok {
				return
			}
			compared[command]++
			recorded := r.Sent[len(r.Sent)-1] // one line has a stray request before
			if got.Method != recorded.Method || got.Path != recorded.Path {
				t.Errorf("%s %s, recorded is %s %s", got.Method, got.Path, recorded.Method, recorded.Path)
			}
			want := object(t, recorded.Body)
			body := object(t, got.Body)
			same(t, command, want, body)
		})
	}
	want := map[string]int{"create-from-image": 40, "list": 12, "ls": 1, "info": 6, "delete": 5, "redo": 2, "status": 4, "watch": 4}
	if diff := gocmp.Diff(want, compared); diff != "" {
		t.Errorf("compared are: %s", diff)
	}
}

// resend runs a command line of cubemastercli; false where there is no such
// method.
func resend(t *testing.T, command string, args []string) (captured, bool) {
	t.Helper()
	f := parseCLI(t, args)
	server, all := capture(t, anyJob)
	c, err := New(Options{MasterAddr: strings.TrimPrefix(server.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	switch command {
	case "create-from-image":
		_, err = c.SubmitTemplate(ctx, f.templateRequest(t))
	case "list", "ls":
		_, err = c.Templates(ctx)
	case "info":
		_, err = c.GetTemplate(ctx, f.id, f.request)
	case "delete":
		err = c.DeleteTemplate(ctx, f.id)
	case "redo":
		_, err = c.RedoTemplate(ctx, Redo{TemplateID: f.id, Nodes: f.nodes, FailedOnly: f.failed})
	case "status", "watch":
		_, err = c.GetJob(ctx, "t", f.job)
	default:
		return captured{}, false
	}
	if err != nil || len(*all) != 1 {
		t.Fatalf("%d requests, %v", len(*all), err)
	}
	got := (*all)[0]
	if command == "info" { // the order of a query says nothing
		got.Path = strings.Replace(got.Path, "?include_request=true&template_id="+f.id, "?template_id="+f.id+"&include_request=true", 1)
	}
	return got, true
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// same compares all but the ids of the requests and what is ours.
func same(t *testing.T, command string, want, got map[string]any) {
	t.Helper()
	for _, key := range []string{"requestID", "RequestID"} {
		a, _ := want[key].(string)
		b, _ := got[key].(string)
		if len(a) != len(b) {
			t.Errorf("%s is %q, recorded is %q", key, b, a)
		}
		delete(want, key)
		delete(got, key)
	}
	if command == "create-from-image" {
		if diff := gocmp.Diff(want["cubevs_context"], got["cube_network_config"]); diff != "" {
			t.Errorf("the second spelling of the network: %s", diff)
		}
		delete(got, "cube_network_config")
		ours := got["container_overrides"].(map[string]any)
		if diff := gocmp.Diff(map[string]any{"hermesbox.spec": "sha256:1"}, ours["annotations"]); diff != "" {
			t.Errorf("annotations: %s", diff)
		}
		if delete(ours, "annotations"); len(ours) == 0 {
			delete(got, "container_overrides")
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("body (-recorded +ours):\n%s", diff)
	}
}
