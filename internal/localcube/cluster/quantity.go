package cluster

import (
	"math"
	"strconv"
	"strings"
)

// wholeGi is a size in GiB, Mi rounded up, where CubeMaster can tell it: whole
// numbers with Gi, G, Mi or no unit. Measured on CubeMaster.
func wholeGi(size string) (int64, bool) {
	digits, unit := size, ""
	for _, u := range []string{"Gi", "Mi", "G"} {
		if d, ok := strings.CutSuffix(size, u); ok {
			digits, unit = d, u
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 {
		return 0, false
	}
	if unit == "Mi" {
		n = (n + 1023) / 1024
	}
	return n, true
}

// millicores reads a CPU quantity; 0 is one that cannot be read.
func millicores(text string) int64 {
	if digits, ok := strings.CutSuffix(text, "m"); ok {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || math.IsInf(f, 0) || f > math.MaxInt32 {
		return 0
	}
	return int64(math.Round(f * 1000))
}

var units = []struct {
	suffix string
	bytes  float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1},
}

// byteSize reads a memory quantity; 0 is one that cannot be read.
func byteSize(text string) int64 {
	for _, unit := range units {
		digits, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil || f <= 0 || f*unit.bytes > math.MaxInt64/2 {
			return 0
		}
		return int64(f * unit.bytes)
	}
	return 0
}

// listMB is memory as lists tell it: decimal megabytes, rounded up.
func listMB(mem string) int64 { return (byteSize(mem) + 999_999) / 1_000_000 }

// detailMB is memory as the detail tells it: the number before Mi, 0 for other units.
func detailMB(mem string) int64 {
	digits, ok := strings.CutSuffix(mem, "Mi")
	if !ok {
		return 0
	}
	n, _ := strconv.ParseInt(digits, 10, 64) // 0 where it is no number
	return n
}
