package serde

import "strconv"

func (p *parser) array(s Shape, path string, depth int) (any, error) {
	if s.kind != seqKind && s.kind != anyKind {
		return nil, p.wrong(s, path, "sequence")
	}
	element := Any()
	if s.kind == seqKind {
		element = *s.of
	}
	p.pos++
	list := []any{}
	for {
		p.space()
		if p.peek() == ']' {
			p.pos++
			return list, nil
		}
		if len(list) > 0 {
			if err := p.comma(path, "a list", ']', "`,` or `]`"); err != nil {
				return nil, err
			}
		} else if p.pos >= len(p.data) {
			return nil, p.syntax(path, "EOF while parsing a list", p.pos)
		}
		v, err := p.value(element, path+"["+strconv.Itoa(len(list))+"]", depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func (p *parser) object(s Shape, path string, depth int) (any, error) {
	if s.kind != structKind && s.kind != mapKind && s.kind != anyKind {
		return nil, p.wrong(s, path, "map")
	}
	p.pos++
	found := map[string]any{}
	for first := true; ; first = false {
		p.space()
		if p.peek() == '}' {
			p.pos++
			return found, p.missing(s, path, found)
		}
		if !first {
			if err := p.comma(path, "an object", '}', "`,` or `}`"); err != nil {
				return nil, err
			}
		}
		if err := p.member(s, path, depth, found); err != nil {
			return nil, err
		}
	}
}

func (p *parser) member(s Shape, path string, depth int, found map[string]any) error {
	key, err := p.key(path)
	if err != nil {
		return err
	}
	name, shape, keep := key, Any(), true
	switch s.kind {
	case mapKind:
		shape = *s.of
	case structKind:
		field := s.field(key)
		if field == nil && s.closed {
			return p.refuse(join(path, key), "unknown field `"+key+"`, "+s.known(), p.pos)
		}
		if keep = field != nil; keep {
			name, shape = field.Names[0], field.Shape
			if _, twice := found[name]; twice {
				return p.refuse(path, "duplicate field `"+name+"`", p.pos)
			}
		}
	default:
	}
	if err := p.colon(path); err != nil {
		return err
	}
	v, err := p.value(shape, join(path, key), depth+1)
	if err == nil && keep {
		found[name] = v
	}
	return err
}

func (p *parser) key(path string) (string, error) {
	p.space()
	switch {
	case p.pos >= len(p.data):
		return "", p.syntax(path, "EOF while parsing an object", p.pos)
	case p.data[p.pos] != '"':
		return "", p.syntax(path, "key must be a string", p.pos+1)
	}
	return p.text(path)
}

func (p *parser) colon(path string) error {
	p.space()
	switch {
	case p.pos >= len(p.data):
		return p.syntax(path, "EOF while parsing an object", p.pos)
	case p.data[p.pos] != ':':
		return p.syntax(path, "expected `:`", p.pos+1)
	}
	p.pos++
	return nil
}

// comma reads the separator of two elements.
func (p *parser) comma(path, what string, closing byte, expected string) error {
	switch {
	case p.pos >= len(p.data):
		return p.syntax(path, "EOF while parsing "+what, p.pos)
	case p.data[p.pos] != ',':
		return p.syntax(path, "expected "+expected, p.pos+1)
	}
	p.pos++
	p.space()
	if p.peek() == closing {
		return p.syntax(path, "trailing comma", p.pos+1)
	}
	return nil
}

func (p *parser) missing(s Shape, path string, found map[string]any) error {
	if s.kind != structKind {
		return nil
	}
	for _, field := range s.fields {
		if _, ok := found[field.Names[0]]; field.Required && !ok {
			return p.refuse(path, "missing field `"+field.Names[0]+"`", p.pos)
		}
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
