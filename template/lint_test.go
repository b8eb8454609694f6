package template

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// good is a spec that nothing is to be said against.
func good(e Egress) Spec {
	return Spec{Name: "hermes-studio", Image: "registry.example/team/app@sha256:" + strings.Repeat("1", 64), Egress: e, WritableLayerSize: "20Gi", CPU: 2000, Memory: 4096}
}

func TestLint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		egress    Egress
		dns       string
		endpoints []string
		want      []string // severity and id
		says      string   // somewhere
	}{
		{"default", Egress{}, "", nil, []string{"note lan"}, "opens the public internet only"},
		{
			"everything", policy(t, true, "0.0.0.0/0", ""), "",
			[]string{"http://10.10.3.4:8000", "https://203.0.113.9/v1", "http://10.10.3.5"},
			[]string{"warning allow-all", "note endpoint-open", "note endpoint-open", "note endpoint-open"},
			"it is enough to allow 10.10.3.4/32, 10.10.3.5/32",
		},
		{"everything, nothing known", policy(t, true, "0.0.0.0/0", ""), "", nil, []string{"warning allow-all"}, "sandbox.model_endpoints names them"},
		{"the LAN is not the internet", policy(t, true, "", ""), "", []string{"http://10.10.3.4:8000"}, []string{"error endpoint-closed", "note lan"}, "allow 10.10.3.4/32"},
		{"opened narrowly", policy(t, true, "10.10.3.4/32", ""), "", []string{"http://10.10.3.4:8000"}, []string{"note endpoint-open"}, "allowed by 10.10.3.4/32"},
		{"a whole private network", policy(t, true, "10.0.0.0/8", ""), "", []string{"http://10.10.3.4"}, []string{"warning allow-wide", "note endpoint-open"}, "10.10.3.4/32"},
		{"more than a private network", policy(t, true, "192.0.0.0/8", ""), "", nil, []string{"warning allow-wide"}, "opens whole private networks"},
		{"metadata", policy(t, true, "169.254.0.0/16", ""), "", nil, []string{"warning metadata"}, "169.254.169.254"},
		{"deny defeated", policy(t, true, "10.10.0.0/16", "10.10.3.0/24"), "", nil, []string{"warning deny-defeated", "note deny-needless"}, "allowing 10.10.0.0/16 defeats it"},
		{"deny pierced", policy(t, true, "203.0.113.5/32", "203.0.113.0/24"), "", nil, []string{"note deny-pierced"}, "what is allowed wins"},
		{"deny needless, built in", policy(t, true, "119.29.29.29/32", "10.0.0.0/8"), "", nil, []string{"note deny-needless"}, "10.0.0.0/8 is closed anyway: no sandbox reaches it"},
		{"deny needless, in a built-in one", policy(t, true, "119.29.29.29/32", "10.1.0.0/16"), "", nil, []string{"note deny-needless"}, "10.1.0.0/16 is closed anyway, as part of 10.0.0.0/8"},
		{"deny needless, internet off", policy(t, false, "119.29.29.29/32", "203.0.113.0/24"), "", nil, []string{"note deny-needless"}, "internet access is off"},
		{"allow needless", policy(t, true, "10.10.0.0/16 10.10.3.4/32", ""), "", nil, []string{"note allow-needless"}, "as part of 10.10.0.0/16"},
		{"internet off, no resolver", policy(t, false, "203.0.113.5/32", ""), "", nil, []string{"warning resolver"}, "allow 119.29.29.29/32"},
		{"resolver in the LAN", policy(t, true, "10.10.3.4/32", ""), "10.0.0.53", nil, []string{"warning resolver"}, "allow 10.0.0.53/32"},
		{"resolver allowed", policy(t, true, "10.0.0.53/32", ""), "10.0.0.53 fd00::1", nil, nil, ""},
		{"endpoint by name", policy(t, true, "10.10.3.4/32", ""), "", []string{"https://llm.example.com/v1"}, []string{"note endpoint-name"}, "once it is resolved"},
		{"endpoint inside", policy(t, true, "10.10.3.4/32", ""), "", []string{"http://localhost:1", "http://127.0.0.1"}, []string{"warning endpoint-loopback", "warning endpoint-loopback"}, "the sandbox itself"},
		{"endpoint in IPv6", policy(t, true, "10.10.3.4/32", ""), "", []string{"http://[fd00::1]:8000"}, []string{"error endpoint-ipv6"}, "no IPv6"},
		{"endpoint that is none", policy(t, true, "10.10.3.4/32", ""), "", []string{"nonsense", "http://%zz"}, []string{"error endpoint", "error endpoint"}, "no address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := good(tt.egress)
			s.Image, s.DNS = "", strings.Fields(tt.dns)
			var got []string
			var text strings.Builder
			for _, f := range Lint(s, tt.endpoints) {
				got = append(got, string(f.Severity)+" "+f.ID)
				text.WriteString(f.Detail + "; " + f.Remedy + "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%s", diff, text.String())
			}
			if !strings.Contains(text.String(), tt.says) {
				t.Errorf("nothing says %q:\n%s", tt.says, text.String())
			}
		})
	}
}

