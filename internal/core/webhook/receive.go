package webhook

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"tenon/internal/base/db"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/payload"
)

const (
	// maxBody is the largest body that is sent, in bytes.
	maxBody = 25 << 20

	// oversize is what is kept of a larger one.
	oversize = `{"oversize":true}`

	// maxChain is how many calls one event leads to.
	maxChain = 100
)

// unsent is when a delivery is due before its first attempt, so that these keep the order of events.
var unsent = db.At(time.Unix(0, 0))

// body is what hooks get of an event.
type body struct {
	ID        int64             `db:"id"`
	PlaceID   authz.NamespaceID `db:"place_id"` // 0 for the instance
	MakerID   authz.UserID      `db:"maker_id"` // 0 for the server
	Chain     string            `db:"chain"`
	Event     payload.Trigger   `db:"event"`
	At        db.Time           `db:"at"`
	Content   []byte            `db:"content"` // compressed
	Size      int64             `db:"size"`    // of the whole
	Bytes     int64             `db:"bytes"`
	CreatedAt db.Time           `db:"created_at"`
}

// delivery is a body that a hook waits for.
type delivery struct {
	ID             int64   `db:"id"`
	HookID         ID      `db:"webhook_id"`
	BodyID         int64   `db:"body_id"`
	IdempotencyKey string  `db:"idempotency_key"`
	Attempts       int     `db:"attempts"`
	DueAt          db.Time `db:"due_at"`
	CreatedAt      db.Time `db:"created_at"`
}

// flags are the triggers that hooks of projects and groups have a column for, and those that hooks of the instance have one for.
var (
	placeTriggers = []payload.Trigger{
		payload.Push, payload.TagPush, payload.Issue, payload.ConfidentialIssue, payload.Note, payload.ConfidentialNote, payload.MergeRequest, payload.Job,
		payload.Pipeline, payload.WikiPage, payload.Deployment, payload.FeatureFlag, payload.Release, payload.Milestone, payload.Emoji,
		payload.ResourceAccessToken, payload.Member, payload.Subgroup, payload.Project,
	}
	systemTriggers = []payload.Trigger{payload.Push, payload.TagPush, payload.MergeRequest, payload.RepositoryUpdate}
)

// wanting are conditions for the hooks that want to be notified of an event and may be called: of a project and the groups above it, and
// of the instance. A condition without a text has none.
func (s *Service) wanting(trigger payload.Trigger, in authz.NamespaceID) (places, instance db.Where) {
	now := db.At(s.Now())
	callable := func(w *db.Where) {
		w.And("NOT h.disabled AND (h.disabled_until IS NULL OR h.disabled_until <= ?)", now)
	}
	if in != 0 && slices.Contains(placeTriggers, trigger) {
		places.And("h.namespace_id IN "+namespace.AboveSQL, in)
		places.Raw("h." + string(trigger))
		callable(&places)
	}
	switch {
	case slices.Contains(systemTriggers, trigger):
		instance.Raw("h.namespace_id IS NULL AND h." + string(trigger))
		callable(&instance)
	case trigger == payload.System:
		instance.Raw("h.namespace_id IS NULL")
		callable(&instance)
	}
	return places, instance
}

// Listening is part of payload.Recipient.
func (s *Service) Listening(a payload.Audience) (query string, args []any) {
	var parts []string
	places, instance := s.wanting(a.Trigger, a.Namespace)
	for _, w := range []*db.Where{&places, &instance} {
		if w.SQL() != "" {
			parts, args = append(parts, "SELECT 1 AS n FROM webhooks h"+w.SQL()), append(args, w.Args()...)
		}
	}
	return strings.Join(parts, " UNION ALL "), args
}

