package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/base/mail"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/todo"
)

// SendTimeout is how long one run of Send may take: after slice it goes on in a job of its own.
const SendTimeout = 10 * time.Minute

const (
	slice       = 4 * time.Minute
	maxFailures = 3 // one after the other, before the server gets some rest
)

// RegisterJobs says how mail is sent.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Send, job.On(job.Mail), job.Attempts(15), job.Timeout(SendTimeout))
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(r, 24*time.Hour, Sweep{})
	job.Register(r, s.Due, job.On(job.Mail), job.Unique(), job.Low())
	job.Every(r, time.Hour, Due{})
}

// Send sends the mails of an event. Who gets one, and may know, is decided now. What was sent
// is written down at once: a job that is tried again leaves it out, so that after a crash only the
// mail that was on its way then may come twice, with the same Message-ID.
func (s *Service) Send(ctx context.Context, m Mailing) error {
	if s.Out.Sender == nil || s.Settings.Current().SilentModeEnabled {
		return nil // it was switched off since
	}
	if m.Event == movedProject && m.On == todo.OfGroup {
		return s.spread(ctx, m)
	}
	t, err := s.topic(ctx, m)
	if t == nil || err != nil || m.lapsed(t) {
		return err
	}
	on, err := s.enabled(ctx, t)
	if !on || err != nil {
		return err
	}
	list, err := s.recipients(ctx, m, t)
	if err != nil {
		return err
	}
	sent, err := s.delivered(ctx, m.ID)
	if err != nil {
		return err
	}
	out := &outbox{sender: s.Out.Sender}
	defer out.close()
	end, failures, failed := time.Now().Add(slice), 0, error(nil)
	for _, r := range list {
		if sent[r.user] {
			continue
		}
		if time.Now().After(end) {
			return errors.Join(failed, s.Jobs.Enqueue(ctx, m))
		}
		done, err := s.sendOne(ctx, out, m, t, r)
		switch {
		case done:
			failures = 0
			err = s.deliver(context.WithoutCancel(ctx), m.ID, r.user)
			if err != nil {
				return err
			}
		case err != nil:
			if failures++; failures == maxFailures || ctx.Err() != nil {
				return err
			}
			failed = err
		}
	}
	return failed
}

// sendOne sends one mail. It is done where the mail was sent or will never be; a user who may
// not have it gets none, and no error.
func (s *Service) sendOne(ctx context.Context, out *outbox, m Mailing, t *topic, r *recipient) (done bool, err error) {
	p, err := s.person(ctx, r)
	if p == nil || err != nil {
		return false, err
	}
	as := authz.Actor{UserID: p.ID, Username: p.Username, Admin: p.Admin, Auditor: p.Auditor, External: p.External}
	ok, err := s.readable(ctx, as, t)
	if !ok || err != nil {
		return false, err
	}
	letter, err := s.compose(ctx, as, m, t, r, p)
	if err != nil {
		return false, err
	}
	err = out.send(ctx, *letter)
	if refused, ok := errors.AsType[*mail.RefusedError](err); ok {
		s.Log.Info("mail was refused", "user", p.Username, "error", refused)
		return true, nil
	}
	return err == nil, err
}

// outbox keeps a connection while mails are sent.
type outbox struct {
	sender *mail.Sender
	conn   *mail.Conn // nil while there is none
}

func (o *outbox) send(ctx context.Context, m mail.Message) error {
	if o.conn == nil {
		var err error
		if o.conn, err = o.sender.Open(ctx); err != nil {
			o.conn = nil
			return err
		}
	}
	err := o.conn.Send(m)
	if _, refused := errors.AsType[*mail.RefusedError](err); err != nil && !refused {
		o.close()
	}
	return err
}

func (o *outbox) close() {
	if o.conn != nil {
		_ = o.conn.Close() // everything was sent, or failed before
		o.conn = nil
	}
}

// person is a user who may get mail.
type person struct {
	ID       authz.UserID `db:"id"`
	Username string       `db:"username"`
	Name     string       `db:"name"`
	Admin    bool         `db:"admin"`
	Auditor  bool         `db:"auditor"`
	External bool         `db:"external"`
	Email    string       `db:"email"`
}

// person reads a recipient: nil where it is no active human whose primary address is confirmed.
// The address is the one that the user chose, while it is the user's own.
func (s *Service) person(ctx context.Context, r *recipient) (*person, error) {
	p, err := db.Get[person](ctx, s.DB, `SELECT u.id, u.username, u.name, u.admin, u.auditor, u.external, e.email FROM users u
		JOIN emails e ON e.user_id = u.id AND e.is_primary AND e.confirmed_at IS NOT NULL AND NOT e.pending
		WHERE u.id = ? AND u.state = 'active' AND u.user_type = 'human'`, r.user)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read recipient: %w", err)
	}
	if r.email != "" {
		own, err := s.owns(ctx, r.user, r.email)
		if err != nil {
			return nil, err
		}
		if own {
			p.Email = r.email
		}
	}
	return &p, nil
}

// enabled reports whether the project, if it is one, and the groups above want mail to be sent.
func (s *Service) enabled(ctx context.Context, t *topic) (bool, error) {
	if p := project.Of(t.Place); p != nil && !p.EmailsEnabled {
		return false, nil
	}
	off, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM namespace_ancestors a JOIN groups g ON g.namespace_id = a.ancestor_id
		WHERE a.namespace_id = ? AND NOT g.emails_enabled)`, t.Place.Namespace)
	if err != nil {
		return false, fmt.Errorf("read whether mail is sent: %w", err)
	}
	return !off, nil
}

// delivered returns who has the mail of an event.
func (s *Service) delivered(ctx context.Context, event string) (map[authz.UserID]bool, error) {
	users, err := db.Select[authz.UserID](ctx, s.DB, "SELECT user_id FROM mail_deliveries WHERE event = ? ORDER BY user_id", event)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	out := make(map[authz.UserID]bool, len(users))
	for _, id := range users {
		out[id] = true
	}
	return out, nil
}

func (s *Service) deliver(ctx context.Context, event string, user authz.UserID) error {
	_, err := db.InsertRow(ctx, s.DB, "mail_deliveries", db.Values{"event": event, "user_id": user, "created_at": db.At(s.Now())}, "ON CONFLICT DO NOTHING")
	if err != nil {
		return fmt.Errorf("write delivery: %w", err)
	}
	return nil
}

// Sweep asks for what was written down of mails to be deleted, once no job asks for it.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "sweep_mail_deliveries" }

// keep is how long deliveries are kept: longer than a job is tried again.
const keep = 7 * 24 * time.Hour

// Sweep deletes what was written down of old mails.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	for {
		n, err := s.DB.Exec(ctx, `DELETE FROM mail_deliveries WHERE (event, user_id) IN (SELECT event, user_id FROM mail_deliveries
			WHERE created_at < ? ORDER BY created_at LIMIT 1000)`, db.At(s.Now().Add(-keep)))
		if err != nil {
			return fmt.Errorf("delete old deliveries: %w", err)
		}
		if n < 1000 {
			return nil
		}
	}
}
