package fsys

import (
	"context"

	"connectrpc.com/connect"

	"github.com/hermesbox/hermesbox/scripts/standin/envd/spec/filesystem"
)

// Legacy is an interceptor for clients whose User-Agent is exactly "connect-python": entries of their
// answers hold name, type and path only.
func Legacy() connect.Interceptor {
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			resp, err := next(ctx, req)
			if err != nil || req.Header().Get("User-Agent") != "connect-python" {
				return resp, err
			}
			resp.Header().Set("X-E2b-Legacy-Sdk", "true")
			shorten(resp.Any())
			return resp, nil
		}
	})
}

func shorten(msg any) {
	switch m := msg.(type) {
	case *filesystem.StatResponse:
		m.Entry = short(m.Entry)
	case *filesystem.MakeDirResponse:
		m.Entry = short(m.Entry)
	case *filesystem.MoveResponse:
		m.Entry = short(m.Entry)
	case *filesystem.ListDirResponse:
		for i, e := range m.Entries {
			m.Entries[i] = short(e)
		}
	}
}

func short(e *filesystem.EntryInfo) *filesystem.EntryInfo {
	return &filesystem.EntryInfo{Name: e.GetName(), Type: e.GetType(), Path: e.GetPath()}
}
