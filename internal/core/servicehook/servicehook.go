// Package servicehook notifies integrations of events: chats, builds elsewhere, trackers. What each kind sends is in its file of
// [kind]; here is which are notified, when, and how often it is tried.
package servicehook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/base/mail"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/account"
	"tenon/internal/core/appearance"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/integration"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

const (
	callTimeout = 10 * time.Second
	jobTimeout  = 5 * time.Minute // of all calls about one event
	maxAttempts = 3
	maxAnswer   = 256 << 10
)

// Call is an event that an integration is to be notified of.
type Call struct {
	ID            int64          `db:"id"`
	IntegrationID integration.ID `db:"integration_id"`
	Trigger       string         `db:"trigger_name"`
	Body          string         `db:"body"`
	HappenedAt    db.Time        `db:"happened_at"`
	Attempts      int            `db:"attempts"`
	Done          int            `db:"done"` // recipients of mail who have theirs
}

// Deps is what a Service is made of.
type Deps struct {
	DB           *db.DB
	Settings     *setting.Store
	Integrations *integration.Service
	Outbound     *safehttp.Dialer
	Accounts     *account.Service
	Projects     *project.Service
	Repos        *repo.Service
	CI           *ci.Service
	Appearance   *appearance.Service
	Sender       *mail.Sender `wire:"optional"` // nil sends no mail
	URLs         *weburl.Site
	Jobs         job.Enqueuer
	Log          *slog.Logger
}

// Service notifies integrations of events. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// send is the job that notifies one integration of one event.
type send struct {
	ID        int64             `json:"id"`
	Namespace authz.NamespaceID `json:"namespace_id"`
}

// Kind names the job.
func (send) Kind() string { return "integration_call" }

// write is the job that sends the mails of one integration about one event.
type write send

// Kind names the job.
func (write) Kind() string { return "integration_mail" }

// RegisterJobs says how integrations are notified.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.send, job.On(job.Outbound), job.Attempts(maxAttempts), job.Timeout(jobTimeout))
	job.Register(r, func(ctx context.Context, w write) error { return s.send(ctx, send(w)) }, job.On(job.Mail), job.Attempts(maxAttempts), job.Timeout(mailTimeout))
}

// ofPlace reports whether an event is one about which integrations of its place are notified: all of projects, and of groups pages of their wikis.
func ofPlace(t payload.Trigger, at authz.NamespaceID, inProject bool) bool {
	return inProject || t == payload.WikiPage && at != 0
}

// Listening asks for integrations of the project or group that react to the trigger.
func (s *Service) Listening(a payload.Audience) (query string, args []any) {
	if !ofPlace(a.Trigger, a.Namespace, a.Project != 0) {
		return "", nil
	}
	return integration.Reacting(a.Namespace, string(a.Trigger))
}

// Receive writes down which integrations of the project or group are notified of an event.
func (s *Service) Receive(ctx context.Context, m *payload.Message) error {
	if !ofPlace(m.Trigger, m.Namespace, m.Project != nil) {
		return nil
	}
	all, err := s.Integrations.Load(ctx, m.Namespace)
	if err != nil || len(all) == 0 {
		return err
	}
	e, labels, err := s.event(string(m.Trigger), m.JSON, m.At)
	if err != nil {
		return err
	}
	for _, i := range all {
		if !selects(i, e.For(i.Kind, &i.Flags), labels) || i.Kind.Class == kind.Mail && s.Sender == nil {
			continue
		}
		c := &Call{IntegrationID: i.ID, Trigger: string(m.Trigger), Body: string(m.JSON), HappenedAt: db.At(m.At)}
		if err := db.Create(ctx, s.DB, "integration_calls", c); err != nil {
			return err
		}
		var next job.Args = send{c.ID, m.Namespace}
		if i.Kind.Class == kind.Mail {
			next = write{c.ID, m.Namespace}
		}
		if err := s.Jobs.Enqueue(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// send does the job. What was deleted, switched off or silenced meanwhile is not notified.
func (s *Service) send(ctx context.Context, j send) error {
	c, err := db.Get[Call](ctx, s.DB, "SELECT "+columns+" FROM integration_calls c WHERE c.id = ?", j.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read call of integration: %w", err)
	}
	if _, err := s.DB.Exec(ctx, "UPDATE integration_calls SET attempts = attempts + 1 WHERE id = ?", c.ID); err != nil {
		return fmt.Errorf("count call of integration: %w", err)
	}
	i, failed := s.notify(ctx, j.Namespace, &c)
	if failed != nil && again(failed) && c.Attempts+1 < maxAttempts {
		return failed
	}
	if failed != nil {
		s.Log.WarnContext(ctx, "integration was not notified of an event", slog.String("kind", i.Slug), slog.Int64("integration", int64(i.ID)),
			slog.String("event", c.Trigger), slog.Any("error", failed))
	}
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "integration_calls", ID: c.ID}); err != nil {
		return fmt.Errorf("end call of integration: %w", err)
	}
	return nil
}

var columns = db.Columns[Call]("c")

// notify calls the other service.
func (s *Service) notify(ctx context.Context, at authz.NamespaceID, c *Call) (*integration.Integration, error) {
	found, err := s.Integrations.Load(ctx, at, c.IntegrationID)
	if err != nil || len(found) == 0 || s.Settings.Current().SilentModeEnabled {
		return &integration.Integration{}, err
	}
	i := found[0]
	e, labels, err := s.event(c.Trigger, []byte(c.Body), c.HappenedAt.Time)
	if err != nil {
		return i, err
	}
	if e = e.For(i.Kind, &i.Flags); !selects(i, e, labels) {
		return i, nil
	}
	all, err := s.Integrations.Opened(i)
	if err != nil {
		return i, err
	}
	if i.Kind.Class == kind.Mail {
		return i, s.mail(ctx, c, at, all, e)
	}
	e.Comments = i.Flags.CommentOnEvent
	return i, i.Kind.Send(ctx, caller{s.Outbound}, all, e)
}

// again reports whether another attempt may succeed.
func again(err error) bool {
	if _, blocked := errors.AsType[*safehttp.BlockedError](err); blocked {
		return false
	}
	if _, refused := errors.AsType[*mail.RefusedError](err); refused {
		return false
	}
	refused, ok := errors.AsType[*kind.StatusError](err)
	return !ok || refused.Passing()
}
