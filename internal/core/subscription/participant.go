package subscription

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// source is a table of users who take part in things of a kind.
type source struct {
	table string
	of    string // column with the id of the thing
	user  string
	cond  string // on row o, "" for all; its ? is the kind of the thing
	inner string // condition that holds for rows of internal notes, "" for none
	many  bool   // a user has more rows than a thing: they are looked up by the thing
}

// taking is how users take part in things of a kind: each source names some of them. It is the
// one rule of who participates, is subscribed without a choice, and is notified.
type taking struct {
	table   string // of the things
	sources []source
}

// takes returns how users take part in things of a kind; ok is false where none do.
func (s *Service) takes(kind noteable.Kind) (t taking, ok bool) {
	k := s.Kinds.Of(kind)
	if k.Table == "" {
		return t, false
	}
	t = taking{k.Table, []source{{table: k.Table, of: "id", user: "author_id"}}}
	for _, more := range []noteable.Users{k.Assignees, k.Reviewers} {
		if more.Table != "" {
			t.sources = append(t.sources, source{table: more.Table, of: more.Of, user: "user_id"})
		}
	}
	t.sources = append(t.sources,
		source{table: "mentions", of: "target_id", user: "user_id", cond: "o.target_type = ?", inner: "o.internal"},
		source{table: "notes", of: "noteable_id", user: "author_id", cond: "o.noteable_type = ? AND NOT o.system", inner: "o.internal", many: true})
	return t, true
}

// and returns the source's own conditions, each with AND before it. Without internal, rows of
// internal notes do not count.
func (o source) and(kind noteable.Kind, internal bool) (cond string, args []any) {
	if o.cond != "" {
		cond, args = " AND "+o.cond, []any{kind}
	}
	if o.inner != "" && !internal {
		cond += " AND NOT " + o.inner
	}
	return cond, args
}

// concerns is a condition on a thing t that holds where the user takes part in it.
func (p taking) concerns(kind noteable.Kind, user authz.UserID) (cond string, args []any) {
	conds := make([]string, len(p.sources))
	for i, o := range p.sources {
		if o.table == p.table {
			conds[i], args = "t."+o.user+" = ?", append(args, user)
			continue
		}
		more, kinds := o.and(kind, true)
		who := "o." + o.user
		if o.many {
			who = "+" + who // no index for SQLite, which would walk along all rows of the user
		}
		conds[i] = "EXISTS (SELECT 1 FROM " + o.table + " o WHERE o." + o.of + " = t.id AND " + who + " = ?" + more + ")"
		args = append(append(args, user), kinds...)
	}
	return "(" + strings.Join(conds, " OR ") + ")", args
}

// users selects the ids of those who take part in one thing, some more than once. Users that only
// internal notes name, or who wrote only such, are among them where internal says so.
func (p taking) users(of noteable.Ref, internal bool) (query string, args []any) {
	queries := make([]string, len(p.sources))
	for i, o := range p.sources {
		more, kinds := o.and(of.Kind, internal)
		queries[i] = "SELECT o." + o.user + " AS user_id FROM " + o.table + " o WHERE o." + o.of + " = ?" + more
		args = append(append(args, of.ID), kinds...)
	}
	return strings.Join(queries, " UNION ALL "), args
}

// Participants lists who takes part in a thing that was read for the actor, by user id. In is its
// project or group: users of internal notes are there for those who may read these.
func (s *Service) Participants(ctx context.Context, as authz.Actor, of noteable.Ref, in authz.Subject, r page.Range) (page.Page[authz.UserID], error) {
	none := page.Page[authz.UserID]{}
	internal, err := s.Policy.SeesInternalNotes(ctx, as, in)
	if err != nil {
		return none, err
	}
	part, ok := s.takes(of.Kind)
	if !ok {
		return page.None[authz.UserID](r), nil
	}
	query, args := part.users(of, internal)
	q := page.Query{Columns: "u.id", From: "users u", Order: page.Order{page.ID("u.id")}}
	q.Where.And("u.id IN ("+query+")", args...)
	q.Where.Raw("u.user_type <> 'ghost'")
	list, err := page.Select[authz.UserID](ctx, s.DB, q, r)
	if err != nil {
		return none, fmt.Errorf("list participants: %w", err)
	}
	return list, nil
}

// Audience is who hears of what happens on one thing.
type Audience struct {
	Participants map[authz.UserID]bool
	Chosen       map[authz.UserID]bool // true subscribed, false unsubscribed
}

// AudienceOf reads who takes part in a thing and what users chose for it. It asks for no
// permission and is for core: a user who tells users something asks whether each may know.
func (s *Service) AudienceOf(ctx context.Context, of noteable.Ref) (Audience, error) {
	a := Audience{Participants: map[authz.UserID]bool{}, Chosen: map[authz.UserID]bool{}}
	query, chosen, args := "", "", []any(nil)
	if of.Kind == noteable.Commit {
		query, chosen, args = ofCommit(of)
	} else {
		part, ok := s.takes(of.Kind)
		if !ok {
			return a, nil
		}
		query, args = part.users(of, true)
		chosen, args = "subscriptions s WHERE s.target_type = ? AND s.target_id = ?", append(args, of.Kind, of.ID)
	}
	type row struct {
		UserID     authz.UserID `db:"user_id"`
		Subscribed *bool        `db:"subscribed"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT x.user_id, NULL AS subscribed FROM ("+query+") x UNION ALL SELECT s.user_id, s.subscribed FROM "+chosen, args...)
	if err != nil {
		return a, fmt.Errorf("read audience: %w", err)
	}
	for _, r := range rows {
		if r.Subscribed != nil {
			a.Chosen[r.UserID] = *r.Subscribed
		} else {
			a.Participants[r.UserID] = true
		}
	}
	return a, nil
}

// Mentioned says who was mentioned in a thing, or in a note on it.
type Mentioned struct {
	In       noteable.Target
	Users    []authz.UserID
	Internal bool // the note is internal
}

// Mention writes down who was mentioned, in the caller's transaction.
func (s *Service) Mention(ctx context.Context, m Mentioned) error {
	t, users := m.In, m.Users
	if len(users) == 0 {
		return nil
	}
	if t.Kind == noteable.Commit {
		return s.mentionOnCommit(ctx, t.Ref, users)
	}
	if _, ok := s.takes(t.Kind); !ok {
		return nil
	}
	projectID, groupID := t.Place()
	args := make([]any, 0, 6*len(users))
	for _, id := range users {
		args = append(args, t.Kind, t.ID, id, m.Internal, projectID, groupID)
	}
	const row = "(?, ?, ?, ?, ?, ?)"
	_, err := s.DB.Exec(ctx, "INSERT INTO mentions (target_type, target_id, user_id, internal, project_id, group_id) VALUES "+
		strings.Repeat(row+", ", len(users)-1)+row+" ON CONFLICT DO NOTHING", args...)
	if err != nil {
		return fmt.Errorf("write mentions: %w", err)
	}
	return nil
}