// Receive is part of payload.Recipient. It writes the body once, a delivery for each hook that wants it, and has the hooks called.
func (s *Service) Receive(ctx context.Context, m *payload.Message) error {
	if s.Settings.Current().SilentModeEnabled {
		return nil
	}
	hooks, err := s.listeners(ctx, m)
	if err != nil || len(hooks) == 0 {
		return err
	}
	hooks, err = s.unchained(ctx, m, hooks)
	if err != nil || len(hooks) == 0 {
		return err
	}
	b, err := s.newBody(m)
	if err != nil {
		return err
	}
	if err := db.Create(ctx, s.DB, "webhook_bodies", b); err != nil {
		return err
	}
	now := db.At(s.Now())
	rows := make([]delivery, len(hooks))
	for i, h := range hooks {
		rows[i] = delivery{HookID: h.ID, BodyID: b.ID, IdempotencyKey: uuid.NewString(), DueAt: unsent, CreatedAt: now}
	}
	if _, err := db.InsertAll(ctx, s.DB, "webhook_deliveries", rows); err != nil {
		return err
	}
	for _, h := range hooks {
		if h.LeasedUntil.Valid && h.LeasedUntil.V.After(now.Time) {
			continue // the worker that has the hook looks again before it leaves
		}
		if err := s.enqueue(ctx, h.ID, lane(h.Slow)); err != nil {
			return err
		}
	}
	return nil
}

// listener is what Receive needs of a hook.
type listener struct {
	ID          ID          `db:"id"`
	Filter      *string     `db:"push_events_branch_filter"`
	Strategy    string      `db:"branch_filter_strategy"`
	Slow        bool        `db:"slow"`
	LeasedUntil db.NullTime `db:"leased_until"`
}

// listeners locks the hooks that want a message, by id.
func (s *Service) listeners(ctx context.Context, m *payload.Message) ([]listener, error) {
	var out []listener
	places, instance := s.wanting(m.Trigger, m.Namespace)
	for _, w := range []*db.Where{&places, &instance} {
		if w.SQL() == "" {
			continue
		}
		found, err := db.Select[listener](ctx, s.DB, "SELECT "+db.Columns[listener]("h")+" FROM webhooks h"+w.SQL()+" ORDER BY h.id"+s.DB.Dialect().ForUpdate(), w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("hooks for an event: %w", err)
		}
		out = append(out, found...)
	}
	if m.Trigger == payload.Push {
		branch := strings.TrimPrefix(m.Ref, "refs/heads/")
		out = slices.DeleteFunc(out, func(h listener) bool { return !matches(h.Strategy, h.Filter, branch) })
	}
	slices.SortFunc(out, func(a, b listener) int { return int(a.ID - b.ID) })
	return out, nil
}

// matches reports whether a branch filter lets a branch through. Expressions were checked when they were stored.
func matches(strategy string, filter *string, branch string) bool {
	switch {
	case filter == nil || strategy == AllBranches:
		return true
	case strategy == Wildcard:
		return pattern.Wildcard(*filter, branch)
	}
	re, err := pattern.Compile(*filter)
	return err == nil && (re == nil || re.MatchString(branch))
}

// unchained leaves out the hooks that were called before in the chain of calls that led to a message, and all where the chain is too long.
func (s *Service) unchained(ctx context.Context, m *payload.Message, hooks []listener) ([]listener, error) {
	const query = `SELECT d.webhook_id FROM webhook_bodies b JOIN webhook_deliveries d ON d.body_id = b.id WHERE b.chain = ? AND b.at < ?
		UNION SELECT t.webhook_id FROM webhook_bodies b JOIN webhook_attempts t ON t.body_id = b.id WHERE b.chain = ? AND b.at < ? LIMIT 100`
	at := db.At(m.At)
	called, err := db.Select[ID](ctx, s.DB, query, m.Chain, at, m.Chain, at)
	if err != nil {
		return nil, fmt.Errorf("chain of hooks: %w", err)
	}
	if len(called) >= maxChain {
		return nil, nil
	}
	hooks = slices.DeleteFunc(hooks, func(h listener) bool { return slices.Contains(called, h.ID) })
	return hooks[:min(len(hooks), maxChain-len(called))], nil
}

// newBody compresses the body of a message. One that is too large to be sent is not kept.
func (s *Service) newBody(m *payload.Message) (*body, error) {
	text := m.JSON
	if len(text) > maxBody {
		text = []byte(oversize)
	}
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compress body: %w", err)
	}
	if _, err := z.Write(text); err != nil {
		return nil, fmt.Errorf("compress body: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress body: %w", err)
	}
	return &body{
		PlaceID: m.Namespace, MakerID: m.By, Chain: m.Chain, Event: m.Trigger, At: db.At(m.At), Content: packed.Bytes(), Size: int64(len(m.JSON)),
		Bytes: int64(packed.Len()), CreatedAt: db.At(s.Now()),
	}, nil
}

// text is the body as it is sent.
func (b *body) text() ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b.Content)), maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("decompress body: %w", err)
	}
	return out, nil
}
