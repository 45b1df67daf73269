package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/payload"
)

// AttemptID identifies an attempt.
type AttemptID int64

const (
	// keptFor is how long attempts are kept.
	keptFor = 7 * 24 * time.Hour

	// maxListed is the largest body in a list of attempts, in bytes.
	maxListed = 64 << 10
)

// Attempt is a call that was made, as it is shown.
type Attempt struct {
	ID              AttemptID
	URL             string // variables by their names, without user name and password
	Trigger         string // such as push_hooks
	RequestHeaders  map[string]string
	RequestData     json.RawMessage // the body; {"oversize":true} in lists where it is large
	ResponseHeaders map[string]string
	ResponseBody    string // or why there was no answer
	Duration        time.Duration
	Status          int // 0 where there was no answer
	CreatedAt       time.Time
}

// Statuses that a filter of attempts names beside codes.
const (
	Successful    = "successful"
	ClientFailure = "client_failure"
	ServerFailure = "server_failure"
)

// AttemptFilter selects from the attempts of a hook.
type AttemptFilter struct {
	Statuses []string // codes, or Successful, ClientFailure and ServerFailure; none is any
	page.Range
}

// logged is an attempt with its body.
type logged struct {
	attempt
	Event   payload.Trigger `db:"event,readonly"`
	Content []byte          `db:"content,readonly"`
	Size    int64           `db:"size,readonly"`
}

const loggedFrom = "webhook_attempts t"

// loggedColumns are those of an attempt and its body, without contents that are larger than so many bytes. Bodies are not joined, so that
// attempts are counted without them.
func loggedColumns(most int64) string {
	body := func(column string) string {
		return "(SELECT " + column + " FROM webhook_bodies b WHERE b.id = t.body_id)"
	}
	return db.Columns[attempt]("t") + ", " + body("b.event") + " AS event, " + body("b.size") + " AS size, " +
		body(fmt.Sprintf("CASE WHEN b.size <= %d THEN b.content END", most)) + " AS content"
}

// recentSQL are the attempts since a time, by their ids, which ascend with time: these are in the index of a hook.
const recentSQL = "t.id > COALESCE((SELECT o.id FROM webhook_attempts o WHERE o.created_at <= ? ORDER BY o.created_at DESC, o.id DESC LIMIT 1), 0)"

// statuses is the condition for the attempts with one of these statuses.
func statuses(w *db.Where, names []string) {
	if len(names) == 0 {
		return
	}
	var cond string
	var args []any
	or := func(text string, more ...any) {
		if cond != "" {
			cond += " OR "
		}
		cond, args = cond+text, append(args, more...)
	}
	for _, name := range names {
		switch name {
		case Successful:
			or("t.status BETWEEN 200 AND 399")
		case ClientFailure:
			or("t.status BETWEEN 400 AND 499")
		case ServerFailure:
			or("(t.status >= 500 OR t.status = 0)")
		default:
			code, err := strconv.Atoi(name)
			if err != nil {
				code = -1
			}
			or("t.status = ?", code)
		}
	}
	w.And("("+cond+")", args...)
}

// Attempts returns a page of the attempts of a hook of the last 7 days, the newest first, for those who may change the hook.
func (s *Service) Attempts(ctx context.Context, as authz.Actor, at authz.Place, id ID, f AttemptFilter) (page.Page[Attempt], error) {
	none := page.Page[Attempt]{}
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return none, err
	}
	if _, err := s.find(ctx, at, id); err != nil {
		return none, err
	}
	var w db.Where
	w.And("t.webhook_id = ? AND "+recentSQL, id, db.At(s.Now().Add(-keptFor)))
	statuses(&w, f.Statuses)
	list, err := page.Select[logged](ctx, s.DB, page.Query{
		Columns: loggedColumns(maxListed), From: loggedFrom, Where: w, Order: page.Order{page.ID("t.id")}.Desc(),
	}, f.Range)
	if err != nil {
		return none, errs.Wrap(err, "list attempts of webhook")
	}
	items := make([]Attempt, len(list.Items))
	for i := range list.Items {
		if items[i], err = list.Items[i].show(); err != nil {
			return none, err
		}
	}
	return page.With(list, items), nil
}

// Attempt returns an attempt of a hook with the whole body.
func (s *Service) Attempt(ctx context.Context, as authz.Actor, at authz.Place, id ID, attempt AttemptID) (*Attempt, error) {
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return nil, err
	}
	if _, err := s.find(ctx, at, id); err != nil {
		return nil, err
	}
	found, err := s.logged(ctx, id, attempt)
	if err != nil {
		return nil, err
	}
	out, err := found.show()
	return &out, err
}

