package importexport

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// working is a writer that takes its time.
type working struct{ each time.Duration }

func (w working) Write(text []byte) (int, error) {
	<-time.After(w.each)
	return len(text), nil
}

// An export rests as long as it worked, 50 ms at most, once it has worked for 4 ms, and not beyond its end.
func TestPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for each, want := range map[time.Duration]time.Duration{
			time.Millisecond: 16 * time.Millisecond, 10 * time.Millisecond: 160 * time.Millisecond, time.Second: 8*time.Second + 400*time.Millisecond,
		} {
			began := time.Now()
			to := newPaced(t.Context(), working{each})
			for range 8 {
				if n, err := to.Write([]byte("abc")); n != 3 || err != nil {
					t.Fatalf("write: %d %v", n, err)
				}
			}
			if took := time.Since(began); took != want {
				t.Errorf("8 writes of %s took %s, want %s", each, took, want)
			}
		}
		ctx, end := context.WithCancelCause(t.Context())
		why := errors.New("the project was deleted")
		end(why)
		if _, err := newPaced(ctx, working{time.Second}).Write(nil); !errors.Is(err, why) {
			t.Errorf("after the end: %v", err)
		}
	})
}
