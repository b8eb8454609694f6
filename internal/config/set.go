package config

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hermesbox/hermesbox/internal/redact"
)

// Override is one flag's say over one key.
type Override struct {
	// Key is the dotted key, such as "image.base".
	Key string
	// Value is the value of a plain key.
	Value string
	// Values are all entries of a list, replacing it whole, or NAME=VALUE
	// entries that are laid over a map.
	Values []string
	// Flag is what the user typed, such as "--base"; it becomes the origin.
	Flag string
}

// set lays an override over c and records its origin.
func set(c *Config, origin map[string]string, o Override) error {
	v, ok := lookup(reflect.ValueOf(c).Elem(), o.Key)
	if !ok {
		return fmt.Errorf("setting %s from %s: no such key", o.Key, o.Flag)
	}
	if problem := assign(v, o); problem != "" {
		return &Error{Origin: o.Flag, Key: o.Key, Problem: problem}
	}
	origin[o.Key] = o.Flag
	forEntries(v, func(entry string) {
		if v.Kind() == reflect.Slice || named(o.Values, entry) {
			origin[entryKey(v, o.Key, entry)] = o.Flag
		}
	})
	return nil
}

// forEntries calls f with each index of a list or name of a map.
func forEntries(v reflect.Value, f func(entry string)) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			f(strconv.Itoa(i))
		}
	case reflect.Map:
		for _, name := range v.MapKeys() {
			f(name.String())
		}
	}
}

// entryKey is the dotted key of an entry of v, whose own key is key.
func entryKey(v reflect.Value, key, entry string) string {
	if v.Kind() == reflect.Slice {
		return fmt.Sprintf("%s[%s]", key, entry)
	}
	return join(key, entry)
}

// named tells whether NAME=VALUE entries give that name.
func named(values []string, name string) bool {
	for _, value := range values {
		if got, _, _ := strings.Cut(value, "="); got == name {
			return true
		}
	}
	return false
}

// assign sets v from text and says what is wrong with the text.
func assign(v reflect.Value, o Override) (problem string) {
	switch {
	case v.Type() == reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf(append([]string{}, o.Values...)))
		return ""
	case v.Kind() == reflect.Map:
		return assignNames(v, o.Values)
	case v.Kind() == reflect.Slice:
		return "this list can only be given in " + FileName
	}
	return assignScalar(v, o.Value, o.Key)
}

// assignNames lays NAME=VALUE entries over a map.
func assignNames(v reflect.Value, entries []string) (problem string) {
	merged := maps.Clone(v.Interface().(map[string]string))
	if merged == nil {
		merged = map[string]string{}
	}
	for _, e := range entries {
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			return fmt.Sprintf("wanted NAME=VALUE, got the name %q alone", name)
		}
		merged[name] = value
	}
	v.Set(reflect.ValueOf(merged))
	return ""
}

// assignScalar sets a string, number, boolean or duration.
func assignScalar(v reflect.Value, text, key string) (problem string) {
	shown := strconv.Quote(short(redact.Named(key, text)))
	switch {
	case isDuration(v.Type()):
		d, err := time.ParseDuration(text)
		if err != nil {
			return "wanted a duration such as 15m or 90s, got " + shown
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return "wanted true or false, got " + shown
		}
		v.SetBool(text == "true")
	case v.Kind() == reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil || !wholeNumber.MatchString(text) {
			return "wanted a whole number, got " + shown
		}
		v.SetInt(int64(n))
	default:
		v.SetString(text)
	}
	return ""
}
