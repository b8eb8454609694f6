package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrEnvFile means that an env file cannot be read; the text names the line,
// never a value.
var ErrEnvFile = errors.New("unusable env file")

// ParseEnvFile reads an env file: lines NAME=VALUE, with empty lines and lines
// that begin with # passed over. The rules are those of docker run --env-file,
// and three more that people expect: a byte order mark and a CR before the line
// end are no part of the text, a word export before the name is skipped, and
// one pair of quotes around the whole value goes. Nothing is expanded. A name
// alone takes its value from the environment, as Docker's does; one that is not
// set there is left out. Of a name that comes twice the last counts, and it is
// returned in twice.
func ParseEnvFile(text []byte, getenv func(string) string) (env map[string]string, twice []string, err error) {
	if !utf8.Valid(text) {
		return nil, nil, fmt.Errorf("%w: it is not UTF-8", ErrEnvFile)
	}
	env = map[string]string{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\uFEFF")) {
		number++
		name, value, ok, err := parseEnvLine(strings.TrimRight(line, "\r\n"), getenv)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: line %d: %w", ErrEnvFile, number, err)
		}
		if !ok {
			continue
		}
		if _, again := env[name]; again {
			twice = append(twice, name)
		}
		env[name] = value
	}
	return env, twice, nil
}

func parseEnvLine(line string, getenv func(string) string) (name, value string, ok bool, err error) {
	line = strings.TrimLeft(line, " \t")
	if line == "" || line[0] == '#' {
		return "", "", false, nil
	}
	if rest, found := strings.CutPrefix(line, "export"); found && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		line = strings.TrimLeft(rest, " \t")
	}
	name, value, assigned := strings.Cut(line, "=")
	if !envName.MatchString(name) {
		return "", "", false, errors.New("no NAME=VALUE: a name has letters, digits and _, and no space follows it")
	}
	if !assigned {
		value = getenv(name)
		return name, value, value != "", nil
	}
	value, err = unquote(value)
	return name, value, err == nil, err
}

// unquote takes one pair of quotes off. A value that only begins with a quote
// is most likely one of several lines, which no sandbox can have.
func unquote(value string) (string, error) {
	value = strings.TrimSpace(value)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return value, nil
	}
	if len(value) < 2 || value[len(value)-1] != value[0] {
		return "", errors.New("the value begins with a quote that does not end it")
	}
	return value[1 : len(value)-1], nil
}
