package safehttp

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

// TestMeter counts what comes with a clock of its own.
func TestMeter(t *testing.T) {
	t.Parallel()
	type piece struct {
		after time.Duration
		bytes int
	}
	many := func(n int, p piece) []piece {
		all := make([]piece, n)
		for i := range all {
			all[i] = p
		}
		return all
	}
	for _, tt := range []struct {
		name   string
		pieces []piece
		slow   bool
	}{
		{"faster than it must", many(1000, piece{time.Second, 2000}), false},
		{"a drop each second", many(1000, piece{time.Second, 1}), true},
		{"just below", many(1000, piece{time.Second, 999}), true},
		{"a burst now and then", many(10, piece{50 * time.Second, 10_000}), true},
		{"large bursts now and then", many(10, piece{50 * time.Second, 100_000}), false},
		{"slow for less than the window", many(100, piece{time.Second, 1}), false},
		{"silence between two requests", many(10, piece{10 * time.Minute, 1}), false},
		{"fast, then slow", append(many(500, piece{time.Second, 5000}), many(500, piece{time.Second, 5})...), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(0, 0)
			m := meter{pace: Pace{Floor: 1000, Window: 2 * time.Minute, Now: func() time.Time { return now }}}
			var err error
			for _, p := range append([]piece{{0, 1}}, tt.pieces...) {
				now = now.Add(p.after)
				if err = m.arrived(p.bytes); err != nil {
					break
				}
			}
			if got := errors.Is(err, ErrTooSlow); got != tt.slow {
				t.Errorf("too slow: %v (%v), want %v", got, err, tt.slow)
			}
		})
	}
}

// slowBody moves the clock with every byte.
type slowBody struct {
	now   *time.Time
	steps []time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.steps) == 0 {
		return 0, io.EOF
	}
	*b.now = b.now.Add(b.steps[0])
	b.steps = b.steps[1:]
	p[0] = 'x'
	return 1, nil
}

func TestPace_Reader(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	pace := Pace{Floor: 10, Window: time.Minute, Now: func() time.Time { return now }}
	steps := make([]time.Duration, 100)
	for i := range steps {
		steps[i] = time.Second
	}
	read := func(pace Pace, body io.Reader, spend time.Duration) (int, error) {
		r, n := pace.Reader(body, func() { t.Error("stopped although something came") }), 0
		for {
			got, err := r.Read(make([]byte, 10))
			n += got
			now = now.Add(spend) // what the reader does meanwhile does not count
			if err != nil {
				return n, err
			}
		}
	}
	if n, err := read(pace, &slowBody{&now, steps}, 0); !errors.Is(err, ErrTooSlow) || n != 60 {
		t.Errorf("a byte a second: %d bytes, %v, want 60 and too slow", n, err)
	}
	if n, err := read(Pace{}, &slowBody{&now, steps}, 0); !errors.Is(err, io.EOF) || n != 100 {
		t.Errorf("without a pace: %d bytes, %v, want all", n, err)
	}
	if n, err := read(pace, bytes.NewReader(make([]byte, 1000)), time.Minute); !errors.Is(err, io.EOF) || n != 1000 {
		t.Errorf("a slow reader: %d bytes, %v, want all", n, err)
	}
}

// A server that sends nothing more is left.
func TestPace_Reader_stall(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	r := Pace{Floor: 1, Window: 20 * time.Millisecond}.Reader(in, func() { _ = out.CloseWithError(io.ErrClosedPipe) })
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, ErrTooSlow) {
		t.Errorf("got %d bytes, %v, want too slow", n, err)
	}
}
