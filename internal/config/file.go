package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFileSize is far above any real hermesbox.yaml.
const maxFileSize = 1 << 20

// readFile reads a configuration file of bounded size.
func readFile(path, display string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(display, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, unreadable(display, err)
	}
	if len(data) > maxFileSize {
		return nil, &Error{Origin: display, Problem: "more than 1 MiB", Hint: "name a " + FileName + " with --config"}
	}
	return data, nil
}

// unreadable makes an Error of what the system said about the file.
func unreadable(display string, err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return &Error{Origin: display, Problem: err.Error(), Hint: "check the path, or name another file with --config"}
}

// parseFile lays the YAML document in data over c. Origins are recorded as
// "name:line" under dotted keys; list entries are recorded as key[index].
func parseFile(data []byte, name string, c *Config, origin map[string]string) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return syntaxError(name, err)
	}
	if err := dec.Decode(&second); err == nil {
		return &Error{
			Origin:  fmt.Sprintf("%s:%d", name, max(second.Line, 1)),
			Problem: "a second YAML document begins here",
			Hint:    "keep one document: remove the line --- and merge what follows it",
		}
	} else if !errors.Is(err, io.EOF) {
		return syntaxError(name, err)
	}
	d := decoder{name: name, origin: origin, budget: maxNodes}
	for _, root := range doc.Content {
		if err := d.value(root, "", name, reflect.ValueOf(c).Elem()); err != nil {
			return err
		}
	}
	return nil
}

// syntaxError words what the YAML parser says as ours: "yaml: line 3: …".
func syntaxError(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(text, "line %d:", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
		name = fmt.Sprintf("%s:%d", name, line)
	}
	return &Error{Origin: name, Problem: "not YAML: " + text, Hint: "check the indentation and quotes around that line"}
}
