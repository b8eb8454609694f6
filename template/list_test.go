package template

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/cube"
)

func ids(all []Summary) []string {
	var out []string
	for _, s := range all {
		out = append(out, s.ID)
	}
	return out
}

var named = [][5]string{
	{"tpl-1", "app", "READY", "r/team/app@sha256:1", "01"},
	{"tpl-2", "app-0123456789ab", "FAILED", "r/team/app@sha256:2", "02"},
	{"tpl-3", "app-0123456789ac", "READY", "r/team/app@sha256:3", "03"},
	{"tpl-4", "application", "READY", "r/team/other@sha256:4", "04"},
	{"tpl-5", "app-0123456789ad", "RUNNING", "r/team/app@sha256:5", "05"},
	{"tpl-6", "", "READY", "r:5000/team/app:1", "06"},
}

// unnamed are those of a version without names.
func unnamed() [][5]string {
	var out [][5]string
	for _, t := range named {
		t[1] = ""
		out = append(out, t)
	}
	return out
}

func TestList(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{listRoute: {listed(named...)}})
	all, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"tpl-6", "tpl-5", "tpl-4", "tpl-3", "tpl-2", "tpl-1"}, ids(all)); diff != "" {
		t.Errorf("the newest is not first: %s", diff)
	}
	want := Summary{"tpl-1", "app", "r/team/app@sha256:1", "READY", "2026-11-29T12:00:01Z"}
	if diff := cmp.Diff(want, all[5]); diff != "" {
		t.Error(diff)
	}
}

func TestChoosing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		list            [][5]string
		latest          string
		old, failed     []string
		latestOfUnknown string
	}{
		"with names":    {named, "tpl-3", []string{"tpl-1"}, []string{"tpl-2"}, ""},
		"without names": {unnamed(), "tpl-6", []string{"tpl-3", "tpl-1"}, []string{"tpl-2"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := newFake(t, map[string][]string{listRoute: {listed(tt.list...)}})
			latest, err := c.Latest(t.Context(), "app")
			if err != nil || latest.ID != tt.latest {
				t.Errorf("latest is %s, %v; want %s", latest.ID, err, tt.latest)
			}
			if _, err := c.Latest(t.Context(), "nobody"); !errors.Is(err, cube.ErrNotFound) {
				t.Errorf("latest of nobody: %v", err)
			}
			all, err := c.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.old, ids(Old(all, "app", 1))); diff != "" {
				t.Errorf("old: %s", diff)
			}
			if n := len(Old(all, "app", 99)); n != 0 {
				t.Errorf("%d old ones of 99 to keep", n)
			}
			if diff := cmp.Diff(tt.failed, ids(Failed(all))); diff != "" {
				t.Errorf("failed: %s", diff)
			}
		})
	}
}

// TestGet puts together what get and the list tell.
func TestGet(t *testing.T) {
	t.Parallel()
	s := wanted(t)
	s.DNS = []string{"10.0.0.2"}
	_, c := newFake(t, map[string][]string{
		listRoute: {listed([5]string{"tpl-1", "app", "READY", pinned, "01"})},
		infoRoute + "tpl-1": {stored(t, "tpl-1", s, func(r *cube.CreateRequest) {
			r.Containers[0].DNS = &cube.DNS{Servers: s.DNS}
		})},
	})
	got, err := c.Get(t.Context(), "tpl-1")
	if err != nil {
		t.Fatal(err)
	}
	digest, err := s.Digest()
	if err != nil {
		t.Fatal(err)
	}
	want := Template{
		Summary: Summary{"tpl-1", "app", pinned, "READY", "2026-11-29T12:00:01Z"}, Known: true, Spec: digest,
		Ports: []int{9000, 49983}, CPU: "2000m", Memory: "4096Mi", Size: "20Gi", DNS: s.DNS, Probe: ":49983/health", Replicas: []cube.Replica{},
	}
	if !got.Egress.same(s.Egress) {
		t.Errorf("egress %+v", got.Egress)
	}
	got.Egress, got.stored = Egress{}, nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Template{})); diff != "" {
		t.Error(diff)
	}
}

// TestGetDuringFirstBuild: the May version then denies a template that it is asked for with its request.
func TestGetDuringFirstBuild(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{
		listRoute:           {listed()},
		infoRoute + "tpl-1": {refused(130404, "template not found"), ok(`"template_id":"tpl-1","status":"RUNNING"`)},
	})
	got, err := c.Get(t.Context(), "tpl-1")
	if err != nil || got.Status != "RUNNING" || got.Known {
		t.Errorf("%+v, %v", got, err)
	}
	_, c = newFake(t, map[string][]string{infoRoute + "tpl-2": {refused(130404, "template not found")}})
	if _, err := c.Get(t.Context(), "tpl-2"); !errors.Is(err, cube.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{deleteRoute: {ok(""), refused(130400, "template is still in use")}})
	if err := c.Delete(t.Context(), "tpl-1"); err != nil {
		t.Error(err)
	}
	if err := c.Delete(t.Context(), "tpl-2"); !errors.Is(err, cube.ErrInUse) {
		t.Errorf("in use: %v", err)
	}
}

// TestUsers are the sandboxes of a name's other templates.
func TestUsers(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{
		listRoute: {listed(named...)},
		"GET /v2/sandboxes": {`[
			{"sandboxID":"old","templateID":"tpl-1","state":"running"},{"sandboxID":"new","templateID":"tpl-3","state":"running"},
			{"sandboxID":"other","templateID":"tpl-4","state":"running"}]`},
	})
	got, err := c.Users(t.Context(), "app", "tpl-3")
	if err != nil || len(got) != 1 || got[0].ID != "old" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRefusedLists: where Cube does not list, nobody goes on.
func TestRefusedLists(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{
		listRoute:           {refused(130594, "database")},
		infoRoute + "tpl-1": {ok(`"template_id":"tpl-1","status":"READY"`)},
	})
	for name, call := range map[string]func() error{
		"list":     func() error { _, err := c.List(t.Context()); return err },
		"latest":   func() error { _, err := c.Latest(t.Context(), "app"); return err },
		"get":      func() error { _, err := c.Get(t.Context(), "tpl-1"); return err },
		"users":    func() error { _, err := c.Users(t.Context(), "app", "tpl-1"); return err },
		"register": func() error { _, err := c.Register(t.Context(), wanted(t), false); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "database") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRefusedDetails: a template that cannot be read stops the search for one to use again.
func TestRefusedDetails(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{
		listRoute:             {listed([5]string{"tpl-old", "", "READY", pinned, "10"})},
		infoRoute + "tpl-old": {refused(130594, "database")},
		"GET /v2/sandboxes":   {`{"code":500}`},
	})
	if _, err := c.Register(t.Context(), wanted(t), false); err == nil || !strings.Contains(err.Error(), "reading template tpl-old") {
		t.Errorf("register: %v", err)
	}
	if _, err := c.Users(t.Context(), "app", "tpl-1"); err == nil || !strings.Contains(err.Error(), "listing sandboxes") {
		t.Errorf("users: %v", err)
	}
}