// many are n networks, no two alike.
func many(n int) []netip.Prefix {
	out := make([]netip.Prefix, n)
	for i := range out {
		out[i] = netip.PrefixFrom(netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
	}
	return out
}

// TestLimits counts as Cube does: distinct networks, its own five among the denied.
func TestLimits(t *testing.T) {
	t.Parallel()
	off := false
	tests := []struct {
		name string
		e    Egress
		bad  string
	}{
		{"allow full", Egress{Allow: many(8192)}, ""},
		{"allow over", Egress{Allow: many(8193)}, "allowed networks are 8193"},
		{"doubles do not count", Egress{Allow: append(many(8192), many(8192)...)}, ""},
		{"deny full", Egress{Deny: many(8187)}, ""},
		{"deny over", Egress{Deny: many(8188)}, "denied networks are 8193"},
		{"internet off", Egress{Switch: &off, Deny: many(8191)}, ""},
		{"internet off, over", Egress{Switch: &off, Deny: many(8192)}, "denied networks are 8193"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := good(tt.e).Check()
			if tt.bad == "" && err != nil || tt.bad != "" && (err == nil || !strings.Contains(err.Error(), tt.bad)) {
				t.Errorf("got %v, want %q", err, tt.bad)
			}
			if tt.bad != "" && Lint(good(tt.e), nil)[0].ID != "spec" {
				t.Error("lint has no such error")
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*Spec)
		want   string // "" for nothing wrong
	}{
		"good":             {func(*Spec) {}, ""},
		"no image":         {func(s *Spec) { s.Image = "" }, `image ""`},
		"image with space": {func(s *Spec) { s.Image = "a b" }, `image "a b"`},
		"name":             {func(s *Spec) { s.Name = "Upper" }, `name "Upper"`},
		"reserved name":    {func(s *Spec) { s.Name = "tpl-x" }, `name "tpl-x"`},
		"no name":          {func(s *Spec) { s.Name = "" }, ""},
		"port 70000":       {func(s *Spec) { s.Ports = []int{9000, 70000} }, "exposed port 70000"},
		"port 0":           {func(s *Spec) { s.Ports = []int{0} }, "exposed port 0"},
		"four ports":       {func(s *Spec) { s.Ports = []int{9000, 9001, 9002, 9003, 49983} }, "[9000 9001 9002 9003] are 4"},
		"three and more":   {func(s *Spec) { s.Ports = []int{9000, 9001, 9002, 9002, 49983, 8080} }, ""},
		"probe":            {func(s *Spec) { s.Probe = probe(-1, "/health") }, "probe port -1"},
		"probe path":       {func(s *Spec) { s.Probe = probe(80, "/a b") }, `probe path "/a b"`},
		"cpu":              {func(s *Spec) { s.CPU = -1 }, "cpu -1"},
		"memory":           {func(s *Spec) { s.Memory = -5 }, "memory -5"},
		"size":             {func(s *Spec) { s.WritableLayerSize = "lots" }, `size "lots"`},
		"no size":          {func(s *Spec) { s.WritableLayerSize = "" }, `size ""`},
		"resolver":         {func(s *Spec) { s.DNS = []string{"bad"} }, `resolver "bad"`},
		"raw network":      {func(s *Spec) { s.Egress.Deny = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/8")} }, "network 10.0.0.1/8"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := good(Egress{})
			tt.change(&s)
			err := s.Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// TestDigest: what makes no difference to sandboxes makes none to the digest,
// and everything else does.
func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(s Spec) string {
		d, err := s.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	on := true
	base := good(Egress{Allow: networks(t, "10.0.0.0/8", "192.168.0.0/16")})
	base.Ports = []int{9000, 49983}
	want := digest(base)
	if want[:7] != "sha256:" || len(want) != 71 {
		t.Fatalf("digest %q", want)
	}
	same := map[string]func(*Spec){
		"name":     func(s *Spec) { s.Name = "other" },
		"order":    func(s *Spec) { s.Ports = []int{49983, 9000, 9000} },
		"networks": func(s *Spec) { s.Egress.Allow = networks(t, "192.168.0.0/16", "10.0.0.0/8", "10.0.0.0/8") },
		"default":  func(s *Spec) { s.Egress.Switch = &on },
		"cpu":      func(s *Spec) { s.CPU = 0 },
	}
	for name, change := range same {
		s := base
		if change(&s); digest(s) != want {
			t.Errorf("%s changes the digest", name)
		}
	}
	off := false
	other := map[string]func(*Spec){
		"image":    func(s *Spec) { s.Image += "2" },
		"internet": func(s *Spec) { s.Egress.Switch = &off },
		"allow":    func(s *Spec) { s.Egress.Allow = nil },
		"deny":     func(s *Spec) { s.Egress.Deny = networks(t, "203.0.113.0/24") },
		"ports":    func(s *Spec) { s.Ports = []int{9000} },
		"probe":    func(s *Spec) { s.Probe = probe(9000, "/health") },
		"cpu":      func(s *Spec) { s.CPU = 1000 },
		"memory":   func(s *Spec) { s.Memory = 1 },
		"size":     func(s *Spec) { s.WritableLayerSize = "1Gi" },
		"nodes":    func(s *Spec) { s.Nodes = []string{"a"} },
		"dns":      func(s *Spec) { s.DNS = []string{"10.0.0.2"} },
		"command":  func(s *Spec) { s.Command = []string{"sh"} },
		"args":     func(s *Spec) { s.Args = []string{"sh"} },
	}
	seen := map[string]string{want: "none"}
	for name, change := range other {
		s := base
		change(&s)
		if before, ok := seen[digest(s)]; ok {
			t.Errorf("%s and %s have one digest", name, before)
		}
		seen[digest(s)] = name
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for alias, want := range map[string]bool{
		"app": true, "app-0123456789ab": true, "app-2": false, "application": false, "app-0123456789ab-0123456789ab": false, "": false,
	} {
		if Named(alias, "app") != want {
			t.Errorf("%q: %t", alias, !want)
		}
	}
	long := strings.Repeat("a", 63)
	for _, name := range []string{"app", strings.Repeat("a", 51), strings.Repeat("a", 52), long + "b", long + "c"} {
		another := anotherName(name)
		s := good(Egress{})
		s.Name = another
		if err := s.Check(); err != nil || another == anotherName(name) {
			t.Errorf("%s: %v, or not of its own", another, err)
		}
		if !Named(another, name) || Named(another, long+"d") {
			t.Errorf("%s is none of %s's, or another's", another, name)
		}
	}
}
