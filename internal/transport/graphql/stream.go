package graphql

import (
	"context"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/live"
	"tenon/internal/transport/graphql/exec"
	"tenon/internal/transport/httpkit"
)

// Streams of events follow the protocol GraphQL over Server-Sent Events, with one connection for
// each operation: every answer is an event next, and complete ends them.

const (
	// checkEvery is how often it is asked whether the readers of streams are still who they were.
	checkEvery = 500 * time.Millisecond

	// aliveEvery is how often a silent stream sends a comment, so that no proxy closes it.
	aliveEvery = 15 * time.Second
)

const streamType = "text/event-stream"

// wantsStream reports whether a request asks for a stream of events.
func wantsStream(r *http.Request) bool {
	for _, accept := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(accept, ",") {
			if kind, _, err := mime.ParseMediaType(part); err == nil && kind == streamType {
				return true
			}
		}
	}
	return false
}

// stream answers one operation with events: a subscription with one for each change until its
// reader goes or may not go on, all others with one.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, in *incoming, as authz.Actor, op *exec.Operation, result *exec.Result) {
	httpkit.Of(r.Context()).Route = Path + " (stream)" // its time says nothing about requests
	schema, err := h.schemaFor(in)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := events{ResponseWriter: w, control: http.NewResponseController(w)}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	limits := h.Limits.Documents(as)
	switch {
	case result != nil:
	case op.Subscribes():
		var source any
		if source, result = schema.Subscribe(ctx, &h.config, op, as); result != nil {
			break
		}
		changes, ok := source.(*live.Stream)
		if !ok {
			h.fail(w, r, errors.New("a subscription has no stream of changes"))
			return
		}
		defer changes.Close()
		f := follower{handler: h, schema: schema, op: op, changes: changes, out: &out, as: as, again: in.again, end: cancel}
		f.run(ctx)
		return
	default:
		result = schema.Run(withBlobs(ctx), &h.config, op, as)
		result.Extensions = cost(op, limits)
	}
	out.begin()
	if err := out.next(ctx, result); err != nil {
		h.Log.ErrorContext(ctx, "event not written", "request_id", httpkit.Of(ctx).ID, "error", err)
	}
	out.complete()
}

// follower is a subscription with its reader.
type follower struct {
	handler *Handler
	schema  *exec.Schema
	op      *exec.Operation
	changes *live.Stream
	out     *events
	again   func(ctx context.Context) (authz.Actor, error)
	end     context.CancelFunc // ends the stream

	mu sync.Mutex
	as authz.Actor // as it was when it was last asked for
}

// run sends an event for each change until the stream ends.
func (f *follower) run(ctx context.Context) {
	f.handler.watch.add(f.handler, f)
	defer f.handler.watch.remove(f)
	f.out.begin()
	f.out.keepAlive()
	for {
		c, ok := f.changes.Next(ctx)
		if !ok || !f.tell(ctx, c) {
			break
		}
	}
	f.out.complete()
}

// tell sends what the subscription gives for a change. It reports whether there may be more.
func (f *follower) tell(ctx context.Context, c live.Change) bool {
	ctx, leave := budget.Again(f.handler.LimitReads(ctx))
	defer leave()
	if !f.check(ctx) {
		return false
	}
	as := f.actor()
	if !f.handler.Limits.Spend(as, f.op.Complexity()) {
		_ = f.out.next(ctx, exec.Refused(exec.Error{Message: messageTooMany}))
		return false
	}
	result, more := f.schema.Event(ctx, &f.handler.config, f.op, as, c)
	if result == nil || ctx.Err() != nil {
		return more
	}
	if !more && len(result.Errors) == 0 {
		return false // it is hidden from the reader now, or gone
	}
	return f.out.next(ctx, result) == nil && more
}

// check signs the reader on once more, and ends the stream where it may not go on.
func (f *follower) check(ctx context.Context) bool {
	as, err := f.again(ctx)
	var refused *refusal
	if errors.As(err, &refused) || errs.KindOf(err) == errs.Forbidden || errs.KindOf(err) == errs.Unauthorized {
		f.end()
		return false
	}
	if err != nil {
		return ctx.Err() == nil // the database is away: the next check decides
	}
	f.mu.Lock()
	f.as = as
	f.mu.Unlock()
	return true
}

func (f *follower) actor() authz.Actor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.as
}

// watch asks for the readers of all streams whether they may go on. It works as long as there are
// streams.
type watch struct {
	mu   sync.Mutex
	open map[*follower]struct{}
}

func (w *watch) add(h *Handler, f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[*follower]struct{}{}
		go w.run(h)
	}
	w.open[f] = struct{}{}
}

func (w *watch) remove(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, f)
}

func (w *watch) run(h *Handler) {
	ticks := time.NewTicker(checkEvery)
	defer ticks.Stop()
	for range ticks.C {
		list := w.list()
		if list == nil {
			return
		}
		for len(list) > 0 {
			n := min(len(list), maxPage)
			part := list[:n]
			list = list[n:]
			ctx, cancel := context.WithTimeout(context.Background(), checkEvery)
			err := h.Together(h.LimitReads(ctx), n, func(ctx context.Context, i int) error {
				part[i].check(ctx)
				return nil
			})
			if err != nil {
				h.Log.WarnContext(ctx, "readers of streams not checked", "error", err)
			}
			cancel()
		}
	}
}

// list returns the streams that are open: nil where there are none, and the watch has ended.
func (w *watch) list() []*follower {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 {
		w.open = nil
		return nil
	}
	out := make([]*follower, 0, len(w.open))
	for f := range w.open {
		out = append(out, f)
	}
	return out
}

// events writes a stream of events.
type events struct {
	http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex
	timer *time.Timer // sends a comment when nothing else was sent for a while; nil for none
	ended bool
}

func (e *events) begin() {
	e.Header().Set("Content-Type", streamType+"; charset=utf-8")
	e.Header().Set("X-Accel-Buffering", "no") // a proxy passes events on at once
	e.WriteHeader(http.StatusOK)
	e.silent()
}

// keepAlive sends comments while nothing else is sent.
func (e *events) keepAlive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(aliveEvery, e.silent)
}

// silent sends a comment, which readers leave out.
func (e *events) silent() { _ = e.send(false, e.text(":\n\n")) }

func (e *events) next(ctx context.Context, result *exec.Result) error {
	body, err := httpkit.MakeBody(ctx, math.MaxInt64, result.Write)
	if err != nil {
		return err
	}
	defer body.Free()
	return e.send(false, func() error {
		_, _ = io.WriteString(e, "event: next\ndata: ")
		err := body.Send(e)
		_, _ = io.WriteString(e, "\n\n")
		return err
	})
}

// complete says that there are no more events.
func (e *events) complete() { _ = e.send(true, e.text("event: complete\ndata: \n\n")) }

func (e *events) text(text string) func() error {
	return func() error {
		_, err := io.WriteString(e, text)
		return err
	}
}

// send writes a part of the stream, perhaps the last one. A reader that does not take it loses its
// connection.
func (e *events) send(last bool, write func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return nil
	}
	e.ended = last
	if e.timer != nil {
		e.timer.Reset(aliveEvery)
	}
	err := write()
	_ = e.control.Flush()
	return err
}
