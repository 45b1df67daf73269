package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
)

// Reason says why a user gets a mail, as the header of the mail spells it.
type Reason string

// The reasons, the first that applies; without one the user's level says so.
const (
	Assigned        Reason = "assigned"
	ReviewRequested Reason = "review_requested"
	MentionedThere  Reason = "mentioned"
	Subscribed      Reason = "subscribed"
)

var reasons = []Reason{Assigned, ReviewRequested, MentionedThere, Subscribed, ""}

// way says how an event concerns a user; several may apply.
type way uint8

const (
	named   way = 1 << iota // mentioned, assigned or asked by this very event
	part                    // takes part in the thing
	watcher                 // wants to hear of everything, or of chosen events, in the place
	labeled                 // subscribed to a label of the thing
	starter                 // started the pipeline
	member                  // of the project that has moved
	warned                  // maintains the project that will be deleted, or the place of a webhook
	asker                   // asked for the export, or uploaded the package
)

// recipient is a user that an event may concern.
type recipient struct {
	user   authz.UserID
	way    way
	reason Reason
	chosen *bool // subscribed to the thing, or unsubscribed; nil for neither
	email  string
}

// wants reports whether a user with a setting gets mail of an event. What the user chose for
// the thing is above the level, and a mention above having unsubscribed.
func (r *recipient) wants(event string, set *Setting) bool {
	switch {
	case r.way&(warned|asker) != 0:
		return set.Level != Disabled
	case r.way&(starter|member) != 0:
		return set.Level == Custom && set.Wants(event) || (set.Level == Watch || set.Level == Participating) && event != successPipeline
	case r.chosen != nil && *r.chosen, r.way&labeled != 0 && r.chosen == nil:
		return true
	case set.Level == Disabled:
		return false
	case r.way&named != 0:
		return true
	case r.chosen != nil:
		return false
	}
	switch set.Level {
	case Watch:
		return r.way&(part|watcher) != 0
	case Participating:
		return r.way&part != 0
	case Custom:
		return r.way&part != 0 || r.way&watcher != 0 && set.Wants(event)
	}
	return false
}

// MaxRecipients is how many users one event may send mail to, unless Out says less. Those it names come first, then
// those who take part, then watchers by id.
const MaxRecipients = 10_000

// audience collects recipients.
type audience struct {
	list  []*recipient
	users map[authz.UserID]*recipient
	by    authz.UserID // gets none: it did it
	most  int
	cut   bool // there were more
}

func (a *audience) add(w way, reason Reason, users ...authz.UserID) {
	for _, id := range users {
		if id == a.by {
			continue
		}
		r := a.users[id]
		if r == nil {
			if len(a.list) == a.most {
				a.cut = true
				return
			}
			r = &recipient{user: id}
			a.users[id], a.list = r, append(a.list, r)
		}
		r.way |= w
		if slices.Index(reasons, reason) < slices.Index(reasons, r.reason) {
			r.reason = reason
		}
	}
}

// recipients returns the users who want mail of an event, in the order of MaxRecipients. Whether
// each may know of it is asked when its mail is sent.
func (s *Service) recipients(ctx context.Context, m Mailing, t *topic) ([]*recipient, error) {
	a := &audience{users: map[authz.UserID]*recipient{}, by: m.By, most: s.Out.Recipients}
	names := m.Names
	switch m.Event {
	case "new_issue", "new_merge_request", newEpic:
		a.add(part, Assigned, t.Assignees...)
		a.add(part, ReviewRequested, t.Reviewers...)
		names = s.Todos.Names([]string{t.Title, t.Description}, nil)
	case "reassign_issue", "reassign_merge_request":
		a.add(named, Assigned, m.Users...)
		a.add(named, "", m.Former...)
	case "change_reviewer_merge_request":
		a.add(named, ReviewRequested, m.Users...)
		a.add(named, "", m.Former...)
	case unmergeable:
		a.add(named, "", m.Users...)
	case failedPipeline, fixedPipeline, successPipeline:
		a.add(starter, "", m.Users...)
		return s.willing(ctx, m.Event, t, a.list)
	case exportedProject, failedExport, exportedGroup, failedGroupExport, refusedPackage:
		a.add(asker, "", m.Users...)
		return s.willing(ctx, m.Event, t, a.list)
	case newRelease:
		return s.watching(ctx, a, m, t)
	case movedProject:
		a.by = 0 // has a clone of it, too
		if err := s.members(ctx, a, t, authz.Guest); err != nil {
			return nil, err
		}
		s.tellCut(a, m, t)
		return s.willing(ctx, m.Event, t, a.list)
	case inactiveProject:
		if err := s.members(ctx, a, t, authz.Maintainer); err != nil {
			return nil, err
		}
		for _, r := range a.list {
			r.way |= warned
		}
		s.tellCut(a, m, t)
		return s.willing(ctx, m.Event, t, a.list)
	case pausedHook, disabledHook:
		if err := s.keepers(ctx, a, t); err != nil {
			return nil, err
		}
		s.tellCut(a, m, t)
		return s.willing(ctx, m.Event, t, a.list)
	case "new_note":
		names = s.Todos.Names(append([]string{t.note.Body}, t.more...), nil)
	}
	if len(names) > 0 {
		users, err := s.Todos.Mentioned(ctx, t.actor, t.target(), names)
		if err != nil {
			return nil, err
		}
		a.add(named, MentionedThere, users...)
	}
	labels := m.Labels
	if m.begins() {
		for _, l := range t.Labels {
			labels = append(labels, label.ID(l.ID))
		}
	}
	subscribers, err := s.Subscriptions.LabelAudience(ctx, t.projectID(), labels)
	if err != nil {
		return nil, err
	}
	a.add(labeled, Subscribed, subscribers...)
	if err := s.engaged(ctx, a, m, t); err != nil {
		return nil, err
	}
	s.tellCut(a, m, t)
	return s.willing(ctx, m.Event, t, a.list)
}

