package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
)

// issueDue is the event that an issue is due tomorrow.
const issueDue = "issue_due"

// Due asks for mail about the issues that are due tomorrow, in UTC, once a day.
type Due struct{}

// Kind names the job.
func (Due) Kind() string { return "issue_due_mail" }

// dueBatch is how many issues one transaction asks for mail about.
const dueBatch = 200

// Due enqueues the mails about issues that are due tomorrow, those of each day once. Where it was interrupted it goes
// on after the last issue.
func (s *Service) Due(ctx context.Context, _ Due) error {
	if s.Out.Sender == nil {
		return nil
	}
	today := s.Now().UTC()
	for {
		done, err := s.someDue(ctx, today)
		if err != nil {
			return fmt.Errorf("mail about due issues: %w", err)
		}
		if done {
			return nil
		}
	}
}

// dueRun says how far the mails of a day are.
type dueRun struct {
	Day  string   `db:"day"`
	Last issue.ID `db:"last_issue"`
	Done bool     `db:"done"`
}

func (s *Service) someDue(ctx context.Context, today time.Time) (done bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.DB.Lock(ctx, "mail about due issues"); err != nil {
			return err
		}
		run, err := s.dueRun(ctx, today.Format(time.DateOnly))
		if done = run.Done; err != nil || done {
			return err
		}
		tomorrow := today.AddDate(0, 0, 1).Format(time.DateOnly)
		ids, err := db.Select[issue.ID](ctx, s.DB, "SELECT id FROM issues WHERE state = 'opened' AND due_date = ? AND id > ? ORDER BY id LIMIT ?", tomorrow, run.Last, dueBatch)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := s.mail(ctx, Mailing{Event: issueDue, On: noteable.Issue, Target: int64(id), Day: tomorrow}); err != nil {
				return err
			}
			run.Last = id
		}
		done = len(ids) < dueBatch
		_, err = s.DB.Exec(ctx, "UPDATE due_mail_runs SET last_issue = ?, done = ? WHERE day = ?", run.Last, done, run.Day)
		return err
	})
	return done, err
}

// dueRun reads how far the mails of a day are, and begins with them in place of those of former days.
func (s *Service) dueRun(ctx context.Context, day string) (dueRun, error) {
	run, err := db.Get[dueRun](ctx, s.DB, "SELECT "+db.Columns[dueRun]("")+" FROM due_mail_runs WHERE day = ?", day)
	if !errors.Is(err, db.ErrNotFound) {
		return run, err
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM due_mail_runs"); err != nil {
		return run, err
	}
	run = dueRun{Day: day}
	_, err = db.InsertRow(ctx, s.DB, "due_mail_runs", run, "")
	return run, err
}

// lapsed reports whether the issue of a mailing is no longer due on its day, or its hook is in another state.
func (m *Mailing) lapsed(t *topic) bool {
	if m.On == ofHook {
		return (m.Event == disabledHook) != (t.State == disabled)
	}
	return m.Event == issueDue && (t.Due != m.Day || t.State != string(issue.StateOpened))
}
