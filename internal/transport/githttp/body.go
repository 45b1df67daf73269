package githttp

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// How long a client may go on sending after its answer: for the read that is under way
// when the answer is complete, and for the whole rest.
const (
	lastRead = 2 * time.Second
	lastRest = time.Minute
)

var errAnswered = errors.New("request is answered")

// joinedBody is the body of a request whose readers may outlive what they read for: a
// goroutine that feeds a git process waits for the client although the process has ended.
// The server must not go on with the connection while one of them reads.
type joinedBody struct {
	from    io.ReadCloser
	control *http.ResponseController

	reading chan struct{} // has an element while a Read is under way
	ended   atomic.Bool
}

// joinBody makes the body of a request one that can be joined.
func joinBody(w http.ResponseWriter, r *http.Request) *joinedBody {
	body := &joinedBody{from: r.Body, control: http.NewResponseController(w), reading: make(chan struct{}, 1)}
	r.Body = body
	return body
}

// Read reads until the body is joined.
func (b *joinedBody) Read(p []byte) (int, error) {
	b.reading <- struct{}{}
	defer func() { <-b.reading }()
	if b.ended.Load() {
		return 0, errAnswered
	}
	return b.from.Read(p)
}

// Close closes the body.
func (b *joinedBody) Close() error { return b.from.Close() }

// join waits until nothing reads the body any more: a read under way ends with what the
// client sends next, or soon.
func (b *joinedBody) join() {
	b.ended.Store(true)
	end := time.Now().Add(lastRead)
	tick := time.NewTicker(lastRead / 20)
	defer tick.Stop()
	for {
		select {
		case b.reading <- struct{}{}:
			<-b.reading
			return
		case <-tick.C:
			// Again and again: the reader may have just set a limit of its own. A
			// connection without deadlines, as tests have them, is waited for.
			_ = b.control.SetReadDeadline(end)
		}
	}
}

// drain reads and forgets what a client still sends after it was answered, for some time:
// a connection that is closed meanwhile may lose the answer. The body is joined before.
func (b *joinedBody) drain() {
	end := time.Now().Add(lastRest)
	timer := time.AfterFunc(lastRest, func() { _ = b.control.SetReadDeadline(time.Now()) })
	defer timer.Stop()
	piece := make([]byte, 32<<10)
	for time.Now().Before(end) {
		if _, err := b.from.Read(piece); err != nil {
			return
		}
	}
}
