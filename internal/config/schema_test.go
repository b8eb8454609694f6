package config

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

// update rewrites the files that are made from this package.
func update() bool { return os.Getenv("HERMESBOX_UPDATE") != "" }

func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	const path = "../../hermesbox.schema.json"
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if update() {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date: run go generate ./internal/config", path)
	}
}

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/configuration.md", "<!-- keys -->\n", "<!-- end of keys -->\n"
	want, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the keys", path)
	}
	if update() {
		got = want
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got != want {
		t.Errorf("%s is out of date: run go generate ./internal/config", path)
	}
}

// TestEveryKeyIsDescribed keeps descriptions and keys together.
func TestEveryKeyIsDescribed(t *testing.T) {
	t.Parallel()
	docs := keyDocs()
	var visit func(t reflect.Type, key string)
	visit = func(typ reflect.Type, key string) {
		if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct {
			typ = typ.Elem()
		}
		if key != "" && docs[key].text == "" {
			t.Errorf("%s is not described", key)
		}
		delete(docs, key)
		if typ.Kind() != reflect.Struct {
			return
		}
		for i := range typ.NumField() {
			visit(typ.Field(i).Type, join(key, keyOf(typ.Field(i))))
		}
	}
	visit(reflect.TypeFor[Config](), "")
	for key := range docs {
		t.Errorf("%s is described, but no key", key)
	}
}
