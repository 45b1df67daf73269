package httpkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"tenon/internal/base/budget"
	"tenon/internal/base/jsonstream"
)

// maxHeld is how many bytes of a body are held in memory. A longer one is made once to learn its length
// and its tag, and once more while it is sent.
const maxHeld = 1 << 20

// ErrLarge is the error of a body with more bytes than it may have.
var ErrLarge = errors.New("answer is too large")

// Body is an answer in JSON that was made and is not sent yet.
type Body struct {
	json   *jsonstream.Writer
	make   func(w *jsonstream.Writer)
	ctx    context.Context
	most   int64
	held   []byte
	size   int64
	room   bool // there is room for held
	digest digest
}

var bodies = sync.Pool{New: func() any { return &Body{json: jsonstream.NewWriter(nil)} }}

// MakeBody makes a body by a function that writes the same each time. Free it when it was sent. ErrLarge is the
// error of one of more bytes than most.
func MakeBody(ctx context.Context, most int64, write func(w *jsonstream.Writer)) (*Body, error) {
	b := bodies.Get().(*Body)
	*b = Body{json: b.json, held: b.held[:0], make: write, ctx: ctx, most: most, digest: newDigest()}
	b.json.Reset(b)
	write(b.json)
	if err := b.json.Flush(); err != nil {
		b.Free()
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return b, nil
}

// Write takes the next piece of what is made.
func (b *Body) Write(p []byte) (int, error) {
	before := b.size
	if b.size += int64(len(p)); b.size > b.most {
		return 0, ErrLarge
	}
	if !b.room && b.size > budget.Free {
		if err := budget.Of(b.ctx).Hold(b.ctx, 2*maxHeld); err != nil {
			return 0, err
		}
		b.room = true
	}
	if !b.Long() {
		b.held = append(b.held, p...)
		return len(p), nil
	}
	if before <= maxHeld {
		_, _ = b.digest.Write(b.held) // never fails
		b.held = b.held[:0]
	}
	return b.digest.Write(p)
}

// Long reports whether the body is made once more while it is sent.
func (b *Body) Long() bool { return b.size > maxHeld }

// Size is the length in bytes.
func (b *Body) Size() int64 { return b.size }

// Tag is the ETag of the body.
func (b *Body) Tag() string {
	d := b.digest
	if !b.Long() {
		_, _ = d.Write(b.held) // never fails
	}
	return d.tag()
}

// Send writes the body.
func (b *Body) Send(to io.Writer) error {
	if !b.Long() {
		_, err := to.Write(b.held)
		return err
	}
	b.json.Reset(to)
	b.make(b.json)
	return b.json.Flush()
}

// Free gives the memory of the body back.
func (b *Body) Free() {
	b.json.Reset(nil)
	if b.make, b.ctx = nil, nil; cap(b.held) > 2*maxHeld {
		b.held = nil
	}
	bodies.Put(b)
}
