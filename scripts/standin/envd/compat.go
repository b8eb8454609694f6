package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"
)

// The real service is built with an older Connect library. Where the present one answers otherwise, the
// following makes the older answers.

const timeoutHeader = "Connect-Timeout-Ms"

// oldTimeouts makes a negative timeout one that has run out, instead of one that cannot be read.
func oldTimeouts(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get(timeoutHeader)
		if ms, err := strconv.ParseInt(given, 10, 64); err == nil && ms < 0 && len(given) <= 10 {
			r.Header.Set(timeoutHeader, "0")
		}
		h.ServeHTTP(w, r)
	})
}

// oldErrors makes a message that is cut short the caller's fault, as it was.
type oldErrors struct{}

func (oldErrors) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

func (oldErrors) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (oldErrors) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return oldError(next(ctx, conn))
	}
}

func oldError(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Message(), "protocol error: promised ") {
		return err
	}
	text, cut := strings.CutSuffix(e.Message(), ": unexpected EOF")
	if !cut {
		return err
	}
	return connect.NewError(connect.CodeInvalidArgument, errors.New(text))
}
