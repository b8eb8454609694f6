package check

import (
	"bytes"
	"encoding/xml"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWriteJUnit(t *testing.T) {
	t.Parallel()
	suite := Suite{Name: "hermesbox verify", StartedAt: time.Unix(1, 0), Duration: 1500 * time.Millisecond, Properties: [][2]string{{"sandbox", "sb-1"}}}
	var out bytes.Buffer
	err := WriteJUnit(&out, suite, []Check{
		{ID: "a", Status: Pass, Title: "A", Evidence: "fine", DurationMS: 20},
		{ID: "b", Status: Fail, Title: "B", Evidence: "<bad> & \x1b[31m", Remedy: "mend it"},
		{ID: "c", Status: Skip, Title: "C", Evidence: "not judged because b failed", Because: "b"},
		{ID: "d", Status: Warn, Title: "D", Evidence: "odd", Remedy: "look"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" errors="0" skipped="1" time="1.500">
  <testsuite name="hermesbox verify" timestamp="1970-01-01T00:00:01" tests="4" failures="1" errors="0" skipped="1" time="1.500">
    <properties>
      <property name="sandbox" value="sb-1"></property>
    </properties>
    <testcase name="a" classname="hermesbox verify" time="0.020">
      <system-out>A&#xA;fine</system-out>
    </testcase>
    <testcase name="b" classname="hermesbox verify" time="0.000">
      <failure message="&lt;bad&gt; &amp; ` + "\uFFFD" + `[31m">mend it</failure>
      <system-out>B&#xA;&lt;bad&gt; &amp; ` + "\uFFFD" + `[31m</system-out>
    </testcase>
    <testcase name="c" classname="hermesbox verify" time="0.000">
      <skipped message="not judged because b failed"></skipped>
      <system-out>C&#xA;not judged because b failed</system-out>
    </testcase>
    <testcase name="d" classname="hermesbox verify" time="0.000">
      <system-out>D&#xA;warning: odd&#xA;look</system-out>
    </testcase>
  </testsuite>
</testsuites>
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("JUnit XML (-want +got):\n%s", diff)
	}
	if err := xml.Unmarshal(out.Bytes(), new(any)); err != nil {
		t.Errorf("it is no XML: %v", err)
	}
	if err := WriteJUnit(broken{}, suite, nil); err == nil {
		t.Error("a writer that fails was not told of")
	}
}

// broken takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }
