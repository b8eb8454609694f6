package web

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

type metrics struct {
	TS          int64   `json:"ts"`
	CPUCount    int     `json:"cpu_count"`
	CPUUsedPct  float64 `json:"cpu_used_pct"`
	MemTotalMiB uint64  `json:"mem_total_mib"`
	MemUsedMiB  uint64  `json:"mem_used_mib"`
	MemTotal    uint64  `json:"mem_total"`
	MemUsed     uint64  `json:"mem_used"`
	MemCache    uint64  `json:"mem_cache"`
	DiskUsed    uint64  `json:"disk_used"`
	DiskTotal   uint64  `json:"disk_total"`
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	m, err := s.measure()
	if err != nil {
		jsonError(w, http.StatusInternalServerError, fmt.Errorf("error getting metrics: %w", err))
		return
	}
	answer(w, m)
}

func (s *Server) measure() (metrics, error) {
	m := metrics{TS: time.Now().Unix(), CPUCount: runtime.NumCPU()}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, fmt.Errorf("reading CPU time: %w", err)
	}
	m.CPUUsedPct = s.used(parseTicks(stat))
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("reading memory: %w", err)
	}
	mem := parseMemory(info)
	m.MemTotal, m.MemCache = mem["MemTotal"], mem["Cached"]+mem["SReclaimable"]
	m.MemUsed = m.MemTotal - min(m.MemTotal, mem["MemFree"]+mem["Buffers"]+m.MemCache)
	m.MemTotalMiB, m.MemUsedMiB = m.MemTotal>>20, m.MemUsed>>20
	var disk unix.Statfs_t
	if err := unix.Statfs("/", &disk); err != nil {
		return m, fmt.Errorf("reading disk: %w", err)
	}
	m.DiskTotal = disk.Blocks * uint64(disk.Bsize)
	m.DiskUsed = m.DiskTotal - disk.Bfree*uint64(disk.Bsize)
	return m, nil
}

// ticks are CPU time since the start of the machine.
type ticks struct{ busy, all float64 }

// used is the share since the last call, in percent with two decimals; since the start for the first.
func (s *Server) used(now ticks) float64 {
	s.cpu.Lock()
	defer s.cpu.Unlock()
	last := s.ticks
	s.ticks = now
	if now.all <= last.all {
		return 0
	}
	return math.Round(10000*(now.busy-last.busy)/(now.all-last.all)) / 100
}

// parseTicks reads the first line of /proc/stat: user nice system idle iowait …
func parseTicks(stat []byte) ticks {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	var t ticks
	for i, field := range strings.Fields(string(line)) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			continue // the name of the line
		}
		t.all += n
		if i != 4 && i != 5 {
			t.busy += n
		}
	}
	return t
}

// parseMemory reads /proc/meminfo, in bytes.
func parseMemory(info []byte) map[string]uint64 {
	mem := map[string]uint64{}
	lines := bufio.NewScanner(bytes.NewReader(info))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err == nil {
			mem[name] = n << 10
		}
	}
	return mem
}
