package sshdial

import (
	"slices"
	"strconv"
	"strings"
)

// directive is what a keyword of ssh_config means here.
type directive struct {
	// effect says what is done with it.
	effect effect
	// same says what is wrong with a value of a changing directive, which is
	// nothing where the value changes nothing.
	same func(string) string
	// as is the name that an alias stands for.
	as string
	// many: later values add to earlier ones. list: several arguments. rest: all
	// of the line is one argument.
	many, list, rest bool
	// check says what is wrong with an argument; nil takes all.
	check func(string) string
}

type effect int

const (
	honoured effect = iota
	// harmless ones change nothing of a connection as it is made here.
	harmless
	// changing ones would, and are an error where they apply.
	changing
)

func (d directive) named(name string) string {
	if d.as != "" {
		return d.as
	}
	return name
}

// fault says what is wrong with the arguments, or nothing.
func (d directive) fault(args []string) string {
	if d.effect != honoured {
		return "" // what is not followed is OpenSSH's to judge
	}
	if len(args) > 1 && !d.list {
		return "extra arguments at end of line"
	}
	if d.check == nil {
		return ""
	}
	for _, a := range args {
		if reason := d.check(a); reason != "" {
			return reason
		}
	}
	return ""
}

// changes tells whether the arguments would change the connection.
func (d directive) changes(args []string) bool {
	return d.effect == changing && d.same(args[0]) != ""
}

// hasPublicKey takes lists of methods with the one that is spoken here.
func hasPublicKey(list string) string {
	return oneOf(strings.Split(strings.ToLower(list), ",")...)("publickey")
}

func isFlag(s string) string {
	return oneOf("yes", "no", "true", "false")(s)
}

func oneOf(values ...string) func(string) string {
	return func(s string) string {
		if slices.Contains(values, strings.ToLower(s)) {
			return ""
		}
		return "unsupported option " + strconv.Quote(s)
	}
}

func isPort(s string) string {
	_, reason := parsePort(s)
	return reason
}

func isCount(s string) string {
	if _, err := strconv.ParseUint(s, 10, 31); err != nil {
		return "bad number " + strconv.Quote(s)
	}
	return ""
}

func isTime(s string) string {
	if _, ok := parseSeconds(s); !ok {
		return "invalid time value " + strconv.Quote(s)
	}
	return ""
}

func isText(s string) string {
	if s == "" {
		return "its argument is empty"
	}
	return ""
}
