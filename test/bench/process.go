package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of processor times in /proc on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// usage is what the server has used so far.
type usage struct {
	own        time.Duration // processor time of the server itself
	git        time.Duration // of its children, ended ones and those that run
	statements float64       // SQL
	processes  float64       // git processes started
}

func (u usage) minus(v usage) usage {
	return usage{u.own - v.own, u.git - v.git, u.statements - v.statements, u.processes - v.processes}
}

// usage reads the processor times from /proc and the counters from /-/metrics.
func (s *server) usage(ctx context.Context) (usage, error) {
	var u usage
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return u, err
	}
	pid := s.cmd.Process.Pid
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it ended meanwhile
		}
		id, parent, own, ended, ok := times(text)
		switch {
		case ok && id == pid:
			u.own += own
			u.git += ended
		case ok && parent == pid:
			u.git += own + ended
		}
	}
	if u.statements, err = s.counter(ctx, "tenon_sql_statements_total"); err != nil {
		return u, err
	}
	u.processes, err = s.counter(ctx, "tenon_git_processes_started_total")
	return u, err
}

// times reads a line of /proc/<pid>/stat: a process's own time and that of the children
// it has waited for.
func times(text []byte) (pid, parent int, own, ended time.Duration, ok bool) {
	head, rest, found := bytes.Cut(text, []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	if !found || end < 0 {
		return 0, 0, 0, 0, false
	}
	f := strings.Fields(string(rest[end+1:])) // f[0] is the third field
	if len(f) < 15 {
		return 0, 0, 0, 0, false
	}
	var n [6]int
	for i, field := range []string{string(head), f[1], f[11], f[12], f[13], f[14]} {
		v, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, 0, 0, false
		}
		n[i] = v
	}
	return n[0], n[1], time.Duration(n[2]+n[3]) * tick, time.Duration(n[4]+n[5]) * tick, true
}

// childrenTime is the processor time of the programs that this one has run and waited for.
func childrenTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// quiet waits until two seconds have passed without a new git process.
func (s *server) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	last := -1.0
	for {
		n, err := s.counter(ctx, "tenon_git_processes_started_total")
		if err != nil {
			return err
		}
		if n == last {
			return nil
		}
		last = n
		if err := wait(ctx, 2*time.Second); err != nil {
			return fmt.Errorf("the server keeps starting git: %w", err)
		}
	}
}

// counter reads one metric.
func (s *server) counter(ctx context.Context, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/-/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("/-/metrics has no %s", name)
}

// memory reads a line of /proc/<pid>/status in megabytes.
func (s *server) memory(field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("the process has no %s", field)
}

// measureMemory reads the idle size some time after the last request.
func measureMemory(ctx context.Context, o options, s *server, out *report) error {
	if err := wait(ctx, o.rest); err != nil {
		return err
	}
	idle, err := s.memory("VmRSS")
	if err != nil {
		return err
	}
	program, err := s.memory("RssFile")
	if err != nil {
		return err
	}
	peak, err := s.memory("VmHWM")
	if err != nil {
		return err
	}
	binary, err := os.Stat(o.binary)
	if err != nil {
		return err
	}
	out.memory(o.rest, idle, program, peak, float64(binary.Size())/(1<<20))
	return nil
}
