package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseMounts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []HostMount
		refused    string
	}{
		{name: "none", text: ""},
		{name: "empty list", text: "[]", want: []HostMount{}},
		{name: "null", text: "null"},
		{
			name: "two", text: `[{"hostPath":"/data/shared/a","mountPath":"/m","x":1},{"HOSTPATH":"/data/shared","mountPath":"/n","readOnly":true}]`,
			want: []HostMount{{HostPath: "/data/shared/a", MountPath: "/m"}, {HostPath: "/data/shared", MountPath: "/n", ReadOnly: true}},
		},
		{name: "no JSON", text: "nope", refused: `invalid "host-mount" annotation: invalid character 'o' in literal null (expecting 'u')`},
		{
			name: "object", text: `{}`,
			refused: `invalid "host-mount" annotation: json: cannot unmarshal object into Go value of type []sandbox.HostDirMountOption`,
		},
		{
			name: "readOnly text", text: `[{"hostPath":"/a","readOnly":"true"}]`,
			refused: `invalid "host-mount" annotation: json: cannot unmarshal string into Go struct field HostDirMountOption.readOnly of type bool`,
		},
		{name: "relative", text: `[{"hostPath":"a","mountPath":"/m"}]`, refused: `"host-mount" entry[0]: hostPath must be an absolute path, got "a"`},
		{
			name: "no mountPath", text: `[{"hostPath":"/data/shared/a","mountPath":"/m"},{"hostPath":"/data/shared/a"}]`,
			refused: `"host-mount" entry[1]: mountPath must be an absolute path, got ""`,
		},
		{
			name: "outside", text: `[{"hostPath":"/data/shared/../etc","mountPath":"/m"}]`,
			refused: `"host-mount" entry[0]: hostPath must be under one of [/data/shared/], got "/data/shared/../etc"`,
		},
		{
			name: "look-alike", text: `[{"hostPath":"/data/shared-evil","mountPath":"/m"}]`,
			refused: `"host-mount" entry[0]: hostPath must be under one of [/data/shared/], got "/data/shared-evil"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseMounts(test.text)
			if test.refused != "" {
				wantFault(t, err, CodeParams, test.refused)
				return
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(HostMount{})); err != nil || diff != "" {
				t.Errorf("ParseMounts: %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func wantFault(t *testing.T, err error, code int, message string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code || e.Msg != message {
		t.Errorf("error %v, want %d: %s", err, code, message)
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add(`[{"hostPath":"/data/shared/a","mountPath":"/m"}]`)
	f.Add(`[{"hostPath":"/data/shared/a/../../../etc","mountPath":"/m"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseMounts(text)
		if err != nil {
			return
		}
		c := &Cluster{opts: Options{SharedRoot: "/home/me/shared"}}
		for _, m := range c.place(list) {
			if m.source != "/home/me/shared" && !strings.HasPrefix(m.source, "/home/me/shared/") {
				t.Errorf("%q leads to %s, out of the shared root", text, m.source)
			}
		}
	})
}

func TestPlace(t *testing.T) {
	t.Parallel()
	c := &Cluster{opts: Options{SharedRoot: "/srv"}}
	got := c.place([]HostMount{
		{HostPath: "/data/shared/a", MountPath: "/m"}, {HostPath: "/data/shared/b/./c", MountPath: "/n"}, {HostPath: "/data/shared/d", MountPath: "/m/"},
	})
	var sources []string
	for _, m := range got {
		sources = append(sources, m.source)
	}
	if diff := cmp.Diff([]string{"/srv/b/c", "/srv/d"}, sources); diff != "" {
		t.Errorf("the later mount on one target wins; -want +got:\n%s", diff)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	no := false
	for _, test := range []struct {
		name    string
		tpl     *Network
		request *Network
		want    string
		refused string
	}{
		{name: "nothing said", want: "internet"},
		{name: "request closes", tpl: &Network{Allow: []string{"10.1.2.3/16"}}, request: &Network{Internet: &no}, want: "closed allow 10.1.0.0/16"},
		{
			name: "lists add up", tpl: &Network{Allow: []string{"10.0.0.0/8"}}, request: &Network{Allow: []string{"10.0.0.0/8", "1.2.3.4"}, Deny: []string{"0.0.0.0/0"}},
			want: "internet allow 10.0.0.0/8 1.2.3.4/32 deny 0.0.0.0/0",
		},
		{name: "IPv6", request: &Network{Deny: []string{"fd00::/8"}}, refused: "invalid CIDR or IP: fd00::/8"},
		{name: "leading zero", request: &Network{Allow: []string{"010.0.0.1"}}, refused: "invalid CIDR or IP: 010.0.0.1"},
		{name: "domain", request: &Network{Internet: &no, Allow: []string{"*.example.org"}}, refused: "the local Cube enforces no domains in allow_out: *.example.org"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rules, err := merge(test.tpl, test.request).rules()
			if test.refused != "" {
				wantFault(t, err, CodeParams, test.refused)
				return
			}
			if got := words(rules); err != nil || got != test.want {
				t.Errorf("rules %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func words(r Rules) string {
	out := "closed"
	if r.Internet {
		out = "internet"
	}
	for i, list := range [][]string{texts(r.Allow), texts(r.Deny)} {
		if len(list) > 0 {
			out += []string{" allow ", " deny "}[i] + strings.Join(list, " ")
		}
	}
	return out
}

func texts[T interface{ String() string }](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

func TestTooManyEntries(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 8193 {
		list = append(list, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	_, err := Network{Allow: list}.rules()
	wantFault(t, err, CodeParams, "network.allow_out_v2 exceeds maximum entries: got 8193, max 8192")
	no, own := false, []string{"10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}
	for _, test := range []struct {
		name string
		n    Network
		got  int // too many; 0 is no error
	}{
		{"all that fit", Network{Deny: list[:8187]}, 0},
		{"one more", Network{Deny: list[:8188]}, 8193},
		{"those that are denied anyway, too", Network{Deny: append(own, list[:8187]...)}, 0},
		{"the same in another spelling", Network{Deny: append(list[:8187:8187], list[0]+"/32")}, 0},
		{"internet off", Network{Deny: list[:8191], Internet: &no}, 0},
		{"internet off, one more", Network{Deny: list[:8192], Internet: &no}, 8193},
	} {
		_, err := test.n.rules()
		if test.got != 0 {
			wantFault(t, err, CodeParams, fmt.Sprintf("network.deny_out_v2 exceeds maximum entries: got %d, max 8192", test.got))
		} else if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestDomainsLoose(t *testing.T) {
	t.Parallel()
	no := false
	domain := []string{"api.example.org"}
	for name, test := range map[string]struct {
		n    *Network
		want bool
	}{
		"none":          {nil, false},
		"open":          {&Network{Allow: domain}, true},
		"internet off":  {&Network{Allow: domain, Internet: &no}, false},
		"all denied":    {&Network{Allow: domain, Deny: []string{"0.0.0.0/0"}}, false},
		"only networks": {&Network{Allow: []string{"10.0.0.0/8", "not a cidr"}}, false},
	} {
		if got := test.n.DomainsLoose(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestMaskHost(t *testing.T) {
	t.Parallel()
	for mask, good := range map[string]bool{
		"": true, "localhost:${PORT}": true, "a-b_c.example": true, "[::1]:80": true,
		"a\r\nX-More: 1": false, "a b": false, "a/b": false, "a\n": false, "${HOME}": false,
	} {
		n := &Network{MaskHost: mask}
		if err := n.check(); (err == nil) != good {
			t.Errorf("%q: %v", mask, err)
		}
	}
	none := (*Network)(nil)
	if err := none.check(); err != nil {
		t.Error(err)
	}
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"2000m": 2000, "1.5": 1500, "2": 2000, "lots": 0, "-1": 0, "": 0} {
		if got := millicores(text); got != want {
			t.Errorf("millicores(%q) = %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int64{"2000Mi": 2098, "1Gi": 1074, "-5": 0, "1M": 1, "x": 0} {
		if got := listMB(text); got != want {
			t.Errorf("listMB(%q) = %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int64{"2000Mi": 2000, "1Gi": 0} {
		if got := detailMB(text); got != want {
			t.Errorf("detailMB(%q) = %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int64{"20Gi": 20, "1G": 1, "1025Mi": 2, "5": 5, "1.5Gi": 0, "plenty": 0, "0": 0} {
		if got, _ := wholeGi(text); got != want {
			t.Errorf("wholeGi(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestTemplateSpecCheck(t *testing.T) {
	t.Parallel()
	good := TemplateSpec{Image: "i", Size: "1Gi"}
	for _, test := range []struct {
		name   string
		change func(*TemplateSpec)
		want   string
	}{
		{"image", func(s *TemplateSpec) { s.Image = " " }, "source_image_ref is required"},
		{"size", func(s *TemplateSpec) { s.Size = "" }, "writable_layer_size is required"},
		{"port", func(s *TemplateSpec) { s.Ports = []int{70000} }, "invalid exposed port 70000"},
		{"ports", func(s *TemplateSpec) { s.Ports = []int{1, 2, 3, 4} }, "at most 3 custom exposed ports are supported"},
		{"alias prefix", func(s *TemplateSpec) { s.Alias = "tpl-x" }, "alias \"tpl-x\" must not start with 'tpl-' or 'snap-'"},
		{"domain", func(s *TemplateSpec) { s.Network = &Network{Allow: []string{"a.example"}} }, DomainRule},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			spec := good
			test.change(&spec)
			wantFault(t, spec.check(), CodeParams, test.want)
		})
	}
	good.Ports = []int{49983, 9001, 9000, 9000, 8080, 32000, 9002}
	if err := good.check(); err != nil || !cmp.Equal(good.Ports, []int{8080, 9000, 9001, 9002, 32000, 49983}) {
		t.Errorf("check: %v, ports %v", err, good.Ports)
	}
}

func TestCheckEnv(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"OK": "", "1BAD": "invalid env var name: 1BAD", "ld_preload": "env var name not allowed: ld_preload", "DYLD_X": "env var name not allowed: DYLD_X",
	} {
		got := ""
		if err := CheckEnv(map[string]string{name: "v"}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("CheckEnv(%s): %q, want %q", name, got, want)
		}
	}
	if err := CheckEnv(map[string]string{"A": "a\nb"}); err == nil {
		t.Error("a line break in a value was taken")
	}
}
