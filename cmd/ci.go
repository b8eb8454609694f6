package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// maskCommand is how GitHub Actions is told a secret, one value a line.
const maskCommand = "::add-mask::"

// tellCI has GitHub Actions mask the secrets that this run reads, in all that
// later steps print too. Elsewhere nothing is printed.
func (a *app) tellCI() {
	if a.getenv("GITHUB_ACTIONS") != "true" {
		return
	}
	a.masks = true
	for _, name := range []string{"CUBE_API_KEY", "E2B_API_KEY"} {
		a.mask(a.getenv(name))
	}
}

// secret makes a value one: for what hermesbox prints, and for the CI system
// where that was asked for.
func (a *app) secret(value string) {
	a.secrets.Add(value)
	if a.masks {
		a.mask(value)
	}
}

// mask goes by the stream that masks nothing: masked, it would name no value.
func (a *app) mask(value string) {
	if value == "" {
		return
	}
	escaped := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(value)
	fmt.Fprintf(a.rawErr, "%s%s\n", maskCommand, escaped)
}

// summarise adds what came of up to the summary of a GitHub Actions step.
func (a *app) summarise(out passage, until string, cause error) (err error) {
	path := a.getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing the step summary: %w", err)
	}
	_, err = f.WriteString(a.secrets.String(a.markdown(out, until, cause)))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the step summary: %w", err)
	}
	return nil
}

// markdown is a heading, which says so where all stages were gone through and
// yet nothing was verified, and a table of the stages.
func (a *app) markdown(out passage, until string, err error) string {
	var b strings.Builder
	heading := out.Status
	if err == nil && until == stageVerify && !out.Verified {
		heading += ", NOT verified"
	}
	fmt.Fprintf(&b, "### hermesbox up: %s\n\n| stage | action | result | reason |\n|---|---|---|---|\n", heading)
	for _, s := range out.Stages {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.Stage, s.Action, cell(s.Result), cell(s.Reason))
	}
	if err != nil {
		f := failed(err)
		fmt.Fprintf(&b, "\n%s\n", cell(f.Error()))
		if f.hint != "" {
			fmt.Fprintf(&b, "\nNext: %s\n", cell(a.repeatable(f.hint)))
		}
	}
	if len(out.FailedChecks) > 0 {
		b.WriteString("\n| failed check | what was seen | what to do |\n|---|---|---|\n")
	}
	for _, c := range out.FailedChecks {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(c.ID), cell(c.Evidence), cell(a.repeatable(c.Remedy)))
	}
	b.WriteString("\n")
	return b.String()
}

// cell is text from outside that cannot leave its cell, nor be taken for markup.
func cell(text string) string {
	text = strings.Join(strings.Fields(visible(text)), " ")
	if text == "" {
		return ""
	}
	var out strings.Builder
	for _, r := range text {
		if strings.ContainsRune("&<>|[]`*_~\\!", r) {
			fmt.Fprintf(&out, "&#%d;", r)
			continue
		}
		out.WriteRune(r)
	}
	return "<code>" + out.String() + "</code>"
}
