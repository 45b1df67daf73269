package safehttp

import (
	"errors"
	"io"
	"sync"
	"time"
)

// Pace is the least speed at which another server must send, so that it does not hold up
// whatever waits for it. The zero value allows any.
type Pace struct {
	Floor  int64         // bytes a second, on average over Window
	Window time.Duration // of waiting for the server; time spent otherwise does not count
	Now    func() time.Time
}

// ErrTooSlow says that a server sends below the least speed.
var ErrTooSlow = errors.New("the server sends too slowly")

// Stall is how long a server may send nothing at all, half of the window: a longer silence
// on a connection means that it was not asked for anything.
func (p Pace) Stall() time.Duration { return p.Window / 2 }

func (p Pace) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// meter measures what comes against a Pace.
type meter struct {
	pace Pace

	mu     sync.Mutex
	last   time.Time     // when something came
	waited time.Duration // in this window
	came   int64         // bytes in this window
}

// arrived counts n bytes that came now.
func (m *meter) arrived(n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.pace.now()
	waited := now.Sub(m.last)
	if m.last.IsZero() || waited > m.pace.Stall() {
		waited = 0
	}
	m.last = now
	return m.count(n, waited)
}

// after counts n bytes that were waited for.
func (m *meter) after(n int, waited time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count(n, waited)
}

func (m *meter) count(n int, waited time.Duration) error {
	if m.pace.Window <= 0 || m.pace.Floor <= 0 {
		return nil
	}
	m.waited += waited
	m.came += int64(n)
	if m.waited < m.pace.Window {
		return nil
	}
	least := m.pace.Floor * int64(m.waited/time.Millisecond) / 1000
	came := m.came
	m.waited, m.came = 0, 0
	if came < least {
		return ErrTooSlow
	}
	return nil
}

// Reader reads from the body of an answer and returns ErrTooSlow when it comes too slowly.
// stop must end a read in progress, as cancelling the request does; it is called when
// nothing comes for half of the window.
func (p Pace) Reader(body io.Reader, stop func()) io.Reader {
	if p.Window <= 0 || p.Floor <= 0 {
		return body
	}
	return &pacedReader{Reader: body, meter: meter{pace: p}, stop: stop}
}

type pacedReader struct {
	io.Reader
	meter meter
	stop  func()
}

// Read waits for more of the answer.
func (r *pacedReader) Read(p []byte) (int, error) {
	stalled := make(chan struct{})
	timer := time.AfterFunc(r.meter.pace.Stall(), func() {
		close(stalled)
		r.stop()
	})
	began := r.meter.pace.now()
	n, err := r.Reader.Read(p)
	if !timer.Stop() {
		<-stalled
		return n, ErrTooSlow
	}
	if slow := r.meter.after(n, r.meter.pace.now().Sub(began)); slow != nil && err == nil {
		return n, slow
	}
	return n, err
}
