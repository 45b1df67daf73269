package budget

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tenon/internal/base/errs"
)

func TestCut(t *testing.T) {
	t.Parallel()
	short, exact := "word", strings.Repeat("x", MaxRepeated)
	for _, text := range []string{"", short, exact} {
		if got := Cut(text); got != text {
			t.Errorf("a text of %d bytes is cut to %d", len(text), len(got))
		}
	}
	if got := Cut(exact + "y"); got != exact+CutMark {
		t.Errorf("got %d bytes that end in %q", len(got), got[len(got)-30:])
	}
	for _, letter := range []string{"ä", "日", "\U0001f600"} {
		text := "x" + strings.Repeat(letter, MaxRepeated)
		got, ok := strings.CutSuffix(Cut(text), CutMark)
		if !ok || !strings.HasPrefix(text, got) || len(got) > MaxRepeated || len(got) <= MaxRepeated-len(letter) || (len(got)-1)%len(letter) != 0 {
			t.Errorf("%s is cut to %d bytes", letter, len(got))
		}
	}
	if CutAt(nil) != nil || CutAt(&short) != &short || *CutAt(new(exact + "y")) != exact+CutMark {
		t.Error("CutAt does not do as Cut")
	}
}

// TestShare_Reserve has a request wait for the room that another one holds.
func TestShare_Reserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom(MaxList)
		first, leave := room.Enter(t.Context())
		allowed, settle, err := Of(first).Reserve(first, MaxList)
		if err != nil || allowed != MaxList {
			t.Fatalf("reserved %d, %v", allowed, err)
		}
		second, leaveSecond := room.Enter(t.Context())
		began := time.Now()
		if err := Of(second).Take(second, Free+1); !errs.Is(err, errs.Unavailable) || !errors.Is(err, ErrFull) || time.Since(began) != patience {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		gone, cancel := context.WithCancel(second)
		cancel()
		if err := Of(second).Take(gone, Free+1); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
		time.AfterFunc(time.Second, func() { settle(Free) })
		if err := Of(second).Take(second, MaxList-Free); err != nil {
			t.Errorf("room that is free again: %v", err)
		}
		leaveSecond()
		third, leaveThird := room.Enter(t.Context())
		if err := Of(third).Hold(third, MaxList-Free); err != nil {
			t.Errorf("room of a request that has ended: %v", err)
		}
		leaveThird()
		leave()
	})
}

func TestShare_Take(t *testing.T) {
	t.Parallel()
	room := NewRoom(Total)
	ctx, leave := room.Enter(t.Context())
	defer leave()
	s := Of(ctx)
	if s.Spare() != Free {
		t.Errorf("a new request may read %d bytes", s.Spare())
	}
	for range 2 {
		if err := s.Take(ctx, MaxList); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Take(ctx, 1); !errors.Is(err, ErrRequest) {
		t.Errorf("more than a request may read: %v", err)
	}
	again, leaveAgain := Again(ctx)
	defer leaveAgain()
	if err := Of(again).Take(again, MaxList); err != nil {
		t.Errorf("the next answer of a request: %v", err)
	}
	if Of(Apart(ctx)) != nil || Of(t.Context()) != nil {
		t.Error("a request that is not counted has a share")
	}
	var none *Share
	if err := none.Take(t.Context(), 1<<40); err != nil || none.Hold(t.Context(), 1<<40) != nil {
		t.Errorf("what is not counted: %v", err)
	}
}

func TestSum_Add(t *testing.T) {
	t.Parallel()
	var s Sum
	if err := s.Add(MaxList); err != nil {
		t.Errorf("a list of %d bytes: %v", MaxList, err)
	}
	if err := s.Add(1); !errs.Is(err, errs.Unprocessable) {
		t.Errorf("one byte more: %v", err)
	}
}
