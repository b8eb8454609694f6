package cubeapi

// The getters below read decoded bodies; what is absent or null is the zero value.

func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func flag(m map[string]any, key string) *bool {
	if b, ok := m[key].(bool); ok {
		return &b
	}
	return nil
}

func number(m map[string]any, key string) *int {
	if n, ok := m[key].(int32); ok {
		i := int(n)
		return &i
	}
	return nil
}

func texts(m map[string]any, key string) []string {
	list, _ := m[key].([]any)
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

func ints(m map[string]any, key string) []int {
	list, _ := m[key].([]any)
	var out []int
	for _, v := range list {
		n, _ := v.(int32)
		out = append(out, int(n))
	}
	return out
}

func object(m map[string]any, key string) map[string]any {
	o, _ := m[key].(map[string]any)
	return o
}

func stringMap(m map[string]any, key string) map[string]string {
	o := object(m, key)
	if o == nil {
		return nil
	}
	out := make(map[string]string, len(o))
	for k, v := range o {
		out[k], _ = v.(string)
	}
	return out
}
