package serde

import "strings"

// A Shape is what a JSON value must look like.
type Shape struct {
	kind     kind
	of       *Shape
	alt      *Shape
	name     string
	fields   []Field
	nullable bool
	closed   bool
}

// A Field is one member of a struct. Names are its spellings, the first is the one in errors and results.
type Field struct {
	Names    []string
	Shape    Shape
	Required bool
}

type kind int

const (
	anyKind kind = iota
	stringKind
	i32Kind
	boolKind
	mapKind
	seqKind
	structKind
	eitherKind
)

// Any accepts every JSON value.
func Any() Shape { return Shape{kind: anyKind} }

// String accepts a string.
func String() Shape { return Shape{kind: stringKind} }

// I32 accepts an integer of 32 bits.
func I32() Shape { return Shape{kind: i32Kind} }

// Bool accepts true and false.
func Bool() Shape { return Shape{kind: boolKind} }

// Map accepts an object whose values have the shape of.
func Map(of Shape) Shape { return Shape{kind: mapKind, of: &of} }

// Seq accepts an array whose elements have the shape of.
func Seq(of Shape) Shape { return Shape{kind: seqKind, of: &of} }

// Struct accepts an object with these fields; name is the type's in errors.
func Struct(name string, fields ...Field) Shape {
	return Shape{kind: structKind, name: name, fields: fields}
}

// Closed accepts no fields besides those of the struct s, where others are skipped.
func Closed(s Shape) Shape {
	s.closed = true
	return s
}

// Null accepts null besides s.
func Null(s Shape) Shape {
	s.nullable = true
	return s
}

// Either accepts a boolean as first says, and anything else as second says.
func Either(first, second Shape) Shape { return Shape{kind: eitherKind, of: &first, alt: &second} }

// Required is a field that must be there.
func Required(shape Shape, names ...string) Field {
	return Field{Names: names, Shape: shape, Required: true}
}

// Optional is a field that may be absent or null.
func Optional(shape Shape, names ...string) Field {
	return Field{Names: names, Shape: Null(shape)}
}

func (s Shape) field(key string) *Field {
	for i := range s.fields {
		for _, name := range s.fields[i].Names {
			if name == key {
				return &s.fields[i]
			}
		}
	}
	return nil
}

// known words which fields a closed struct has, by their first spellings.
func (s Shape) known() string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = "`" + f.Names[0] + "`"
	}
	switch len(names) {
	case 0:
		return "there are no fields"
	case 1:
		return "expected " + names[0]
	case 2:
		return "expected " + names[0] + " or " + names[1]
	}
	return "expected one of " + strings.Join(names, ", ")
}

func (s Shape) expects() string {
	switch s.kind {
	case stringKind:
		return "a string"
	case i32Kind:
		return "i32"
	case boolKind:
		return "a boolean"
	case mapKind:
		return "a map"
	case seqKind:
		return "a sequence"
	case structKind:
		return "struct " + s.name
	case eitherKind:
		return s.alt.expects()
	case anyKind:
	}
	return "any value"
}
