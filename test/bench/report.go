package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// report prints Markdown tables.
type report struct{ to io.Writer }

func (r *report) line(format string, args ...any) { fmt.Fprintf(r.to, format+"\n", args...) }

func (r *report) machine(o options) {
	database := "SQLite"
	if o.database != "" {
		database = "PostgreSQL"
	}
	version, err := exec.CommandContext(context.Background(), "git", "version").Output()
	if err != nil {
		version = []byte("no git")
	}
	r.line("%s, %d cores, %s, %s, %s; client and server share them.\n", time.Now().Format(time.DateOnly), runtime.NumCPU(),
		runtime.Version(), strings.TrimSpace(string(version)), database)
}

func (r *report) start(first, later time.Duration) {
	r.line("| start | to the first answer | goal |\n|---|--:|---|")
	r.line("| empty folder | %.3f s | %s |", first.Seconds(), met(first <= 200*time.Millisecond, "0.2 s"))
	r.line("| again | %.3f s | %s |\n", later.Seconds(), met(later <= 100*time.Millisecond, "0.1 s"))
}

// met names a goal and marks it where it was missed.
func met(ok bool, goal string) string {
	if ok {
		return goal
	}
	return goal + " **MISSED**"
}

func (r *report) header() {
	r.line("| %-29s | 1 client | p50 / p95 / p99 ms | 8 clients | p50 / p95 / p99 ms | CPU/request server + git | SQL | git | errors | goal |", "operation")
	r.line("|%s|--:|--:|--:|--:|--:|--:|--:|--:|---|", strings.Repeat("-", 31))
}

func (r *report) row(op operation, m result) {
	r.line("| %-29s | %8s | %18s | %9s | %18s | %15s | %4.1f | %5.2f | %s | %s |", op.name,
		perSecond(m.one), percentiles(m.one), perSecond(m.eight), percentiles(m.eight),
		fmt.Sprintf("%d + %d us", m.cpu.Microseconds(), m.git.Microseconds()), m.sql, m.processes, failures(m), goals(op.goal, m))
}

func perSecond(f figures) string { return fmt.Sprintf("%.0f/s", f.rate) }

func percentiles(f figures) string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	return ms(f.p50) + " / " + ms(f.p95) + " / " + ms(f.p99)
}

func failures(m result) string {
	if n := m.one.errors + m.eight.errors; n > 0 {
		return fmt.Sprintf("%d (%s)", n, max(m.one.sample, m.eight.sample))
	}
	return "0"
}

func goals(g goal, m result) string {
	var out []string
	if g.rate > 0 {
		out = append(out, met(m.eight.rate >= g.rate, fmt.Sprintf("%.0f/s", g.rate)))
	}
	if g.p99 > 0 {
		out = append(out, met(m.one.p99 <= g.p99, fmt.Sprintf("p99 %d ms", g.p99.Milliseconds())))
	}
	if g.busy > 0 {
		out = append(out, met(m.eight.p99 <= g.busy, fmt.Sprintf("p99 of 8 %d ms", g.busy.Milliseconds())))
	}
	if g.statements > 0 {
		out = append(out, met(m.sql <= g.statements+0.5, fmt.Sprintf("%.0f SQL", g.statements)))
	}
	if g.noGit {
		out = append(out, met(m.processes < 0.02, "no git"))
	}
	return strings.Join(out, ", ")
}

func (r *report) transport(m comparison, c compared) {
	wall, cpu := float64(c.ours)/float64(c.bare), float64(c.oursCPU)/float64(max(c.bareCPU, 1))
	var out []string
	if m.wall > 0 {
		out = append(out, met(wall <= m.wall, fmt.Sprintf("%.2fx", m.wall)))
	}
	if m.cpu > 0 {
		out = append(out, met(cpu <= m.cpu, fmt.Sprintf("CPU %.2fx", m.cpu)))
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
	r.line("| %s | %s | %s | %.2fx | %s | %s | %s |", m.name, ms(c.ours), ms(c.bare), wall, ms(c.oursCPU), ms(c.bareCPU), strings.Join(out, ", "))
}

func (r *report) transportHeader(rounds int) {
	r.line("\n| git, median of %d, interleaved | Tenon | bare git | ratio | CPU of Tenon | CPU of bare git | goal |\n|---|--:|--:|--:|--:|--:|---|", rounds)
}

func (r *report) indexing(took time.Duration, size int64) {
	r.line("| the client's share: git index-pack alone, %.1f MB | | %.1f ms | | | | |", float64(size)/(1<<20), took.Seconds()*1000)
}

func (r *report) stormHeader() {
	r.line("\n| identical clones at once, nothing cached | CPU of one | CPU of all | ratio | wall | size of one | goal |\n|---|--:|--:|--:|--:|--:|---|")
}

func (r *report) storm(n int, one, all, wall time.Duration, size int64, most float64) {
	ratio := float64(all) / float64(max(one, 1))
	r.line("| %d | %.0f ms | %.0f ms | %.2fx | %.1f s | %.1f MB | %s |", n, one.Seconds()*1000, all.Seconds()*1000, ratio,
		wall.Seconds(), float64(size)/(1<<20), met(ratio <= most, fmt.Sprintf("%.0fx", most)))
}

func (r *report) memory(rest time.Duration, idle, program, peak, binary float64) {
	r.line("\n| size | MB | goal |\n|---|--:|---|")
	r.line("| memory %d s after the last request | %.1f | %s |", int(rest.Seconds()), idle, met(idle <= 45, "45 MB"))
	r.line("| of it pages of the program, which the kernel may drop | %.1f | |", program)
	r.line("| memory at most | %.1f | |", peak)
	r.line("| binary | %.1f | |", binary)
}
