package template

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/cube"
)

// recordedJobs are the answers of a real CubeMaster about one job each, in
// their order, as recorded in May 2026.
func recordedJobs(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open("testdata/jobs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string][]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct{ Job, Body string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all[line.Job] = append(all[line.Job], line.Body)
	}
	return all
}

// TestWatchRecorded follows real jobs to their ends.
func TestWatchRecorded(t *testing.T) {
	t.Parallel()
	ends := map[string]JobError{
		"cm.ready.job":     {},
		"cm.nonode.job":    {Phase: "CREATING_TEMPLATE", Cause: "template tpl-nonode creation failed: template creation failed on all nodes"},
		"cm.pull-fail.job": {Phase: "PULLING", Cause: "connection refused"},
		"cm.bad-ref.job":   {Phase: "PULLING", Cause: "docker pull Bad Ref!! failed"},
		"cm.nocmd.job":     {Phase: "BUILDING_EXT4", Cause: "No command specified"},
		"cm.imagefail.job": {Phase: "DISTRIBUTING", Cause: "artifact distribution failed on all 1 nodes"},
		"cm.snapfail.job":  {Phase: "CREATING_TEMPLATE", Cause: "creation failed"},
	}
	recorded := recordedJobs(t)
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(recorded[name]) == 0 {
				t.Fatal("not recorded")
			}
			f, c := newFake(t, map[string][]string{jobRoute: recorded[name]})
			err := c.Watch(t.Context(), "tpl-x", "j")
			if len(f.changes) == 0 {
				t.Error("nothing was told")
			}
			if end.Phase == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var got *JobError
			if !errors.As(err, &got) || got.Phase != end.Phase || !strings.Contains(got.Cause, end.Cause) || got.Template != "tpl-x" {
				t.Errorf("got %v, want %+v", err, end)
			}
			if !strings.Contains(err.Error(), "failed in phase "+end.Phase) {
				t.Error(err)
			}
		})
	}
}

// TestProgress: each change is told once.
func TestProgress(t *testing.T) {
	t.Parallel()
	pulling := job("RUNNING", "PULLING", 5)
	f, c := newFake(t, map[string][]string{jobRoute: {pulling, pulling, pulling, job("RUNNING", "DISTRIBUTING", 70), job("READY", "READY", 100)}})
	if err := c.Watch(t.Context(), "tpl-x", "j"); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, j := range f.changes {
		got = append(got, int(j.Progress))
	}
	if diff := cmp.Diff([]int{5, 70, 100}, got); diff != "" {
		t.Error(diff)
	}
}

// TestWatchWithoutJob finds the job, or goes by the template.
func TestWatchWithoutJob(t *testing.T) {
	t.Parallel()
	const route = infoRoute + "tpl-x"
	running := ok(`"template_id":"tpl-x","status":"RUNNING"`)
	tests := map[string]struct {
		answers map[string][]string
		want    string // of the error; "" for READY
	}{
		"ready already": {map[string][]string{route: {ok(`"template_id":"tpl-x","status":"READY"`)}}, ""},
		"no job told":   {map[string][]string{route: {running, running, ok(`"template_id":"tpl-x","status":"READY"`)}}, ""},
		"job told": {map[string][]string{
			route: {ok(`"template_id":"tpl-x","status":"RUNNING","job_id":"j"`)}, jobRoute: {job("RUNNING", "PULLING", 5), job("READY", "READY", 100)},
		}, ""},
		"failed, told by the job": {map[string][]string{
			route: {ok(`"template_id":"tpl-x","status":"FAILED","job_id":"j"`)}, jobRoute: {job("FAILED", "PULLING", 100)},
		}, "failed in phase PULLING: Cube names no cause"},
		"failed, told by a node": {map[string][]string{
			route: {ok(`"template_id":"tpl-x","status":"FAILED","replicas":[{"node_id":"n","status":"FAILED","last_error_phase":"SNAPSHOTTING","error_message":"context deadline exceeded"}]`)},
		}, "failed in phase SNAPSHOTTING: context deadline exceeded"},
		"failed, its job forgotten": {map[string][]string{
			route: {ok(`"template_id":"tpl-x","status":"FAILED","job_id":"j","last_error":"why"`)}, jobRoute: {refused(130593, "record not found")},
		}, "failed: why"},
		"failed, with escapes": {map[string][]string{
			route: {ok(`"template_id":"tpl-x","status":"FAILED","last_error":"a\u001b[31m\nb\r\n c"`)},
		}, "failed: a [31m b c"},
		"unknown": {map[string][]string{route: {refused(130404, "template not found")}}, "template not found"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := newFake(t, tt.answers)
			err := c.Watch(t.Context(), "tpl-x", "")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if name == "unknown" && !errors.Is(err, cube.ErrNotFound) {
				t.Error("not cube.ErrNotFound")
			}
		})
	}
}

func TestWatchStuck(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{jobRoute: {job("RUNNING", "PULLING", 5)}})
	c.Patience = 20 * time.Millisecond
	var got *JobError
	if err := c.Watch(t.Context(), "tpl-x", "j"); !errors.As(err, &got) || !got.Stuck || got.Phase != "PULLING" {
		t.Errorf("got %v", err)
	}
}

func TestWatchDeleted(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{jobRoute: {job("RUNNING", "PULLING", 5), refused(130593, "record not found")}})
	var got *JobError
	if err := c.Watch(t.Context(), "tpl-x", "j"); !errors.As(err, &got) || !strings.Contains(got.Cause, "deleted meanwhile") {
		t.Errorf("got %v", err)
	}
}

func TestWatchInterrupted(t *testing.T) {
	t.Parallel()
	_, c := newFake(t, map[string][]string{jobRoute: {job("RUNNING", "PULLING", 5)}})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if err := c.Watch(ctx, "tpl-x", "j"); err == nil || !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
