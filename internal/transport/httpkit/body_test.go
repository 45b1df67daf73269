package httpkit

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"tenon/internal/base/budget"
	"tenon/internal/base/errs"
	"tenon/internal/base/jsonstream"
)

func TestMakeBody(t *testing.T) {
	t.Parallel()
	tags := map[string]bool{}
	for _, length := range []int{0, 1, 15, 16, 17, budget.Free, maxHeld - 3, maxHeld, maxHeld + 100_000, 5 << 20} {
		text := strings.Repeat("x", length)
		made := 0
		b, err := MakeBody(t.Context(), 6<<20, func(w *jsonstream.Writer) {
			made++
			w.Value(text)
		})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := b.Send(&out); err != nil || out.String() != `"`+text+`"` || b.Size() != int64(length+2) {
			t.Errorf("%d bytes: sent %d, size %d, %v", length, out.Len(), b.Size(), err)
		}
		if want := 1 + length/maxHeld; made != min(want, 2) && length != maxHeld-3 || cap(b.held) > 3*maxHeld {
			t.Errorf("%d bytes: made %d times, %d held", length, made, cap(b.held))
		}
		if b.Tag() != ETag(out.Bytes()) {
			t.Errorf("%d bytes: the tag is not that of the body", length)
		}
		tags[b.Tag()] = true
		b.Free()
	}
	if len(tags) != 10 {
		t.Errorf("%d tags of 10 bodies", len(tags))
	}
	if _, err := MakeBody(t.Context(), 6<<20, func(w *jsonstream.Writer) { w.Value(strings.Repeat("\x00", 1<<20)) }); !errors.Is(err, ErrLarge) {
		t.Errorf("too large a body: %v", err)
	}
}

// TestMakeBody_room refuses a body that finds no room.
func TestMakeBody_room(t *testing.T) {
	t.Parallel()
	room := budget.NewRoom(maxHeld)
	ctx, leave := room.Enter(t.Context())
	defer leave()
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := MakeBody(canceled, 6<<20, func(w *jsonstream.Writer) { w.Value(strings.Repeat("x", budget.Free)) }); err == nil || errs.Is(err, errs.Unprocessable) {
		t.Errorf("got %v", err)
	}
	b, err := MakeBody(canceled, 6<<20, func(w *jsonstream.Writer) { w.Value("short") })
	if err != nil {
		t.Fatalf("a short body takes no room: %v", err)
	}
	b.Free()
}
