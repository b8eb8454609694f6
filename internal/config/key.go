package config

import (
	"reflect"
	"strings"
)

// isDuration tells a Duration from the other integers.
func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[Duration]() }

// keyOf returns the key of a struct field.
func keyOf(f reflect.StructField) string { return f.Tag.Get("json") }

// join appends name to a dotted key.
func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// field returns the field of struct v with that key.
func field(v reflect.Value, name string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if keyOf(v.Type().Field(i)) == name {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// lookup returns the value that a dotted key names inside v.
func lookup(v reflect.Value, key string) (reflect.Value, bool) {
	for name := range strings.SplitSeq(key, ".") {
		if v.Kind() != reflect.Struct {
			return reflect.Value{}, false
		}
		var ok bool
		if v, ok = field(v, name); !ok {
			return reflect.Value{}, false
		}
	}
	return v, v.Kind() != reflect.Struct
}

// leaf is one key that holds a value.
type leaf struct {
	key   string
	value reflect.Value
}

// leaves lists the keys below v in the order of the struct.
func leaves(v reflect.Value, key string) []leaf {
	if v.Kind() != reflect.Struct {
		return []leaf{{key, v}}
	}
	var all []leaf
	for i := range v.NumField() {
		all = append(all, leaves(v.Field(i), join(key, keyOf(v.Type().Field(i))))...)
	}
	return all
}

// siblings lists the keys of struct type t.
func siblings(t reflect.Type) []string {
	keys := make([]string, t.NumField())
	for i := range keys {
		keys[i] = keyOf(t.Field(i))
	}
	return keys
}

// nearest returns the candidate with the smallest edit distance to name.
func nearest(name string, candidates []string) string {
	best, least := "", -1
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), c); least < 0 || d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of single-byte edits between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
