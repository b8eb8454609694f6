package config

import (
	"bytes"
	"encoding/json"
	"reflect"
)

//go:generate env HERMESBOX_UPDATE=1 go test -count=1 -run IsCurrent .

// Schema returns the JSON Schema of hermesbox.yaml, made from Config, its
// defaults and the descriptions of its keys. Editors check files with it; it
// knows types, words and patterns, while Load also checks what a pattern
// cannot say.
func Schema() ([]byte, error) {
	c := Default()
	root := schemaOf(reflect.ValueOf(c), "", keyDocs())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = FileName
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(root)
	return out.Bytes(), err
}

// schemaOf describes v, which holds the defaults.
func schemaOf(v reflect.Value, key string, docs map[string]keyDoc) map[string]any {
	doc := docs[key]
	s := map[string]any{}
	if doc.text != "" {
		s["description"] = doc.text
	}
	if doc.pattern != "" {
		s["pattern"] = doc.pattern
	}
	if doc.values != nil {
		s["enum"] = doc.values
	}
	if v.Kind() == reflect.Struct {
		properties := map[string]any{}
		for i := range v.NumField() {
			name := keyOf(v.Type().Field(i))
			properties[name] = schemaOf(v.Field(i), join(key, name), docs)
		}
		s["type"], s["properties"], s["additionalProperties"] = "object", properties, false
		return s
	}
	s["default"] = v.Interface()
	typeOf(s, v, key, docs)
	return s
}

// typeOf adds the type of a value that is no section.
func typeOf(s map[string]any, v reflect.Value, key string, docs map[string]keyDoc) {
	switch {
	case isDuration(v.Type()):
		s["type"], s["pattern"] = "string", `^([0-9]+(\.[0-9]+)?(h|m|s))+$`
	case v.Kind() == reflect.Map:
		s["type"] = "object"
		s["propertyNames"] = map[string]any{"pattern": envName.String()}
		s["additionalProperties"] = map[string]any{"type": []string{"string", "number", "boolean"}}
	case v.Type() == reflect.TypeFor[[]string]():
		s["type"], s["items"] = "array", map[string]any{"type": "string"}
	case v.Kind() == reflect.Slice:
		items := schemaOf(reflect.Zero(v.Type().Elem()), key, docs)
		delete(items, "description")
		items["required"] = []string{"name", "ssh"}
		s["type"], s["items"] = "array", items
	case v.Kind() == reflect.Bool:
		s["type"] = "boolean"
	case v.Kind() == reflect.Int:
		s["type"], s["minimum"] = "integer", 0
	default:
		s["type"] = "string"
	}
}
