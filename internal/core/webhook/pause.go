package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
)

// How failures of a hook count, one delivery with its repeats once: so many in a row are tolerated, then the hook pauses, each time twice
// as long, and after the last it is disabled for good. Hooks of the instance never are.
const (
	tolerated   = 3
	lastFailure = 40
	firstPause  = time.Minute
	longest     = 24 * time.Hour
)

// pauseAfter is how long a hook pauses after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	out := firstPause
	for range failures - tolerated - 1 {
		if out *= 2; out >= longest {
			return longest
		}
	}
	return out
}

// succeed forgets the failures of a hook. It takes no statement where there are none.
func (s *Service) succeed(ctx context.Context, h *Hook) error {
	if h.Failures == 0 && !h.Disabled && !h.DisabledUntil.Valid {
		return nil
	}
	_, err := s.DB.Exec(ctx, "UPDATE webhooks SET failures = 0, disabled = ?, disabled_until = NULL, disabled_reason = NULL WHERE id = ?", false, h.ID)
	return err
}

// Warner warns those who look after a hook of a project or group, in the transaction that stops the hook.
type Warner interface {
	// HookStopped says that a hook is now TemporarilyDisabled, for the first time since it was called with success, or DisabledForGood.
	HookStopped(ctx context.Context, hook int64, now string) error
}

// failed counts a delivery that failed for good. The first pause, and the end, are announced.
func (s *Service) failed(ctx context.Context, h *Hook, a *attempt) error {
	if h.NamespaceID == nil {
		return nil
	}
	now := s.Now()
	stopped := Executable
	_, err := db.Update(ctx, s.DB, db.Row{Table: "webhooks", ID: h.ID}, func(_ context.Context, h *Hook) error {
		stopped = Executable
		h.Failures = min(h.Failures+1, lastFailure)
		if h.Failures <= tolerated {
			return nil
		}
		reason := a.reason()
		h.Reason = &reason
		if h.Failures >= lastFailure {
			if !h.Disabled {
				stopped = DisabledForGood
			}
			h.Disabled, h.DisabledUntil = true, db.NullTime{}
			return nil
		}
		if h.Failures == tolerated+1 {
			stopped = TemporarilyDisabled
		}
		h.DisabledUntil = db.NullTime{V: db.At(now.Add(pauseAfter(h.Failures))), Valid: true}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count failure of webhook: %w", err)
	}
	if stopped == Executable {
		return nil
	}
	return s.Warner.HookStopped(ctx, int64(h.ID), string(stopped))
}

// maxReason is how many bytes of a failure the hook shows.
const maxReason = 500

// reason says why a call failed.
func (a *attempt) reason() string {
	if a.Status == 0 {
		return budget.Begin(strings.Join(strings.Fields(a.ResponseBody), " "), maxReason)
	}
	return fmt.Sprintf("The receiver answered %d", a.Status)
}
