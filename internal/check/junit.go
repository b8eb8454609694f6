package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// Suite is what a report in JUnit's XML is about.
type Suite struct {
	Name      string
	StartedAt time.Time
	Duration  time.Duration
	// Properties are shown beside the checks, in order.
	Properties [][2]string
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suite junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitSuite struct {
	Name      string `xml:"name,attr"`
	Timestamp string `xml:"timestamp,attr"`
	junitCounts
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes checks as JUnit XML, as CI systems read it: a case a check,
// named by its id. A warning is a case that passed and says so in its output.
func WriteJUnit(w io.Writer, s Suite, checks []Check) error {
	suite := junitSuite{Name: s.Name, Timestamp: s.StartedAt.UTC().Format("2006-01-02T15:04:05"), Cases: []junitCase{}}
	for _, p := range s.Properties {
		suite.Properties = append(suite.Properties, junitProperty{p[0], p[1]})
	}
	suite.Time = seconds(s.Duration)
	for _, c := range checks {
		one := junitCase{Name: c.ID, Class: s.Name, Time: seconds(time.Duration(c.DurationMS) * time.Millisecond), Out: c.Title + "\n" + c.Evidence}
		suite.Tests++
		switch c.Status {
		case Fail:
			suite.Failures++
			one.Failure = &junitMessage{c.Evidence, c.Remedy}
		case Skip:
			suite.Skipped++
			one.Skipped = &junitMessage{Message: c.Evidence}
		case Warn:
			one.Out = c.Title + "\nwarning: " + c.Evidence + "\n" + c.Remedy
		}
		suite.Cases = append(suite.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{junitCounts: suite.junitCounts, Suite: suite}); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
