package template

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hermesbox/hermesbox/internal/cube"
)

const pinned = "registry.example/team/app@sha256:964349030a5a29cf1d5677448fd48c8cfb1bec6375723b4e8fdb9f573952eeda"

func wanted(t *testing.T) Spec {
	s := good(policy(t, true, "10.10.0.0/16", ""))
	s.Image, s.Ports, s.Probe = pinned, []int{9000, 49983}, probe(49983, "/health")
	return s
}

// unannotated takes the annotation away, as versions do that do not keep it.
func unannotated(r *cube.CreateRequest) { delete(r.Annotations, Annotation) }

// TestReuse: a template is used again exactly when it is known to be the wanted one.
func TestReuse(t *testing.T) {
	t.Parallel()
	off := false
	tests := []struct {
		name   string
		info   string
		change func(*cube.CreateRequest)
		image  string // wanted instead of pinned; @1 is resolved to sha256:1
		reason string // for a new one; "" for reuse
	}{
		{"annotation", pinned, nil, "", ""},
		{"annotation on the container", pinned, func(r *cube.CreateRequest) {
			r.Containers[0].Annotations = map[string]string{Annotation: r.Annotations[Annotation]}
			unannotated(r)
		}, "", ""},
		{"image not listed", "", nil, "", ""},
		{"another spec", pinned, func(r *cube.CreateRequest) { r.Annotations[Annotation] = "sha256:other" }, "", "another specification"},
		{"another policy, by its digest", pinned, func(r *cube.CreateRequest) {
			r.Annotations[Annotation] = "sha256:other"
			r.NewNetwork = nil
		}, "", "another outbound policy"},
		{"not echoed", pinned, unannotated, "", ""},
		{"not echoed, command of the image", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Containers[0].Args = []string{"x"} }, "", ""},
		{"not echoed, first spelling", pinned, func(r *cube.CreateRequest) {
			unannotated(r)
			r.OldNetwork, r.NewNetwork = r.NewNetwork, nil
		}, "", ""},
		{"not echoed, 49983 not exposed", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Annotations["com.exposed_ports"] = "9000" }, "", ""},
		{"not echoed, other ports", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Annotations["com.exposed_ports"] = "8000" }, "", "exposes the ports [8000]"},
		{"not echoed, internet off", pinned, func(r *cube.CreateRequest) { unannotated(r); r.NewNetwork.Internet = &off }, "", "another outbound policy"},
		{"not echoed, memory", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Containers[0].Resources.Memory = "1Mi" }, "", "CPU or memory"},
		{"not echoed, size", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Containers[0].Image.WritableLayerSize = "1Gi" }, "", "writable layer of 1Gi"},
		{"not echoed, resolvers", pinned, func(r *cube.CreateRequest) {
			unannotated(r)
			r.Containers[0].DNS = &cube.DNS{Servers: []string{"10.0.0.2"}}
		}, "", "other resolvers"},
		{"not echoed, probe", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Containers[0].Probe = nil }, "", "probed in another way"},
		{"not echoed, a command of the image's own", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Containers[0].Command = []string{"other"} }, "", ""},
		{"not echoed, no container", pinned, func(r *cube.CreateRequest) { unannotated(r); r.Containers = nil }, "", "no container"},
		{"not echoed, image not listed", "", unannotated, "", "does not tell its image"},
		{"a tag", "team/app:latest@sha256:1", nil, "team/app:latest", ""},
		{"not echoed, a tag without its digest", "team/app:latest", unannotated, "team/app:latest@1", "does not tell its image"},
		{"not echoed, a tag", "team/app:latest@sha256:1", unannotated, "team/app:latest", ""},
		{"a tag that has not moved", "team/app:latest@sha256:1", nil, "team/app:latest@1", ""},
		{"a tag that has moved", "team/app:latest@sha256:1", nil, "team/app:latest@2", "no READY template has the image team/app:latest@sha256:2"},
		{"not echoed, a tag that has moved", "team/app:latest@sha256:1", unannotated, "team/app:latest@2", "no READY template has the image team/app:latest@sha256:2"},
		{"another image", "registry.example/team/app@sha256:0", nil, "", "no READY template has the image"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := wanted(t)
			if tag, digest, ok := strings.Cut(tt.image, "@"); ok {
				s.Image, s.ImageDigest = tag, "sha256:"+digest
			} else if tt.image != "" {
				s.Image = tt.image
			}
			f, c := newFake(t, map[string][]string{
				listRoute:             {listed([5]string{"tpl-failed", "", "FAILED", s.Image, "59"}, [5]string{"tpl-old", "", "READY", tt.info, "10"})},
				infoRoute + "tpl-old": {stored(t, "tpl-old", s, tt.change)},
				submitRoute:           {job("RUNNING", "PULLING", 5)},
				jobRoute + "":         {job("RUNNING", "CREATING_TEMPLATE", 85), job("READY", "READY", 100)},
			})
			got, err := c.Register(t.Context(), s, false)
			if err != nil {
				t.Fatal(err)
			}
			if tt.reason == "" && (got.Made || got.ID != "tpl-old" || f.count(submitRoute) != 0) {
				t.Errorf("made %+v, %v", got, f.asked)
			}
			if tt.reason != "" && (!got.Made || got.ID != "tpl-new" || got.Status != "READY" || !strings.Contains(got.Reason, tt.reason)) {
				t.Errorf("got %+v, want a new one because %q", got, tt.reason)
			}
		})
	}
}

