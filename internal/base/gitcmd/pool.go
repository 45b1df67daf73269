package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"tenon/internal/base/intx"
)

// A kept-open process ends after this many requests or this long, and each
// repository has this many of one sort at most.
const (
	workerRequests = 10_000
	workerAge      = 10 * time.Minute
	workersPerLane = 2
)

// laneKey names a sort of kept-open process: one repository view, one command line.
type laneKey struct {
	path, objects string
	command       string
}

// lane holds the kept-open processes of one key.
type lane struct {
	permits chan struct{}
	idle    []*worker // the last is the most recent
	users   int       // callers that hold or wait for a permit
	epoch   int       // raised by recycle: workers of an earlier epoch are not kept
}

// pool keeps read-only git processes open between requests.
type pool struct {
	git    *Git
	mu     sync.Mutex
	lanes  map[laneKey]*lane
	all    map[*worker]struct{}
	open   int // started or about to be
	closed bool
	timer  *time.Timer    // closes idle processes; armed while there are any
	freed  chan struct{}  // one token when room may have appeared
	live   sync.WaitGroup // every worker until it is reaped
}

func newPool(g *Git) *pool {
	return &pool{git: g, lanes: make(map[laneKey]*lane), all: make(map[*worker]struct{}), freed: make(chan struct{}, 1)}
}

// do lends a kept-open process to fn. fn calls w.clean when it has read the whole
// answer; a process that is not clean afterwards is ended and never used again. The
// end of ctx kills the process. A request that finds a process already gone is
// tried once more with a new one, so fn must be safe to run twice.
func (p *pool) do(ctx context.Context, r *Repo, args []string, fn func(w *worker) error) error {
	intx.MustNot(ctx, "git is asked")
	if err := r.Spill(ctx); err != nil { // a process that runs already must see it too
		return err
	}
	key := laneKey{path: r.Path(), objects: r.NewObjects(), command: joinArgs(args)}
	for {
		w, err := p.acquire(ctx, key, r, args)
		if err != nil {
			return err
		}
		reused := w.requests > 0
		w.dirty, w.requests = true, w.requests+1
		stop := context.AfterFunc(ctx, w.kill)
		err = fn(w)
		if !stop() {
			w.dirty = true
		}
		gone := w.dirty && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE))
		p.release(w)
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("read from git: %w", context.Cause(ctx))
		case gone && reused:
			continue
		case gone:
			return &Error{Command: args[0], Code: -1, Stderr: w.said.String(), Err: err}
		default:
			return err
		}
	}
}

func (p *pool) acquire(ctx context.Context, key laneKey, r *Repo, args []string) (*worker, error) {
	p.mu.Lock()
	l := p.lanes[key]
	if l == nil {
		l = &lane{permits: make(chan struct{}, workersPerLane)}
		p.lanes[key] = l
	}
	l.users++
	p.mu.Unlock()
	select {
	case l.permits <- struct{}{}:
	case <-ctx.Done():
		p.leave(key, l)
		return nil, fmt.Errorf("wait for a git process: %w", context.Cause(ctx))
	}
	w, err := p.take(ctx, key, l, r, args)
	if err != nil {
		<-l.permits
		p.leave(key, l)
		return nil, err
	}
	return w, nil
}

// take returns an idle process of the lane or starts one, making room where none is left.
func (p *pool) take(ctx context.Context, key laneKey, l *lane, r *Repo, args []string) (*worker, error) {
	for {
		var old *worker
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		if n := len(l.idle); n > 0 {
			w := l.idle[n-1]
			l.idle = l.idle[:n-1]
			p.mu.Unlock()
			if w.expired() {
				p.end(w)
				continue
			}
			return w, nil
		}
		room := p.open < p.git.config.KeptOpen
		if room {
			p.open++
			p.live.Add(1)
		} else {
			old = p.oldest()
		}
		epoch := l.epoch
		p.mu.Unlock()
		switch {
		case room:
			return p.start(key, l, epoch, r, args)
		case old != nil:
			p.end(old)
			continue
		}
		select {
		case <-p.freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a git process: %w", context.Cause(ctx))
		}
	}
}

