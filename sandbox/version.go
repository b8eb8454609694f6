package sandbox

import (
	"strconv"
	"strings"
)

// AtLeast compares versions such as 0.7.0. What cannot be read counts as 0.
func AtLeast(have, want string) bool {
	a, b := strings.Split(strings.TrimPrefix(have, "v"), "."), strings.Split(want, ".")
	for i := range b {
		var x int
		if i < len(a) {
			x, _ = strconv.Atoi(a[i])
		}
		if y, _ := strconv.Atoi(b[i]); x != y {
			return x > y
		}
	}
	return true
}