// TestReuseWithoutRequest is the version that tells nothing about a template's making.
func TestReuseWithoutRequest(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{
		listRoute:              {listed([5]string{"tpl-old", "", "READY", pinned, "10"}, [5]string{"tpl-gone", "", "READY", pinned, "20"})},
		infoRoute + "tpl-old":  {ok(`"template_id":"tpl-old","status":"READY"`)},
		infoRoute + "tpl-gone": {refused(130404, "template not found")},
	})
	_, found, reason, err := c.Find(t.Context(), wanted(t))
	if err != nil || found || !strings.Contains(reason, "does not tell what it was made with") {
		t.Errorf("found %t, %q, %v", found, reason, err)
	}
}

// TestNames: a name that a template has already makes the next one's a name of the name.
func TestNames(t *testing.T) {
	t.Parallel()
	f, c := newFake(t, map[string][]string{
		listRoute: {listed([5]string{"tpl-other", "another-app", "READY", pinned, "10"})},
		submitRoute: {
			refused(130409, `alias "hermes-studio" is already used by template tpl-1`), job("PENDING", "", 0),
		},
	})
	got, err := c.Register(t.Context(), wanted(t), true)
	if err != nil || got.ID != "tpl-new" || got.Status != "PENDING" {
		t.Fatalf("%+v, %v", got, err)
	}
	var sent struct {
		Alias     string `json:"alias"`
		Overrides struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"container_overrides"`
	}
	if err := json.Unmarshal([]byte(f.bodies[1]), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Alias == "hermes-studio" || !Named(sent.Alias, "hermes-studio") || !strings.HasPrefix(sent.Overrides.Annotations[Annotation], "sha256:") {
		t.Errorf("sent %s", f.bodies[1])
	}
}

// TestNameNotTakenAway: a template keeps its name, also where Cube would give it to a later one.
func TestNameNotTakenAway(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"hermes-studio": false, "hermes-studio-0123456789ab": true, "another-app": true, "": true} {
		f, c := newFake(t, map[string][]string{
			listRoute:   {listed([5]string{"tpl-1", name, "READY", "registry.example/team/app@sha256:0", "10"})},
			submitRoute: {job("PENDING", "", 0)},
		})
		if _, err := c.Register(t.Context(), wanted(t), true); err != nil {
			t.Fatal(err)
		}
		var sent struct{ Alias string }
		if err := json.Unmarshal([]byte(f.bodies[0]), &sent); err != nil {
			t.Fatal(err)
		}
		if (sent.Alias == "hermes-studio") != want || !Named(sent.Alias, "hermes-studio") {
			t.Errorf("beside %q it is called %q", name, sent.Alias)
		}
	}
}

// TestSubmitRefused: a refusal is passed on, and tried once.
func TestSubmitRefused(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"invalid exposed port 70000", `alias "x" is invalid: must match`, "no more resource"} {
		f, c := newFake(t, map[string][]string{listRoute: {listed()}, submitRoute: {refused(130400, message)}})
		_, err := c.Register(t.Context(), wanted(t), false)
		if err == nil || !strings.Contains(err.Error(), message) || f.count(submitRoute) != 1 {
			t.Errorf("%q: %v after %d tries", message, err, f.count(submitRoute))
		}
	}
}

// TestNothingSent: a spec that cannot work reaches nobody.
func TestNothingSent(t *testing.T) {
	t.Parallel()
	f, c := newFake(t, nil)
	s := wanted(t)
	s.Ports = []int{70000}
	if _, err := c.Register(t.Context(), s, false); !errors.Is(err, ErrSpec) || len(f.asked) != 0 {
		t.Errorf("%v, asked %v", err, f.asked)
	}
}

// TestJobFails: Register ends as its job does, and names the template that was not made.
func TestJobFails(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{
		listRoute: {listed()}, submitRoute: {job("PENDING", "", 0)}, jobRoute: {job("RUNNING", "PULLING", 5), job("FAILED", "PULLING", 100)},
	})
	got, err := c.Register(t.Context(), wanted(t), false)
	var failed *JobError
	if !errors.As(err, &failed) || got.ID != "tpl-new" || failed.Phase != "PULLING" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestOtherCommand: a command that was asked for is compared, one of the image's own is not.
func TestOtherCommand(t *testing.T) {
	t.Parallel()
	s := wanted(t)
	s.Command = []string{"/other"}
	_, c := newFake(t, map[string][]string{
		listRoute:             {listed([5]string{"tpl-old", "", "READY", pinned, "10"})},
		infoRoute + "tpl-old": {stored(t, "tpl-old", s, unannotated)},
	})
	if _, found, reason, err := c.Find(t.Context(), s); found || err != nil || !strings.Contains(reason, "starts another command") {
		t.Errorf("found %t, %q, %v", found, reason, err)
	}
}
