package notify

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
)

// ofHook is the kind of webhooks, which have mail and no comments.
const ofHook noteable.Kind = "WebHook"

// Events of hooks of projects and groups, for those who may change them.
const (
	pausedHook   = "paused_hook"   // for the first time since it was called with success
	disabledHook = "disabled_hook" // until it is called with success by hand
)

// The statuses of hooks that mail is about.
const (
	temporarilyDisabled = "temporarily_disabled"
	disabled            = "disabled"
)

// HookStopped enqueues the mails about a hook that is paused or disabled. It is called in the transaction that does so.
func (s *Service) HookStopped(ctx context.Context, hook int64, now string) error {
	m := Mailing{Event: pausedHook, On: ofHook, Target: hook}
	if now == disabled {
		m.Event = disabledHook
	}
	return s.mail(ctx, m)
}

// stoppedHook is what mail says of a hook.
type stoppedHook struct {
	Namespace *authz.NamespaceID `db:"namespace_id"`
	Name      *string            `db:"name"`
	Reason    *string            `db:"disabled_reason"`
	Until     db.NullTime        `db:"disabled_until"`
	Disabled  bool               `db:"disabled"`
}

// findHook reads a hook that mail is about, nil where it was deleted or is called again.
func (s *Service) findHook(ctx context.Context, ref noteable.Ref) (*topic, error) {
	h, err := db.Get[stoppedHook](ctx, s.DB, "SELECT "+db.Columns[stoppedHook]("h")+" FROM webhooks h WHERE h.id = ?", ref.ID)
	if errors.Is(err, db.ErrNotFound) || err == nil && (h.Namespace == nil || h.Reason == nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read webhook: %w", err)
	}
	t := &topic{ref: ref, noun: "webhook"}
	t.Title, t.Description, t.State = strconv.FormatInt(ref.ID, 10), *h.Reason, temporarilyDisabled
	if text(h.Name) != "" {
		t.Title += " (" + *h.Name + ")"
	}
	if h.Disabled {
		t.State = disabled
	} else {
		t.Due = h.Until.V.UTC().Format("2006-01-02 15:04 UTC")
	}
	projects, err := s.Projects.ByNamespaces(ctx, authz.System(), []authz.NamespaceID{*h.Namespace})
	if err != nil {
		return nil, err
	}
	if p := projects[*h.Namespace]; p != nil {
		t.Place, t.URL, t.references = p.Place(), s.URLs.Hook(p.FullPath, ref.ID), reference.Of(p)
		return t, nil
	}
	groups, err := s.Namespaces.Load(ctx, []namespace.ID{*h.Namespace})
	g := groups[*h.Namespace]
	if err != nil || g == nil {
		return nil, err
	}
	t.Place = g.Place()
	t.URL, t.references = s.URLs.Group(g.FullPath), scopeOf(t.Place)
	return t, nil
}

// keepers adds those who may change the hooks of a place.
func (s *Service) keepers(ctx context.Context, a *audience, t *topic) error {
	from := authz.Maintainer
	if t.Place.Group {
		from = authz.Owner
	}
	if err := s.members(ctx, a, t, from); err != nil {
		return err
	}
	for _, r := range a.list {
		r.way |= warned
	}
	return nil
}

// hookReadable reports whether a user may read the hook that a mailing is about.
func (s *Service) hookReadable(ctx context.Context, as authz.Actor, t *topic) (bool, error) {
	return s.Policy.Can(ctx, as, t.Place.Ability(authz.ReadHooks, authz.ReadGroupHooks), t.Place.Subject)
}

// stopped says in a sentence that a hook is paused or disabled, and what to do.
func stopped(event string, t *topic) string {
	it := "Webhook " + t.Title + " of " + t.Place.FullName
	why := " because its last deliveries failed: " + t.Description + ". "
	if event == disabledHook {
		return it + " is disabled" + why + "Events are not delivered to it any more, and not later either. Once its receiver works again, " +
			"test it or send one of its deliveries again: a success enables it."
	}
	return it + " is paused until " + t.Due + why + "What happens until then is not delivered to it. It is tried again afterwards and pauses for twice as long " +
		"each time that fails. A test that succeeds ends the pause."
}
