package webhook

import (
	"context"
	"fmt"
	"time"

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

// failed counts a delivery that failed for good.
func (s *Service) failed(ctx context.Context, h *Hook, a *attempt) error {
	if h.NamespaceID == nil {
		return nil
	}
	now := s.Now()
	_, err := db.Update(ctx, s.DB, db.Row{Table: "webhooks", ID: h.ID}, func(_ context.Context, h *Hook) error {
		h.Failures = min(h.Failures+1, lastFailure)
		if h.Failures <= tolerated {
			return nil
		}
		reason := a.reason()
		h.Reason = &reason
		if h.Failures >= lastFailure {
			h.Disabled, h.DisabledUntil = true, db.NullTime{}
			return nil
		}
		h.DisabledUntil = db.NullTime{V: db.At(now.Add(pauseAfter(h.Failures))), Valid: true}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count failure of webhook: %w", err)
	}
	return nil
}

// reason says why a call failed.
func (a *attempt) reason() string {
	if a.Status == 0 {
		return a.ResponseBody
	}
	return fmt.Sprintf("The receiver answered %d", a.Status)
}
