// Package budget bounds what answers weigh: texts that repeat, the texts of a list, and the
// memory of all answers together.
package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"tenon/internal/base/errs"
)

// The bounds, in bytes.
const (
	MaxRepeated = 64 << 10  // of a text of one thing that is shown inside others
	MaxList     = 32 << 20  // of the texts of a list
	MaxRequest  = 64 << 20  // of all texts that one request reads
	Total       = 256 << 20 // of what all answers hold in memory
	Free        = 256 << 10 // of one read and of one answer, that wait for no room
)

// patience is how long a request waits for room.
const patience = 10 * time.Second

// CutMark ends a text that Cut has cut.
const CutMark = "... [cut at 64 KiB]"

// Cut shortens a text to MaxRepeated bytes, at the beginning of a character, and marks that.
func Cut(text string) string {
	if len(text) <= MaxRepeated {
		return text
	}
	return Begin(text, MaxRepeated) + CutMark
}

// Begin returns the beginning of a text, of at most so many bytes, up to the end of a character.
func Begin(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// CutAt is Cut for a text that may be nil.
func CutAt(text *string) *string {
	if text == nil || len(*text) <= MaxRepeated {
		return text
	}
	out := Cut(*text)
	return &out
}

// CutColumn reads a column of text as far as Cut needs it, under its own name without the alias of its table.
func CutColumn(column string) string {
	_, name, _ := strings.Cut(column, ".")
	return CutSQL(column) + " AS " + name
}

// CutSQL is a text as far as Cut needs it.
func CutSQL(expression string) string {
	return "substr(" + expression + ", 1, " + strconv.Itoa(MaxRepeated+1) + ")"
}

// ErrFull is in the chain of the Unavailable of a request that found no room.
var ErrFull = errors.New("no room for the answer")

// ErrList is the error of a list with too much text, ErrRequest that of a request that reads too much.
var (
	ErrList    error = errs.New(errs.Unprocessable, "The list has more than 32 MiB of text. Ask for fewer items at a time.")
	ErrRequest error = errs.New(errs.Unprocessable, "The answer needs more than 64 MiB of text. Ask for less at a time.")
)

// Sum adds up the texts of a list.
type Sum struct{ bytes int }

// Add counts a text. It returns ErrList where the list has too much text.
func (s *Sum) Add(bytes int) error {
	if s.bytes += bytes; s.bytes > MaxList {
		return ErrList
	}
	return nil
}

// Room is the memory that all answers share.
type Room struct{ all *semaphore.Weighted }

// NewRoom returns room of so many bytes.
func NewRoom(bytes int64) *Room { return &Room{semaphore.NewWeighted(bytes)} }

type shareKey struct{}

// Enter begins a request whose answer takes from the room. leave returns what it took.
func (r *Room) Enter(ctx context.Context) (inside context.Context, leave func()) {
	s := &Share{room: r}
	return context.WithValue(ctx, shareKey{}, s), s.leave
}

// Again begins one of many answers of a request, whose share of the room is its own.
func Again(ctx context.Context) (inside context.Context, leave func()) {
	if s := Of(ctx); s != nil {
		return s.room.Enter(ctx)
	}
	return ctx, func() {}
}

// Apart is ctx for what a request reads and passes on at once: it is not counted.
func Apart(ctx context.Context) context.Context {
	if Of(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, shareKey{}, (*Share)(nil))
}

// Of returns the share of the request of ctx, nil where the request has none. All methods work on nil.
func Of(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}

// Share is what one answer takes from the room.
type Share struct {
	room *Room
	mu   sync.Mutex
	used int64 // bytes that the answer holds
	held int64 // bytes of the room that it has for them
}

// Spare is how many bytes the request may read at once without reserving them.
func (s *Share) Spare() int64 {
	if s == nil {
		return math.MaxInt64
	}
	return Free
}

// Use counts bytes within Spare. It returns ErrRequest where the request has read too much.
func (s *Share) Use(bytes int64) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used += bytes; s.used > MaxRequest {
		return ErrRequest
	}
	if more := s.used - Free - s.held; more > 0 && s.room.all.TryAcquire(more) {
		s.held += more
	}
	return nil
}

// Reserve waits for room for at most so many bytes of text, and returns how many may be read. settle says how many it were; the
// others are free again then. It returns ErrRequest where the request has read too much, and Unavailable where there is no room in time.
func (s *Share) Reserve(ctx context.Context, most int64) (allowed int64, settle func(bytes int64), err error) {
	if s == nil {
		return most, func(int64) {}, nil
	}
	s.mu.Lock()
	allowed = min(most, MaxRequest-s.used)
	s.mu.Unlock()
	if allowed <= 0 {
		return 0, nil, ErrRequest
	}
	if err := s.acquire(ctx, allowed); err != nil {
		return 0, nil, err
	}
	return allowed, func(bytes int64) {
		bytes = min(bytes, allowed)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used += bytes
		s.held -= allowed - bytes
		s.room.all.Release(allowed - bytes)
	}, nil
}

// Take waits for room for bytes that the answer holds until its end.
func (s *Share) Take(ctx context.Context, bytes int64) error {
	if s == nil {
		return nil
	}
	if bytes <= s.Spare() {
		return s.Use(bytes)
	}
	allowed, settle, err := s.Reserve(ctx, bytes)
	switch {
	case err != nil:
		return err
	case allowed < bytes:
		settle(0)
		return ErrRequest
	}
	settle(bytes)
	return nil
}

// Hold waits for room for a buffer, which is no text that the request has read.
func (s *Share) Hold(ctx context.Context, bytes int64) error {
	if s == nil {
		return nil
	}
	return s.acquire(ctx, bytes)
}

func (s *Share) acquire(ctx context.Context, bytes int64) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.room.all.Acquire(waiting, bytes); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("wait for room for an answer: %w", ctx.Err())
		}
		return &errs.Error{Kind: errs.Unavailable, Err: ErrFull}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += bytes
	return nil
}

func (s *Share) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.all.Release(s.held)
	s.held = 0
}
