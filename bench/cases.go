package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// target is one promise: a quotient of ours and the rival's, or a bound.
type target struct {
	what  string
	ratio func(ours, rival sample) float64
	most  float64
}

func cpu(ours, rival sample) float64  { return float64(ours.cpu) / float64(rival.cpu) }
func wall(ours, rival sample) float64 { return float64(ours.wall) / float64(rival.wall) }

// mebibytesAbove is memory above that of the rival, which is a command that does nothing.
func mebibytesAbove(ours, rival sample) float64 { return float64(ours.peak-rival.peak) / (1 << 20) }

func firstMilliseconds(ours, _ sample) float64 {
	return float64(ours.first) / float64(time.Millisecond)
}

// contest is two command lines and what is promised of ours.
type contest struct {
	name, ours, rival string
	targets           []target
}

const tarLine = `tar --sort=name --exclude='._*' --exclude=.DS_Store -cf - . | `

// contests are run in the directory of a tree; scratch is one that the rival of "nothing changed" has synced already.
func contests(s shape, hermesbox, self, scratch string) []contest {
	check := hermesbox + " context check --output json . >/dev/null"
	all := []contest{
		{"check, against tar | sha256sum", check, tarLine + "sha256sum >/dev/null", []target{{"cpu", cpu, 1.0}, {"wall", wall, 0.7}}},
		{"tar, against tar", hermesbox + " context tar . | cat >/dev/null", tarLine + "cat >/dev/null", []target{{"wall", wall, 1.2}, {"cpu", cpu, 0}}},
		{"nothing changed, against BuildKit's sync", check, fmt.Sprintf("%s -sync . %s", self, scratch), []target{{"cpu", cpu, 0.6}}},
		{"first output", check, "true", []target{{"ms", firstMilliseconds, 100}}},
	}
	if s.files >= 200_000 {
		version := "exec " + hermesbox + " version >/dev/null"
		memory := []target{{"MiB", mebibytesAbove, 64}}
		all = append(all,
			contest{"memory above version", "exec " + check, version, memory},
			contest{"memory of a listing in JSON", "exec " + hermesbox + " context ls --output json . >/dev/null", version, memory},
			contest{"memory of a tar", "tar -cf - . | " + hermesbox + " context check - >/dev/null", version, memory},
		)
	}
	return all
}

// run plays one tree's contests.
func run(ctx context.Context, out io.Writer, s shape, o options) (bool, error) {
	dir, err := prepare(ctx, s, o)
	if err != nil {
		return false, err
	}
	return playAll(ctx, out, s, dir, contests(s, o.hermesbox, o.self, filepath.Join(o.dir, s.name+".synced")), o.runs)
}

// playAll plays contests in a directory and prints a line for each target. It says whether all were met.
func playAll(ctx context.Context, out io.Writer, s shape, dir string, all []contest, runs int) (bool, error) {
	met := true
	for _, c := range all {
		ours, rival, err := play(ctx, dir, c, runs)
		if err != nil {
			return false, err
		}
		for _, t := range c.targets {
			ok, err := printTarget(out, s, c, t, ours, rival)
			if err != nil {
				return false, err
			}
			met = met && ok
		}
	}
	return met, nil
}

// play alternates the two, so that what else the machine does hits both, after one run of each to warm the cache.
func play(ctx context.Context, dir string, c contest, runs int) (ours, rival sample, err error) {
	var all [2][]sample
	for i := range runs + 1 {
		for j, line := range []string{c.ours, c.rival} {
			s, err := measure(ctx, dir, line)
			if err != nil {
				return ours, rival, err
			}
			if i > 0 {
				all[j] = append(all[j], s)
			}
		}
	}
	return medians(all[0]), medians(all[1]), nil
}

func printTarget(out io.Writer, s shape, c contest, t target, ours, rival sample) (bool, error) {
	value := t.ratio(ours, rival)
	verdict, bound := "ok", fmt.Sprintf("<= %.2f", t.most)
	switch {
	case t.most == 0:
		verdict, bound = "", ""
	case value > t.most:
		verdict = "MISSED"
	}
	_, err := fmt.Fprintf(out, "%-5s %-42s %-5s %8.2f  %-9s %-7s ours %6.0f ms wall %6.0f ms cpu %4d MiB, rival %6.0f ms wall %6.0f ms cpu\n",
		s.name, c.name, t.what, value, bound, verdict, ms(ours.wall), ms(ours.cpu), ours.peak>>20, ms(rival.wall), ms(rival.cpu))
	return verdict != "MISSED", err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
