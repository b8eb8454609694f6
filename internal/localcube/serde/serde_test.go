package serde_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermesbox/hermesbox/internal/localcube/serde"
)

func shape() serde.Shape {
	return serde.Struct("Box",
		serde.Required(serde.String(), "name"),
		serde.Field{Names: []string{"size"}, Shape: serde.I32()},
		serde.Optional(serde.Bool(), "on", "is_on"),
		serde.Optional(serde.Map(serde.String()), "labels"),
		serde.Optional(serde.Seq(serde.Struct("Part", serde.Required(serde.String(), "id"))), "parts"),
		serde.Optional(serde.Either(serde.Bool(), serde.Struct("Auto", serde.Required(serde.Bool(), "enabled"))), "auto"),
		serde.Optional(serde.Any(), "rest"),
	)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       any
	}{
		{"plain", `{"name":"a","size":-5}`, map[string]any{"name": "a", "size": int32(-5)}},
		{"other spelling", `{"name":"a","is_on":true}`, map[string]any{"name": "a", "on": true}},
		{"null", `{"name":"a","on":null}`, map[string]any{"name": "a", "on": nil}},
		{"unknown field", `{"name":"a","x":{"y":[1,2.5,"z",null,true]}}`, map[string]any{"name": "a"}},
		{"map and list", ` {"name":"a","labels":{"k":"v"},"parts":[{"id":"1"}]} `, map[string]any{
			"name": "a", "labels": map[string]any{"k": "v"}, "parts": []any{map[string]any{"id": "1"}},
		}},
		{"either, bool", `{"name":"a","auto":false}`, map[string]any{"name": "a", "auto": false}},
		{"either, struct", `{"name":"a","auto":{"enabled":true}}`, map[string]any{"name": "a", "auto": map[string]any{"enabled": true}}},
		{"escapes", `{"name":"\u00e9\ud83d\ude00\n\/"}`, map[string]any{"name": "é😀\n/"}},
		{"bytes behind", `{"name":"a"} trailing`, map[string]any{"name": "a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := serde.Decode([]byte(test.text), shape())
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("Decode: %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text, want string
		syntax           bool
	}{
		{"nothing", ``, "EOF while parsing a value at line 1 column 0", true},
		{"no JSON", `hello`, "expected value at line 1 column 1", true},
		{"cut off", `{"name":`, "name: EOF while parsing a value at line 1 column 8", true},
		{"cut in a string", `{"name":"a`, "name: EOF while parsing a string at line 1 column 10", true},
		{"cut in an object", `{"name":"a"`, "EOF while parsing an object at line 1 column 11", true},
		{"trailing comma", `{"name":"a",}`, "trailing comma at line 1 column 13", true},
		{"no colon", `{"name" "a"}`, "expected `:` at line 1 column 9", true},
		{"key", `{1:2}`, "key must be a string at line 1 column 2", true},
		{"bad escape", `{"name":"\x"}`, "name: invalid escape at line 1 column 11", true},
		{"control character", "{\"name\":\"\n\"}", `name: control character (\u0000-\u001F) found while parsing a string at line 2 column 0`, true},
		{"leading zero", `{"name":"a","size":01}`, "size: invalid number at line 1 column 21", true},
		{"missing", `{}`, "missing field `name` at line 1 column 2", false},
		{"null name", `{"name":null}`, "name: invalid type: null, expected a string at line 1 column 12", false},
		{"number for a string", `{"name":5}`, "name: invalid type: integer `5`, expected a string at line 1 column 9", false},
		{"text for a number", `{"name":"a","size":"5"}`, `size: invalid type: string "5", expected i32 at line 1 column 22`, false},
		{"fraction", `{"name":"a","size":1.0}`, "size: invalid type: floating point `1.0`, expected i32 at line 1 column 22", false},
		{"too big", `{"name":"a","size":3000000000}`, "size: invalid value: integer `3000000000`, expected i32 at line 1 column 29", false},
		{"list for a map", `{"name":"a","labels":[]}`, "labels: invalid type: sequence, expected a map at line 1 column 21", false},
		{"deep", `{"name":"a","parts":[{"id":"1"},{}]}`, "parts[1]: missing field `id` at line 1 column 34", false},
		{"twice", `{"name":"a","name":"b"}`, "duplicate field `name` at line 1 column 18", false},
		{"second line", "{\n \"name\": true}", "name: invalid type: boolean `true`, expected a string at line 2 column 13", false},
		{"no object", `null`, "invalid type: null, expected struct Box at line 1 column 4", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := serde.Decode([]byte(test.text), shape())
			bad, ok := err.(*serde.Error) //nolint:errorlint // the contract is this very type
			if !ok || bad.Error() != test.want || bad.Syntax != test.syntax {
				t.Errorf("Decode: %v, want %q (syntax %v)", err, test.want, test.syntax)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	field := func(name string) serde.Field { return serde.Optional(serde.Bool(), name) }
	for _, test := range []struct {
		name string
		of   serde.Shape
		want string
	}{
		{"no field", serde.Struct("None"), "x: unknown field `x`, there are no fields at line 1 column 4"},
		{"one", serde.Struct("One", field("a")), "x: unknown field `x`, expected `a` at line 1 column 4"},
		{"two", serde.Struct("Two", field("a"), field("b")), "x: unknown field `x`, expected `a` or `b` at line 1 column 4"},
		{"more", serde.Struct("More", field("a"), field("b"), field("c")), "x: unknown field `x`, expected one of `a`, `b`, `c` at line 1 column 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := serde.Decode([]byte(`{"x":1}`), serde.Closed(test.of)); err == nil || err.Error() != test.want {
				t.Errorf("Decode: %v, want %q", err, test.want)
			}
			if _, err := serde.Decode([]byte(`{"x":1}`), test.of); err != nil {
				t.Errorf("Decode where it is not closed: %v", err)
			}
		})
	}
}

// FuzzDecode wants every text to be taken or refused as encoding/json takes it for JSON.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"name":"a","size":1}`, `[1,[2],{"a":null}]`, `"\ud800"`, `{"a":1e5,"b":-0.5}`, "{", `{"a":tru`, `01`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := serde.Decode(text, serde.Any())
		if json.Valid(text) && err == nil {
			if _, merr := json.Marshal(got); merr != nil {
				t.Errorf("%q became %v: %v", text, got, merr)
			}
		}
		if _, err := serde.Decode(text, shape()); err != nil {
			if err.Error() == "" {
				t.Errorf("%q is refused without a word", text)
			}
		}
	})
}
