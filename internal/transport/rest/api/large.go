package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// bytesPerCharacter is what one character takes at most in a body: one beyond the basic
// plane is two escapes in JSON, \ud83d\ude00, and four escapes in a form, %f0%9f%98%80.
const bytesPerCharacter = 12

// The limits of bodies larger than DefaultMaxBody, which are held in memory while their
// requests are answered.
const (
	largeBodies = 64 << 20 // bytes, of all of them
	largeShare  = 32 << 20 // bytes, of those of one user; a larger one counts as this
	largeWait   = 10 * time.Second
	largeGrace  = 30 * time.Second // for a body to come, and a second more for each largeSpeed
	largeSpeed  = 128 << 10        // bytes
)

// errSlow is a large body that takes too long to come.
var errSlow = &Refusal{Status: http.StatusRequestTimeout, Text: "408 Request Timeout"}

// memory shares out the room for large bodies. One user gets half of it at most, so that
// slow senders do not keep it from the others.
type memory struct {
	all   *semaphore.Weighted
	mu    sync.Mutex
	users map[authz.UserID]*share
}

// share is the room of one user.
type share struct {
	room *semaphore.Weighted
	uses int // guarded by the mutex of memory
}

func newMemory() *memory {
	return &memory{all: semaphore.NewWeighted(largeBodies), users: map[authz.UserID]*share{}}
}

// reserve waits for room for a body, and returns the function that returns it. It answers
// Unavailable where there is none in time.
func (m *memory) reserve(ctx context.Context, user authz.UserID, bytes int64) (release func(), err error) {
	bytes = min(bytes, largeShare)
	waiting, cancel := context.WithTimeout(ctx, largeWait)
	defer cancel()
	own := m.enter(user)
	if err := own.room.Acquire(waiting, bytes); err != nil {
		m.leave(user)
		return nil, noRoom(ctx)
	}
	if err := m.all.Acquire(waiting, bytes); err != nil {
		own.room.Release(bytes)
		m.leave(user)
		return nil, noRoom(ctx)
	}
	return func() {
		m.all.Release(bytes)
		own.room.Release(bytes)
		m.leave(user)
	}, nil
}

func noRoom(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for room for a body: %w", err)
	}
	return errs.New(errs.Unavailable, "")
}

func (m *memory) enter(user authz.UserID) *share {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.users[user]
	if s == nil {
		s = &share{room: semaphore.NewWeighted(largeShare)}
		m.users[user] = s
	}
	s.uses++
	return s
}

func (m *memory) leave(user authz.UserID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.users[user]; s.uses > 1 {
		s.uses--
	} else {
		delete(m.users, user)
	}
}

// kept reads what is kept in memory of a body. A large body waits for room, and has to
// come in time from then on.
type kept struct {
	io.Reader
	x    *exchange
	most int64 // bytes that may come
	sure int64 // bytes that are announced; 0 where it is not known how many are for memory
}

// Read reads what comes.
func (k kept) Read(p []byte) (int, error) {
	x := k.x
	if x.until.IsZero() && k.most > DefaultMaxBody && max(x.kept, k.sure) >= DefaultMaxBody {
		size := k.most
		if k.sure > 0 {
			size = k.sure
		}
		var err error
		if x.free, err = x.kit.memory.reserve(x.r.Context(), x.As.UserID, size); err != nil {
			x.w.Header().Set("Retry-After", "10")
			return 0, err
		}
		x.until = time.Now().Add(largeGrace + time.Duration(size/largeSpeed)*time.Second)
	}
	if !x.until.IsZero() && time.Now().After(x.until) {
		return 0, errSlow
	}
	n, err := k.Reader.Read(p)
	x.kept += int64(n)
	return n, err
}

// fieldSize bounds a field of a multipart body: where files may come beside it, by the
// characters of its parameter, else by the whole body.
func (p *plan) fieldSize(name string, body int64) int64 {
	if !slices.ContainsFunc(p.fields, func(f field) bool { return takesFile(f.typ) }) {
		return body
	}
	if f := p.find(name); f != nil {
		return max(maxFieldSize, int64(f.chars)*utf8.UTFMax)
	}
	return maxFieldSize
}

// fieldRoom bounds all fields of a multipart body together: where files may come beside them, by
// the texts of the plan.
func (p *plan) fieldRoom(body int64) int64 {
	if !slices.ContainsFunc(p.fields, func(f field) bool { return takesFile(f.typ) }) {
		return body
	}
	return min(body, DefaultMaxBody+p.textBytes())
}

// textBytes is the room that the texts of a plan need in any encoding.
func (p *plan) textBytes() int64 {
	var sum int64
	for i := range p.fields {
		f := &p.fields[i]
		sum += int64(f.chars) * bytesPerCharacter
		if f.nested != nil {
			sum += f.nested.textBytes()
		}
	}
	return sum
}
