package ci

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/core/runner"
)

// jobsChannel is where servers that share a database tell each other of jobs that have become pending.
const jobsChannel = "tenon_jobs"

// listenAgain is how long a server waits before it listens to the others again.
const listenAgain = 5 * time.Second

// news is what a server tells the others.
type news struct {
	From   string    `json:"from"`
	Jobs   int       `json:"jobs,omitempty"`   // that have become pending
	Runner runner.ID `json:"runner,omitempty"` // that has changed
}

// peers connects a server with the others of its database. It is safe for concurrent use.
type peers struct {
	id      string
	hears   atomic.Bool // the others are heard
	mu      sync.Mutex
	jobs    int
	runners map[runner.ID]bool
	more    chan struct{}
	stop    context.CancelFunc
	done    sync.WaitGroup
}

func newPeers() *peers {
	return &peers{id: rand.Text(), runners: map[runner.ID]bool{}, more: make(chan struct{}, 1), stop: func() {}}
}

// tell keeps news for the others until send sends it.
func (e *peers) tell(jobs int, id runner.ID) {
	e.mu.Lock()
	e.jobs += jobs
	if id != 0 {
		e.runners[id] = true
	}
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// take returns the messages for the others, and empties the box.
func (e *peers) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []news
	if e.jobs > 0 {
		all = append(all, news{From: e.id, Jobs: e.jobs})
	}
	for id := range e.runners {
		all = append(all, news{From: e.id, Runner: id})
	}
	e.jobs = 0
	clear(e.runners)
	out := make([]string, 0, len(all))
	for _, n := range all {
		if text, err := json.Marshal(n); err == nil { // it holds a text and numbers
			out = append(out, string(text))
		}
	}
	return out
}

// tell tells the other servers of the database, if there can be any.
func (s *Service) tell(jobs int, id runner.ID) {
	if s.DB.Shared() {
		s.peers.tell(jobs, id)
	}
}

// wake lets waiting runners look for jobs that have become pending, here and at other servers.
func (s *Service) wake(ctx context.Context, jobs int) {
	s.DB.AfterCommit(ctx, func() {
		s.waiting.wake(jobs)
		s.tell(jobs, 0)
	})
}

// changed lets a runner look again, here and at other servers.
func (s *Service) changed(ctx context.Context, id runner.ID) {
	s.DB.AfterCommit(ctx, func() {
		s.waiting.changed(id)
		s.tell(0, id)
	})
}

// Start begins to tell other servers of the database of jobs that become pending, and to hear of theirs.
func (s *Service) Start() {
	if !s.DB.Shared() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.peers.stop = cancel
	s.peers.done.Go(func() { s.send(ctx) })
	s.peers.done.Go(func() { s.listen(ctx) })
}

// Stop ends what Start began, and the requests of runners that wait for a job.
func (s *Service) Stop(context.Context) error {
	s.EndAll()
	s.peers.stop()
	s.peers.done.Wait()
	return nil
}

// EndAll ends the requests of runners that wait for a job, so that the server can stop.
func (s *Service) EndAll() { s.waiting.end() }

// send notifies the other servers of news, until the service stops.
func (s *Service) send(ctx context.Context) {
	for {
		select {
		case <-s.peers.more:
		case <-ctx.Done():
			return
		}
		within, cancel := context.WithTimeout(ctx, listenAgain)
		err := s.DB.Notify(within, jobsChannel, s.peers.take())
		cancel()
		if err != nil && ctx.Err() == nil {
			s.Deps.Log.Warn("other servers are not told of jobs", "error", err)
		}
	}
}

func (s *Service) listen(ctx context.Context) {
	for {
		err := s.DB.Listen(ctx, jobsChannel, s.listening, s.heard)
		s.peers.hears.Store(false)
		if ctx.Err() != nil {
			return
		}
		s.Deps.Log.Warn("other servers are not heard, runners ask more often", "error", err)
		s.waiting.wakeAll() // they wait for what may have been missed
		select {
		case <-time.After(listenAgain):
		case <-ctx.Done():
			return
		}
	}
}

// listening notes that the others are heard from now on.
func (s *Service) listening() { s.peers.hears.Store(true) }

func (s *Service) heard(text string) {
	var n news
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		s.Deps.Log.Error("news of another server cannot be read", "error", err)
		return
	}
	switch {
	case n.From == s.peers.id:
	case n.Runner != 0:
		s.waiting.changed(n.Runner)
	default:
		s.waiting.wake(n.Jobs)
	}
}

// patience is how long a runner waits that has nothing to do: not for long where jobs may become pending unheard.
func (s *Service) patience() time.Duration {
	if s.DB.Shared() && !s.peers.hears.Load() {
		return min(s.pollFor, pollUnheard)
	}
	return s.pollFor
}
