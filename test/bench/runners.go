package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// worker is a simulated runner with a connection of its own.
type worker struct {
	address string
	token   string
	conn    net.Conn
	in      *bufio.Reader
	last    string // what the server said when it had no job
}

// assigned is what a worker reads of a job.
type assigned struct {
	ID    int    `json:"id"`
	Token string `json:"token"`
}

func (p *plant) worker(i int) *worker {
	return &worker{address: strings.TrimPrefix(p.url, "http://"), token: p.tokens[i]}
}

func (w *worker) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// send sends a request of runners and returns the answer with its body.
func (w *worker) send(ctx context.Context, method, path, headers string, body []byte) (*http.Response, []byte, error) {
	if w.conn == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.address)
		if err != nil {
			return nil, nil, err
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	stop := context.AfterFunc(ctx, w.close)
	defer stop()
	raw := fmt.Appendf(nil, "%s /api/v4%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n%s\r\n", method, path, w.address, len(body), headers)
	if _, err := w.conn.Write(append(raw, body...)); err != nil {
		return nil, nil, err
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, text, err
}

// ask asks for a job, nil where there is none; a worker that knows so is kept waiting.
func (w *worker) ask(ctx context.Context) (*assigned, error) {
	body, err := json.Marshal(map[string]any{"token": w.token, "last_update": w.last, "system_id": "s_bench", "info": map[string]any{
		"name": "bench", "version": "16.0.2", "executor": "shell",
		"features": map[string]bool{"upload_multiple_artifacts": true, "artifacts_exclude": true, "multi_build_steps": true, "return_exit_code": true, "fallback_cache_keys": true},
	}})
	if err != nil {
		return nil, err
	}
	resp, text, err := w.send(ctx, http.MethodPost, "/jobs/request", "Content-Type: application/json\r\n", body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNoContent:
		w.last = resp.Header.Get("X-Gitlab-Last-Update")
		return nil, nil
	case resp.StatusCode != http.StatusCreated:
		return nil, fmt.Errorf("request of a job: %s: %s", resp.Status, text)
	}
	var out assigned
	return &out, json.Unmarshal(text, &out)
}

func (w *worker) finish(ctx context.Context, j *assigned) error {
	body := fmt.Appendf(nil, `{"token":%q,"state":"success"}`, j.Token)
	resp, text, err := w.send(ctx, http.MethodPut, fmt.Sprintf("/jobs/%d", j.ID), "Content-Type: application/json\r\n", body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("end of job %d: %s: %s", j.ID, resp.Status, text)
	}
	return err
}

// measureThroughput lets runners take jobs and end them at once.
func (p *plant) measureThroughput(ctx context.Context, l *loader, out *report) error {
	for range max(1, p.jobs/wide) {
		if _, err := p.run(ctx, "flat"); err != nil {
			return err
		}
	}
	want := int64(max(1, p.jobs/wide) * min(p.jobs, wide))
	before, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	var done, twice atomic.Int64
	var seen sync.Map
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	group, working := errgroup.WithContext(ctx)
	began := time.Now()
	for i := range p.runners {
		group.Go(func() error {
			w := p.worker(i)
			defer w.close()
			for done.Load() < want {
				j, err := w.ask(working)
				if done.Load() >= want {
					return nil
				}
				if err != nil {
					return err
				}
				if j == nil {
					w.last = "" // it does not wait: the measurement is of work
					continue
				}
				if _, again := seen.LoadOrStore(j.ID, true); again {
					twice.Add(1)
				}
				if err := w.finish(working, j); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	used, n := after.minus(before), done.Load()
	rate := float64(n) / took.Seconds()
	out.line("\n%d jobs by %d runners: %.0f a second (%s), %d of them twice (%s); each costs %d us of processor time and %.1f statements.", n, p.runners, rate,
		met(rate >= 200, "200"), twice.Load(), met(twice.Load() == 0, "none"), used.own.Microseconds()/n, used.statements/float64(n))
	return nil
}

// measureHandover looks how long after the end of a job the next one, which waited for it, reaches a runner that waits.
func (p *plant) measureHandover(ctx context.Context, _ *loader, out *report) error {
	if _, err := p.run(ctx, "chain"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	a, b := p.worker(0), p.worker(1)
	defer a.close()
	defer b.close()
	j, err := a.ask(ctx)
	if err != nil || j == nil {
		return fmt.Errorf("the first job: %v, %w", j, err)
	}
	var took []time.Duration
	for range min(p.chain, wide) - 1 {
		if b.last == "" {
			if _, err := b.ask(ctx); err != nil { // there is none: what it gets to know makes it wait
				return err
			}
		}
		type answer struct {
			job *assigned
			at  time.Time
			err error
		}
		got := make(chan answer, 1)
		go func() {
			for {
				next, err := b.ask(ctx)
				if next != nil || err != nil {
					got <- answer{next, time.Now(), err}
					return
				}
			}
		}()
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		began := time.Now()
		if err := a.finish(ctx, j); err != nil {
			return err
		}
		next := <-got
		if next.err != nil {
			return next.err
		}
		took = append(took, next.at.Sub(began))
		j, a, b = next.job, b, a
		b.last = ""
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	out.line("\nFrom the end of a job to the next one at a runner that waits: p50 %.1f ms, p99 %.1f ms (%s), of %d.", took[len(took)/2].Seconds()*1000, p99.Seconds()*1000,
		met(p99 <= 50*time.Millisecond, "50 ms"), len(took))
	return a.finish(ctx, j)
}

// measureLogs appends to the logs of jobs that run at the same time.
func (p *plant) measureLogs(ctx context.Context, l *loader, out *report) error {
	if _, err := p.run(ctx, "flat"); err != nil {
		return err
	}
	piece := bytes.Repeat([]byte("a line of a log of sixty-four bytes, as programs write so many.\n"), 16)
	before, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	var sent atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	group, working := errgroup.WithContext(ctx)
	end := time.Now().Add(l.length)
	for i := range logs {
		group.Go(func() error {
			w := p.worker(i)
			defer w.close()
			j, err := w.ask(working)
			if err != nil || j == nil {
				return fmt.Errorf("a job: %v, %w", j, err)
			}
			var took []time.Duration
			for size := 0; time.Now().Before(end); size += len(piece) {
				began := time.Now()
				headers := "Job-Token: " + j.Token + "\r\nContent-Type: text/plain\r\nContent-Range: " + strconv.Itoa(size) + "-" + strconv.Itoa(size+len(piece)-1) + "\r\n"
				resp, text, err := w.send(working, http.MethodPatch, fmt.Sprintf("/jobs/%d/trace", j.ID), headers, piece)
				if err == nil && resp.StatusCode != http.StatusAccepted {
					err = fmt.Errorf("log of job %d: %s: %s", j.ID, resp.Status, text)
				}
				if err != nil {
					return err
				}
				took = append(took, time.Since(began))
			}
			sent.Add(int64(len(took)))
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
			return w.finish(working, j)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	after, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	slices.Sort(all)
	used, n := after.minus(before), max(sent.Load(), 1)
	rate := float64(n) / l.length.Seconds()
	out.line("\nPieces of %d bytes to the logs of %d jobs: %.0f a second (%s), p99 %.1f ms; each costs %d us of processor time and %.1f statements.", len(piece), logs, rate,
		met(rate >= 1500, "1,500"), all[len(all)*99/100].Seconds()*1000, used.own.Microseconds()/n, used.statements/float64(n))
	return p.cancel(ctx)
}

// measureIdle lets many runners wait for jobs that do not come.
func (p *plant) measureIdle(ctx context.Context, l *loader, out *report) error {
	const settle, window = 3 * time.Second, 20 * time.Second
	if err := p.cancel(ctx); err != nil {
		return err
	}
	memory, err := l.server.memory("VmRSS")
	if err != nil {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	var group errgroup.Group
	defer func() {
		cancel()
		_ = group.Wait() // they end because they were told to
	}()
	for i := range p.idle {
		group.Go(func() error {
			w := p.worker(i)
			defer w.close()
			for waiting.Err() == nil {
				if j, err := w.ask(waiting); err != nil || j != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := wait(ctx, settle); err != nil {
		return err
	}
	before, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	if err := wait(ctx, window); err != nil {
		return err
	}
	after, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	grown, err := l.server.memory("VmRSS")
	if err != nil {
		return err
	}
	used := after.minus(before)
	share := used.own.Seconds() / window.Seconds()
	out.line("\n%d runners that wait: %.1f %% of a core (%s), %.0f MB more (%s), %.1f statements a second.", p.idle, share*100, met(share < 0.03, "3 %"),
		grown-memory, met(grown-memory <= 40, "40 MB"), used.statements/window.Seconds())
	return nil
}
