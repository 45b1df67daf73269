package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// operation is one kind of request.
type operation struct {
	name  string
	sends func(i int) []byte // the i-th request, complete; i is never the same twice
	wants int                // status
	check func(body []byte) error
	most  int // requests per measurement; zero is no bound
	goal  goal
}

// figures are those of one measurement.
type figures struct {
	rate          float64 // requests a second
	p50, p95, p99 time.Duration
	longest       time.Duration
	done, errors  int
	sample        string // of the errors
}

type result struct {
	one, eight     figures
	cpu, git       time.Duration // per request, at 8 clients
	sql, processes float64       // per request, at 1 client
}

type loader struct {
	server *server
	length time.Duration
	idle   float64 // statements a second that the server runs for itself
}

// background measures what the server does when no user asks, after it has had time to
// finish what filling it left to do.
func (l *loader) background(ctx context.Context) error {
	const window = 3 * time.Second
	if err := wait(ctx, window); err != nil {
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
	l.idle = (after.statements - before.statements) / window.Seconds()
	return err
}

// measure sends an operation by one client, then by eight.
func (l *loader) measure(ctx context.Context, op operation) (result, error) {
	var r result
	var next atomic.Int64
	if op.most == 0 { // warm, and see that the answer is what it should be
		if err := l.probe(ctx, op, int(next.Add(1)-1)); err != nil {
			return r, err
		}
		l.run(ctx, op, &next, 8, l.length/10)
	}
	before, err := l.server.usage(ctx)
	if err != nil {
		return r, err
	}
	began := time.Now()
	r.one = l.run(ctx, op, &next, 1, l.length)
	took := time.Since(began)
	between, err := l.server.usage(ctx)
	if err != nil {
		return r, err
	}
	r.eight = l.run(ctx, op, &next, 8, l.length)
	after, err := l.server.usage(ctx)
	if err != nil {
		return r, err
	}
	if r.one.done == 0 || r.eight.done == 0 {
		return r, fmt.Errorf("no request was answered as it should be: %s%s", r.one.sample, r.eight.sample)
	}
	used, n := between.minus(before), float64(r.one.done)
	r.sql = max(0, used.statements-l.idle*took.Seconds()) / n
	r.processes = used.processes / n
	used = after.minus(between)
	r.cpu, r.git = used.own/time.Duration(r.eight.done), used.git/time.Duration(r.eight.done)
	return r, ctx.Err()
}

// probe sends one request and looks at the answer.
func (l *loader) probe(ctx context.Context, op operation, i int) error {
	body, err := replay(ctx, l.server.url, op.sends(i), op.wants)
	if err != nil {
		return err
	}
	if op.check != nil {
		return op.check(body)
	}
	return nil
}

// run lets clients send one request after the other for a time.
func (l *loader) run(ctx context.Context, op operation, next *atomic.Int64, clients int, length time.Duration) figures {
	ctx, cancel := context.WithTimeout(ctx, length)
	if op.most > 0 {
		cancel()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	}
	defer cancel()
	limit := next.Load() + int64(op.most)
	var all []time.Duration
	var f figures
	var mu sync.Mutex
	var group sync.WaitGroup
	began := time.Now()
	for range clients {
		group.Go(func() {
			c := &client{address: strings.TrimPrefix(l.server.url, "http://")}
			defer c.close()
			took, failed, sample := send(ctx, c, op, next, limit)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			f.errors += failed
			f.sample = max(f.sample, sample)
		})
	}
	group.Wait()
	f.done, f.rate = len(all), float64(len(all))/time.Since(began).Seconds()
	if len(all) > 0 {
		slices.Sort(all)
		f.p50, f.p95, f.p99 = all[len(all)/2], all[len(all)*95/100], all[len(all)*99/100]
		f.longest = all[len(all)-1]
	}
	return f
}

// send is one client's share.
func send(ctx context.Context, c *client, op operation, next *atomic.Int64, limit int64) (took []time.Duration, failed int, sample string) {
	took = make([]time.Duration, 0, 1<<14)
	for ctx.Err() == nil {
		i := next.Add(1) - 1
		if op.most > 0 && i >= limit {
			next.Add(-1)
			break
		}
		request := op.sends(int(i))
		began := time.Now()
		status, err := c.do(request)
		switch {
		case err != nil:
			failed, sample = failed+1, err.Error()
		case status != op.wants:
			failed, sample = failed+1, fmt.Sprintf("%d %s", status, http.StatusText(status))
		default:
			took = append(took, time.Since(began))
		}
		if failed > 100 {
			break // it will not get better
		}
	}
	return took, failed, sample
}
