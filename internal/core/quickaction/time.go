package quickaction

import (
	"context"
	"strings"
	"time"

	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/timelog"
)

// times are the commands of time tracking.
func (s *Service) times() []Action {
	return []Action{
		metadata(both, s.estimate, "estimate", "estimate_time"),
		metadata(both, s.removeEstimate, "remove_estimate", "remove_time_estimate"),
		metadata(both, s.spend, "spend", "spent", "spend_time"),
		metadata(both, s.removeSpent, "remove_time_spent"),
	}
}

// track registers a change of the time of the thing.
func (s *Service) track(c *Call, change timelog.Change) {
	c.After(func(ctx context.Context) error {
		var err error
		if c.Merge() {
			_, err = s.MergeRequests.TrackTime(ctx, c.As, c.Project, mergerequest.IID(*c.Target.IID), change)
		} else {
			_, err = s.Issues.TrackTime(ctx, c.As, c.Project, issue.IID(*c.Target.IID), change)
		}
		return err
	})
}

func (s *Service) estimate(_ context.Context, c *Call) error {
	n, ok := timelog.Parse(c.Argument)
	if !ok || n < 0 {
		return nil
	}
	duration := c.Argument
	s.track(c, timelog.Change{Estimate: &duration})
	c.Set("time_estimate", n)
	c.Say("Set time estimate to %s.", s.Times.Human(n))
	return nil
}

func (s *Service) removeEstimate(_ context.Context, c *Call) error {
	none := "0"
	s.track(c, timelog.Change{Estimate: &none})
	c.Set("time_estimate", 0)
	c.Say("Removed time estimate.")
	return nil
}

// instant is how changes write times.
const instant = "2006-01-02T15:04:05.000Z"

func (s *Service) spend(_ context.Context, c *Call) error {
	now := s.Now().UTC()
	duration, at := c.Argument, now
	if i := strings.LastIndexByte(duration, ' '); i > 0 {
		if day, err := time.Parse(time.DateOnly, duration[i+1:]); err == nil {
			duration, at = duration[:i], day
		}
	}
	n, ok := timelog.Parse(duration)
	if !ok || n == 0 || at.After(now) {
		return nil
	}
	s.track(c, timelog.Change{Spend: duration, SpentAt: &at})
	c.Set("spend_time", map[string]any{"duration": n, "user_id": c.As.UserID, "spent_at": at.Format(instant)})
	if n < 0 {
		c.Say("Subtracted %s spent time.", s.Times.Human(-n))
	} else {
		c.Say("Added %s spent time.", s.Times.Human(n))
	}
	return nil
}

func (s *Service) removeSpent(_ context.Context, c *Call) error {
	s.track(c, timelog.Change{Reset: true})
	c.Set("spend_time", map[string]any{"duration": "reset", "user_id": c.As.UserID})
	c.Say("Removed spent time.")
	return nil
}