func (s *Service) logged(ctx context.Context, id ID, attempt AttemptID) (*logged, error) {
	out, err := db.Get[logged](ctx, s.DB, "SELECT "+loggedColumns(math.MaxInt64)+" FROM "+loggedFrom+" WHERE t.id = ? AND t.webhook_id = ?", attempt, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find attempt of webhook: %w", err)
	}
	return &out, nil
}

// show is an attempt as it is shown.
func (l *logged) show() (Attempt, error) {
	out := Attempt{
		ID: AttemptID(l.ID), URL: l.URL, Trigger: triggerOf(l.Event), ResponseBody: l.ResponseBody, Duration: time.Duration(l.Duration) * time.Microsecond,
		Status: l.Status, CreatedAt: l.CreatedAt.Time, RequestData: json.RawMessage(oversize),
	}
	if err := json.Unmarshal([]byte(l.RequestHeaders), &out.RequestHeaders); err != nil {
		return out, fmt.Errorf("read headers of attempt: %w", err)
	}
	if err := json.Unmarshal([]byte(l.ResponseHeaders), &out.ResponseHeaders); err != nil {
		return out, fmt.Errorf("read headers of attempt: %w", err)
	}
	if l.Content == nil {
		return out, nil
	}
	text, err := (&body{Content: l.Content}).text()
	out.RequestData = text
	return out, err
}

// triggerOf names a trigger as the log does: push_hooks for push_events.
func triggerOf(t payload.Trigger) string {
	switch t {
	case payload.Issue:
		return "issue_hooks"
	case payload.ConfidentialIssue:
		return "confidential_issue_hooks"
	case payload.MergeRequest:
		return "merge_request_hooks"
	case payload.Release:
		return "release_hooks"
	case payload.System:
		return "system_hooks"
	}
	text := string(t)
	return text[:len(text)-len("_events")] + "_hooks"
}

// CodeFailed is the error of a call that failed while its caller waited.
const CodeFailed errs.Code = "webhook_call_failed"

// Resend makes the call of an attempt again, with the same body and Idempotency-Key, and returns the status of the answer.
func (s *Service) Resend(ctx context.Context, as authz.Actor, at authz.Place, id ID, attempt AttemptID) (int, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return 0, err
	}
	h, err := s.find(ctx, at, id)
	if err != nil {
		return 0, err
	}
	l, err := s.logged(ctx, id, attempt)
	if err != nil {
		return 0, err
	}
	if err := s.Limits.CheckIn(limit.WebhookResend, as, int64(h.ID), ""); err != nil {
		return 0, err
	}
	b, err := db.Get[body](ctx, s.DB, "SELECT "+db.Columns[body]("b")+" FROM webhook_bodies b WHERE b.id = ?", l.BodyID)
	if err != nil {
		return 0, fmt.Errorf("read body of attempt: %w", err)
	}
	return s.now(ctx, h, &b, l.IdempotencyKey)
}

// now calls a hook for a caller who waits, and records the attempt. A call that succeeds ends a pause.
func (s *Service) now(ctx context.Context, h *Hook, b *body, key string) (int, error) {
	if s.Settings.Current().SilentModeEnabled {
		return 0, errs.Coded(errs.Unprocessable, CodeFailed, "Silent mode is enabled")
	}
	text, err := b.text()
	if err != nil {
		return 0, err
	}
	o := s.post(ctx, h, callee{b.Event, key, b.Chain, b.Size}, text)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if b.ID == 0 {
			if err := db.Create(ctx, s.DB, "webhook_bodies", b); err != nil {
				return err
			}
		}
		a, err := s.newAttempt(h, b.ID, key, o)
		if err != nil {
			return err
		}
		n, err := s.DB.Exec(ctx, "UPDATE webhooks SET log_bytes = log_bytes + ? WHERE id = ?", a.Bytes+b.Bytes, h.ID)
		if err != nil || n == 0 {
			return err
		}
		if err := db.Create(ctx, s.DB, "webhook_attempts", a); err != nil {
			return err
		}
		if o.succeeded() {
			return s.succeed(ctx, h)
		}
		return nil
	})
	if err != nil {
		return 0, errs.Wrap(err, "record call of webhook")
	}
	s.counted(o, false)
	if err := s.cleanAfterCalls(ctx); err != nil {
		return 0, err
	}
	if o.failure != "" {
		return 0, errs.Coded(errs.Unprocessable, CodeFailed, o.failure)
	}
	return o.Status, nil
}