func (p *pool) start(key laneKey, l *lane, epoch int, r *Repo, args []string) (*worker, error) {
	w, err := p.git.startWorker(r, args)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.open--
		p.live.Done()
		p.signal()
		return nil, err
	}
	w.key, w.lane, w.epoch = key, l, epoch
	p.all[w] = struct{}{}
	if p.closed {
		w.kill()
	}
	if p.open < p.git.config.KeptOpen {
		p.signal()
	}
	return w, nil
}

// oldest takes the least recently used idle process out of its lane; p.mu is held.
func (p *pool) oldest() *worker {
	var found *lane
	for _, l := range p.lanes {
		if len(l.idle) > 0 && (found == nil || l.idle[0].used.Before(found.idle[0].used)) {
			found = l
		}
	}
	if found == nil {
		return nil
	}
	w := found.idle[0]
	found.idle = found.idle[1:]
	return w
}

func (p *pool) release(w *worker) {
	w.used = time.Now()
	l := w.lane
	p.mu.Lock()
	keep := !w.dirty && !p.closed && w.epoch == l.epoch && !w.expired()
	if keep {
		l.idle = append(l.idle, w)
		p.signal()
		if p.timer == nil {
			p.timer = time.AfterFunc(p.git.config.IdleAfter/2, p.reap)
		}
	}
	p.mu.Unlock()
	if !keep {
		p.end(w)
	}
	<-l.permits
	p.leave(w.key, l)
}

// leave forgets a lane that no caller uses.
func (p *pool) leave(key laneKey, l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.users--
	p.forget(key, l)
}

func (p *pool) forget(key laneKey, l *lane) {
	if l.users == 0 && len(l.idle) == 0 && p.lanes[key] == l {
		delete(p.lanes, key)
	}
}

// end kills a process that is in no lane and reaps it.
func (p *pool) end(w *worker) {
	w.close()
	p.mu.Lock()
	delete(p.all, w)
	p.open--
	p.signal()
	p.mu.Unlock()
	p.live.Done()
}

// signal tells one waiter that there may be room; p.mu is held.
func (p *pool) signal() {
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// reap is run by the timer while processes are idle.
func (p *pool) reap() {
	limit := time.Now().Add(-p.git.config.IdleAfter)
	left := p.closeIdle(func(_ laneKey, w *worker) bool { return w.used.Before(limit) || w.expired() })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	if left > 0 && !p.closed {
		p.timer = time.AfterFunc(p.git.config.IdleAfter/2, p.reap)
	}
}

// closeIdle ends the idle processes that fn selects and returns the number of those left.
func (p *pool) closeIdle(fn func(laneKey, *worker) bool) int {
	var ended []*worker
	left := 0
	p.mu.Lock()
	for key, l := range p.lanes {
		kept := l.idle[:0:0]
		for _, w := range l.idle {
			if fn(key, w) {
				ended = append(ended, w)
			} else {
				kept = append(kept, w)
			}
		}
		l.idle = kept
		left += len(kept)
		p.forget(key, l)
	}
	p.mu.Unlock()
	for _, w := range ended {
		p.end(w)
	}
	return left
}

// recycle ends the idle processes of a repository and lets those in use finish one last request.
func (p *pool) recycle(path string) {
	p.mu.Lock()
	for key, l := range p.lanes {
		if key.path == path {
			l.epoch++
		}
	}
	p.mu.Unlock()
	p.closeIdle(func(key laneKey, _ *worker) bool { return key.path == path })
}

// closeView ends the processes that read through one quarantine.
func (p *pool) closeView(objects string) {
	p.closeIdle(func(key laneKey, _ *worker) bool { return key.objects == objects })
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	for w := range p.all {
		w.kill()
	}
	p.mu.Unlock()
	p.closeIdle(func(laneKey, *worker) bool { return true })
	p.live.Wait()
}
