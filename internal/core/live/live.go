// Package live tells the open streams of all servers what has changed: issues, merge requests,
// epics, their notes, pipelines and jobs. What a stream is told says only that something changed; what its reader
// may see of it is read then.
//
// Streams are told once each change is committed. A change may be told later than another that
// came after it, or not at all when a server dies: a stream that could have missed one is ended, so
// that its reader comes again and reads what there is.
package live

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// MaxStreams is how many streams one reader may have open: a user, or all readers without an
// account from one address.
const MaxStreams = 10

// maxWaiting is how many changes may wait for a stream; one that falls behind further is ended.
const maxWaiting = 100

// How changes reach the other servers: so many at once, after such a wait for more.
const (
	channel  = "tenon_live"
	maxBatch = 200
	gather   = 20 * time.Millisecond
	maxQueue = 10_000 // changes that wait for that; the streams of other servers miss what is more
)

// The errors of Open: a stream above [MaxStreams], and one that would begin while the server stops.
var (
	ErrTooMany  = errs.New(errs.TooMany, "Too many streams are open")
	ErrStopping = errs.New(errs.Unavailable, "The server is stopping")
)

// Deps is what a Service is made of.
type Deps struct {
	DB  *db.DB
	Log *slog.Logger
}

// Service knows the open streams of this server. It is safe for concurrent use.
type Service struct {
	Deps

	id string // of this server, which does not hear itself

	mu       sync.Mutex
	streams  map[topic]map[*Stream]struct{}
	readers  map[reader]int // how many streams each has open
	closed   bool
	listener *listener // of the other servers; nil until the first stream
	queue    []Change  // for the other servers
	more     chan struct{}

	stop context.CancelFunc
	done sync.WaitGroup
}

type topic struct {
	kind noteable.Kind
	id   int64
}

type reader struct {
	user    authz.UserID
	address string // of readers without an account
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{
		Deps: d,
		id:   newID(), streams: map[topic]map[*Stream]struct{}{}, readers: map[reader]int{}, more: make(chan struct{}, 1),
	}
}

// Stream is what one reader is told, in the order in which it is known here.
type Stream struct {
	service *Service
	topic   topic
	reader  reader
	parts   []Part

	mu      sync.Mutex
	waiting []Change
	ended   bool
	woke    chan struct{}
}

// Open opens a stream of changes of one thing in any of these parts. Whether the reader may see the
// thing is the caller's to ask, now and at each change. The stream takes a place among those of its
// reader until it is closed.
func (s *Service) Open(ctx context.Context, as authz.Actor, kind noteable.Kind, id int64, parts ...Part) (*Stream, error) {
	st := &Stream{service: s, topic: topic{kind, id}, reader: reader{user: as.UserID}, parts: parts, woke: make(chan struct{}, 1)}
	if st.reader.user == 0 {
		st.reader.address = as.Address
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrStopping
	case s.readers[st.reader] >= MaxStreams:
		return nil, ErrTooMany
	}
	if s.streams[st.topic] == nil {
		s.streams[st.topic] = map[*Stream]struct{}{}
	}
	s.streams[st.topic][st] = struct{}{}
	s.readers[st.reader]++
	if s.DB.Shared() {
		h := s.hear()
		s.mu.Unlock()
		err := h.wait(ctx)
		s.mu.Lock()
		if err != nil {
			s.remove(st)
			return nil, err
		}
	}
	return st, nil
}

// Next waits for the next change: false where there will be none.
func (t *Stream) Next(ctx context.Context) (Change, bool) {
	for {
		t.mu.Lock()
		if len(t.waiting) > 0 && !t.ended {
			c := t.waiting[0]
			t.waiting = t.waiting[1:]
			t.mu.Unlock()
			return c, true
		}
		ended := t.ended
		t.mu.Unlock()
		if ended {
			return Change{}, false
		}
		select {
		case <-t.woke:
		case <-ctx.Done():
			return Change{}, false
		}
	}
}

// Close ends the stream and frees its place.
func (t *Stream) Close() {
	t.end()
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	t.service.remove(t)
}

// remove takes a stream out; the lock is held.
func (s *Service) remove(st *Stream) {
	if _, open := s.streams[st.topic][st]; !open {
		return
	}
	if delete(s.streams[st.topic], st); len(s.streams[st.topic]) == 0 {
		delete(s.streams, st.topic)
	}
	if s.readers[st.reader]--; s.readers[st.reader] == 0 {
		delete(s.readers, st.reader)
	}
}

func (t *Stream) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.wake()
}

func (t *Stream) wake() {
	select {
	case t.woke <- struct{}{}:
	default:
	}
}

// add has a change told. Changes that were not told yet are told once for all.
func (t *Stream) add(c Change) {
	if !c.Deleted && !slices.ContainsFunc(c.Parts, func(p Part) bool { return slices.Contains(t.parts, p) }) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Note == nil && slices.ContainsFunc(t.waiting, func(w Change) bool { return w.Note == nil }) {
		return
	}
	if len(t.waiting) >= maxWaiting {
		t.ended = true
	} else {
		t.waiting = append(t.waiting, c)
	}
	t.wake()
}

// send tells a change to the streams here and puts it down for the other servers.
func (s *Service) send(c Change) {
	s.local(c)
	if !s.DB.Shared() {
		return
	}
	s.mu.Lock()
	if len(s.queue) < maxQueue {
		s.queue = append(s.queue, c)
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// local tells a change to the streams of this server.
func (s *Service) local(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams[topic{c.Kind, c.ID}] {
		st.add(c)
	}
}

// letter is a change as servers send it to each other.
type letter struct {
	From string `json:"from"`
	Change
}

// heard takes what another server has sent.
func (s *Service) heard(text string) {
	var l letter
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		s.Log.Error("a change from another server cannot be read", "error", err)
		return
	}
	if l.From != s.id {
		s.local(l.Change)
	}
}

// Start begins to tell the other servers what changes here.
func (s *Service) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	if s.DB.Shared() {
		s.done.Go(func() { s.distribute(ctx) })
	}
}

// Stop ends all streams, and what Start began.
func (s *Service) Stop(context.Context) error {
	s.EndAll()
	s.mu.Lock()
	h := s.listener
	s.mu.Unlock()
	if h != nil {
		h.cancel()
	}
	if s.stop != nil {
		s.stop()
	}
	s.done.Wait()
	return nil
}

// EndAll ends all streams and refuses new ones, so that the server can stop.
func (s *Service) EndAll() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.endStreams()
}

// endStreams ends the streams that are open.
func (s *Service) endStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, streams := range s.streams {
		for st := range streams {
			st.end()
		}
	}
}
