package serde

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const maxDepth = 127

// Decode reads the first JSON value of data. The error is an *Error.
func Decode(data []byte, shape Shape) (any, error) {
	p := &parser{data: data}
	return p.value(shape, "", 0)
}

type parser struct {
	data []byte
	pos  int
}

func (p *parser) value(s Shape, path string, depth int) (any, error) {
	p.space()
	if p.pos >= len(p.data) {
		return nil, p.syntax(path, "EOF while parsing a value", p.pos)
	}
	if depth > maxDepth {
		return nil, p.syntax(path, "recursion limit exceeded", p.pos)
	}
	c := p.data[p.pos]
	if s.kind == eitherKind {
		s = s.choose(c)
	}
	switch {
	case c == '"':
		return p.stringValue(s, path)
	case c == '-' || c >= '0' && c <= '9':
		return p.number(s, path)
	case c == '{':
		return p.object(s, path, depth)
	case c == '[':
		return p.array(s, path, depth)
	case c == 't' || c == 'f' || c == 'n':
		return p.literal(s, path, c)
	}
	return nil, p.syntax(path, "expected value", min(len(p.data), p.pos+1))
}

func (s Shape) choose(c byte) Shape {
	nullable := s.nullable
	if c == 't' || c == 'f' {
		s = *s.of
	} else {
		s = *s.alt
	}
	s.nullable = s.nullable || nullable
	return s
}

func (p *parser) literal(s Shape, path string, c byte) (any, error) {
	word := map[byte]string{'t': "true", 'f': "false", 'n': "null"}[c]
	for i := range word {
		if p.pos >= len(p.data) {
			return nil, p.syntax(path, "EOF while parsing a value", p.pos)
		}
		p.pos++
		if p.data[p.pos-1] != word[i] {
			return nil, p.syntax(path, "expected ident", p.pos)
		}
	}
	switch {
	case c == 'n' && (s.nullable || s.kind == anyKind):
		return nil, nil
	case c == 'n':
		return nil, p.wrong(s, path, "null")
	case s.kind != boolKind && s.kind != anyKind:
		return nil, p.wrong(s, path, "boolean `"+word+"`")
	}
	return c == 't', nil
}

func (p *parser) stringValue(s Shape, path string) (any, error) {
	text, err := p.text(path)
	if err != nil {
		return nil, err
	}
	if s.kind != stringKind && s.kind != anyKind {
		return nil, p.wrong(s, path, "string "+strconv.Quote(text))
	}
	return text, nil
}

func (p *parser) number(s Shape, path string) (any, error) {
	text, err := p.digits(path)
	if err != nil {
		return nil, err
	}
	if s.kind == anyKind {
		return strconv.ParseFloat(text, 64)
	}
	if strings.ContainsAny(text, ".eE") {
		f, _ := strconv.ParseFloat(text, 64) // digits checked the grammar
		return nil, p.wrong(s, path, "floating point `"+rustFloat(f)+"`")
	}
	if s.kind != i32Kind {
		return nil, p.wrong(s, path, "integer `"+text+"`")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
		return nil, p.refuse(path, fmt.Sprintf("invalid value: integer `%s`, expected i32", text), p.pos)
	}
	return int32(n), nil
}

// rustFloat words a float as Rust does: never without a decimal point.
func rustFloat(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// digits reads a number by JSON's grammar.
func (p *parser) digits(path string) (string, error) {
	start := p.pos
	if p.data[p.pos] == '-' {
		p.pos++
	}
	leading := p.pos
	if !p.run() {
		return "", p.badNumber(path)
	}
	if p.data[leading] == '0' && p.pos > leading+1 {
		p.pos = leading + 1
		return "", p.syntax(path, "invalid number", p.pos+1)
	}
	if p.peek() == '.' {
		p.pos++
		if !p.run() {
			return "", p.badNumber(path)
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.run() {
			return "", p.badNumber(path)
		}
	}
	return string(p.data[start:p.pos]), nil
}

func (p *parser) badNumber(path string) error {
	if p.pos >= len(p.data) {
		return p.syntax(path, "EOF while parsing a value", p.pos)
	}
	return p.syntax(path, "invalid number", p.pos+1)
}

// run skips digits and reports whether there was one.
func (p *parser) run() bool {
	start := p.pos
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) peek() byte {
	if p.pos >= len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

func (p *parser) space() {
	for p.pos < len(p.data) && bytes.IndexByte([]byte(" \t\r\n"), p.data[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) wrong(s Shape, path, found string) error {
	return p.refuse(path, fmt.Sprintf("invalid type: %s, expected %s", found, s.expects()), p.pos)
}

func (p *parser) refuse(path, text string, at int) error {
	return p.at(path, text, at)
}

func (p *parser) syntax(path, text string, at int) error {
	e := p.at(path, text, at)
	e.Syntax = true
	return e
}

func (p *parser) at(path, text string, at int) *Error {
	before := p.data[:min(at, len(p.data))]
	return &Error{
		Path: path, Text: text,
		Line: 1 + bytes.Count(before, []byte("\n")), Column: len(before) - 1 - bytes.LastIndexByte(before, '\n'),
	}
}
