package cubeapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// route is one method of one pattern; {name} in a pattern is a variable.
type route struct {
	method  string
	pattern string
	handle  func(request) reply
	strict  map[string]bool // variables that must be plain ids
	vars    map[string]string
}

// request is one request with the variables of its path.
type request struct {
	*http.Request
	vars map[string]string
}

func (r request) id() string { return r.vars["id"] }

func get(pattern string, handle func(request) reply, strict ...string) route {
	return newRoute(http.MethodGet, pattern, handle, strict)
}

func post(pattern string, handle func(request) reply, strict ...string) route {
	return newRoute(http.MethodPost, pattern, handle, strict)
}

func put(pattern string, handle func(request) reply) route {
	return newRoute(http.MethodPut, pattern, handle, nil)
}

func remove(pattern string, handle func(request) reply) route {
	return newRoute(http.MethodDelete, pattern, handle, nil)
}

func newRoute(method, pattern string, handle func(request) reply, strict []string) route {
	r := route{method: method, pattern: pattern, handle: handle, strict: map[string]bool{}}
	for _, name := range strict {
		r.strict[name] = true
	}
	return r
}

// match finds the route, and the methods that the path has: none, for an unknown path.
func (s *Server) match(method, path string) (*route, string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var found *route
	var allowed []string
	pattern := ""
	for _, r := range s.routes {
		vars, fits := r.fit(path)
		if !fits || pattern != "" && pattern != r.pattern {
			continue
		}
		pattern = r.pattern
		allowed = append(allowed, r.method)
		if r.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
		if r.method == method {
			r.vars = vars
			found = &r
		}
	}
	return found, strings.Join(allowed, ",")
}

// fit compares an escaped path with the pattern, segment by segment.
func (r route) fit(path string) (map[string]string, bool) {
	want, got := strings.Split(r.pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	vars := map[string]string{}
	for i, segment := range want {
		name, isVar := strings.CutPrefix(segment, "{")
		if !isVar {
			if segment != got[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(got[i])
		if err != nil || value == "" {
			return nil, false
		}
		vars[strings.TrimSuffix(name, "}")] = value
	}
	return vars, true
}

// plainID reports whether an id is of the characters that CubeAPI takes.
func plainID(id string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// authenticate demands the key, if one is set.
func (s *Server) authenticate(r *http.Request) (reply, bool) {
	if s.opts.Key == "" {
		return reply{}, true
	}
	given := strings.TrimSpace(r.Header.Get("X-API-Key"))
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && strings.TrimSpace(bearer) != "" {
		given = strings.TrimSpace(bearer)
	}
	switch {
	case given == "":
		return failure(http.StatusUnauthorized, "Missing authentication: provide 'Authorization: Bearer <token>' or 'X-API-Key: <key>'"), false
	case given != s.opts.Key:
		return failure(http.StatusUnauthorized, "Authentication rejected by callback"), false
	}
	return reply{}, true
}

// one returns the only value of a query key; a repeated key is refused as CubeAPI does.
func (r request) one(query url.Values, names ...string) *reply {
	for key, values := range query {
		if len(values) > 1 && slices.Contains(names, key) {
			refusal := text(http.StatusBadRequest, "Failed to deserialize query string: duplicate field `"+key+"`")
			return &refusal
		}
	}
	return nil
}