// tellCut writes to the log that an event has too many recipients, where it does.
func (s *Service) tellCut(a *audience, m Mailing, t *topic) {
	if a.cut {
		s.Log.Warn("mail: an event has too many recipients", "event", m.Event, "place", t.Place.Path, "recipients", s.Out.Recipients)
	}
}

// engaged adds users who take part in the thing or subscribed to it, and watchers. Users who
// are there already learn what they chose.
func (s *Service) engaged(ctx context.Context, a *audience, m Mailing, t *topic) error {
	of, err := s.Subscriptions.AudienceOf(ctx, t.ref)
	if err != nil {
		return err
	}
	for _, id := range t.Committers {
		of.Participants[id] = true
	}
	all := m.Event != newMention && m.Event != relabeled && m.Event != unmergeable
	var subscribers, others []authz.UserID
	for id, on := range of.Chosen {
		if on {
			subscribers = append(subscribers, id)
		}
	}
	for id := range of.Participants {
		others = append(others, id)
	}
	slices.Sort(subscribers)
	slices.Sort(others)
	if all {
		a.add(part, Subscribed, subscribers...)
		a.add(part, "", others...)
		if err := s.watchers(ctx, a, t); err != nil {
			return err
		}
	}
	for id, on := range of.Chosen {
		if r := a.users[id]; r != nil && (all || !on) {
			r.chosen = &on
		}
	}
	return nil
}

// batch is how many users are looked at in one statement.
const batch = 500

// watchers adds users whose setting for the project, a group above it or, where they are
// members, everything may want all events or chosen ones.
func (s *Service) watchers(ctx context.Context, a *audience, t *topic) error {
	const query = `SELECT x.user_id FROM (
		SELECT s.user_id FROM notification_settings s JOIN namespace_ancestors a ON a.ancestor_id = s.namespace_id
			WHERE a.namespace_id = ? AND s.level IN ('watch', 'custom') AND s.user_id > ?
		UNION SELECT s.user_id FROM notification_settings s WHERE s.namespace_id IS NULL AND s.level IN ('watch', 'custom') AND s.user_id > ?
			AND (EXISTS (SELECT 1 FROM members m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id
				WHERE a.namespace_id = ? AND m.user_id = s.user_id)
			OR EXISTS (SELECT 1 FROM shares h JOIN namespace_ancestors a ON a.ancestor_id = h.namespace_id
				JOIN namespace_ancestors g ON g.namespace_id = h.group_id JOIN members m ON m.namespace_id = g.ancestor_id
				WHERE a.namespace_id = ? AND m.user_id = s.user_id))
		) x ORDER BY x.user_id LIMIT ?`
	place := t.Place.Namespace
	for last := authz.UserID(0); !a.cut; {
		users, err := db.Select[authz.UserID](ctx, s.DB, query, place, last, last, place, place, batch)
		if err != nil {
			return fmt.Errorf("find watchers: %w", err)
		}
		a.add(watcher, "", users...)
		if len(users) < batch {
			return nil
		}
		last = users[len(users)-1]
	}
	return nil
}

// willing leaves out recipients whose settings do not want the event.
func (s *Service) willing(ctx context.Context, event string, t *topic, list []*recipient) ([]*recipient, error) {
	var out []*recipient
	for some := range slices.Chunk(list, batch) {
		users := make([]authz.UserID, len(some))
		for i, r := range some {
			users[i] = r.user
		}
		settings, err := s.effective(ctx, t.Place.Namespace, users)
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			set := settings[r.user]
			if r.wants(event, set) {
				r.email = set.Email
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// effective returns the setting that holds for each user in a place: that of the project, of the
// nearest group, or the one for everything. Its Email is the one for everything.
func (s *Service) effective(ctx context.Context, place authz.NamespaceID, users []authz.UserID) (map[authz.UserID]*Setting, error) {
	type row struct {
		settingRow
		Depth int64 `db:"depth"` // -1 for everything
	}
	var w db.Where
	w.In("s.user_id", users)
	w.Raw("(s.namespace_id IS NULL OR a.depth IS NOT NULL)")
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+db.Columns[settingRow]("s")+`, COALESCE(a.depth, -1) AS depth FROM notification_settings s
		LEFT JOIN namespace_ancestors a ON a.namespace_id = ? AND a.ancestor_id = s.namespace_id`+w.SQL()+" ORDER BY s.user_id",
		append([]any{place}, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("read notification settings: %w", err)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(uint64(a.Depth), uint64(b.Depth)) }) // -1 comes last
	out := make(map[authz.UserID]*Setting, len(users))
	email := map[authz.UserID]string{}
	for i := range rows {
		set, err := rows[i].setting()
		if err != nil {
			return nil, err
		}
		if set.Namespace == 0 {
			email[set.UserID] = set.Email
		}
		if out[set.UserID] == nil && set.Level != Global {
			out[set.UserID] = &set
		}
	}
	for _, id := range users {
		if out[id] == nil {
			out[id] = &Setting{UserID: id, Level: Participating}
		}
		out[id].Email = email[id]
	}
	return out, nil
}
