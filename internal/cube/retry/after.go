package retry

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// After reads a Retry-After header, seconds or a date; 0 where there is none
// that can be read.
func After(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	// What is too large for the number makes it the largest.
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
