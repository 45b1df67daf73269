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

// taking says how users take part in things of a kind beside writing notes and being
// mentioned: they wrote them, or are in one of the tables.
type taking struct {
	table string   // of the things
	other []string // tables with the column user_id
	key   string   // their column with the id of the thing
}

var parts = map[noteable.Kind]taking{
	noteable.Issue:   {"issues", []string{"issue_assignees"}, "issue_id"},
	noteable.Epic:    {"epics", nil, ""},
	noteable.Snippet: {"snippets", nil, ""},
	noteable.MergeRequest: {
		"merge_requests", []string{"merge_request_assignees", "merge_request_reviewers"}, "merge_request_id",
	},
}

// concerns is a condition on a thing t that holds where the user takes part in it.
func (p taking) concerns(kind noteable.Kind, user authz.UserID) (cond string, args []any) {
	conds, args := []string{"t.author_id = ?"}, []any{user}
	for _, table := range p.other {
		conds = append(conds, "EXISTS (SELECT 1 FROM "+table+" o WHERE o."+p.key+" = t.id AND o.user_id = ?)")
		args = append(args, user)
	}
	conds = append(conds,
		"EXISTS (SELECT 1 FROM mentions m WHERE m.target_type = ? AND m.target_id = t.id AND m.user_id = ?)",
		"EXISTS (SELECT 1 FROM notes n WHERE n.noteable_type = ? AND n.noteable_id = t.id AND n.author_id = ? AND NOT n.system)")
	return "(" + strings.Join(conds, " OR ") + ")", append(args, kind, user, kind, user)
}

// users selects the ids of those who take part in one thing, some more than once. Those of
// named in internal notes only are among them where internal says so.
func (p taking) users(of noteable.Ref, internal bool) (query string, args []any) {
	hidden := " AND NOT m.internal"
	hiddenNote := " AND NOT n.internal"
	if internal {
		hidden, hiddenNote = "", ""
	}
	parts, args := []string{"SELECT t.author_id AS user_id FROM " + p.table + " t WHERE t.id = ?"}, []any{of.ID}
	for _, table := range p.other {
		parts, args = append(parts, "SELECT o.user_id FROM "+table+" o WHERE o."+p.key+" = ?"), append(args, of.ID)
	}
	parts = append(parts,
		"SELECT m.user_id FROM mentions m WHERE m.target_type = ? AND m.target_id = ?"+hidden,
		"SELECT n.author_id FROM notes n WHERE n.noteable_type = ? AND n.noteable_id = ? AND NOT n.system"+hiddenNote)
	return strings.Join(parts, " UNION ALL "), append(args, of.Kind, of.ID, of.Kind, of.ID)
}

// Participants lists who takes part in a thing that the actor located, by user id. Those of
// named in internal notes only are there for those who read these.
func (s *Service) Participants(ctx context.Context, as authz.Actor, t noteable.Target, r page.Range) (page.Page[authz.UserID], error) {
	none := page.Page[authz.UserID]{}
	internal, err := s.policy.SeesInternalNotes(ctx, as, t.Subject)
	if err != nil {
		return none, err
	}
	part, ok := parts[t.Kind]
	if !ok {
		return page.None[authz.UserID](r), nil
	}
	query, args := part.users(t.Ref, internal)
	q := page.Query{Columns: "u.id", From: "users u", Order: page.Order{page.ID("u.id")}}
	q.Where.And("u.id IN ("+query+")", args...)
	q.Where.Raw("u.user_type <> 'ghost'")
	list, err := page.Select[authz.UserID](ctx, s.db, q, r)
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
		part, ok := parts[of.Kind]
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
	rows, err := db.Select[row](ctx, s.db, "SELECT x.user_id, NULL AS subscribed FROM ("+query+") x UNION ALL SELECT s.user_id, s.subscribed FROM "+chosen, args...)
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
	if _, ok := parts[t.Kind]; !ok {
		return nil
	}
	projectID, groupID := t.Place()
	args := make([]any, 0, 6*len(users))
	for _, id := range users {
		args = append(args, t.Kind, t.ID, id, m.Internal, projectID, groupID)
	}
	const row = "(?, ?, ?, ?, ?, ?)"
	_, err := s.db.Exec(ctx, "INSERT INTO mentions (target_type, target_id, user_id, internal, project_id, group_id) VALUES "+
		strings.Repeat(row+", ", len(users)-1)+row+" ON CONFLICT DO NOTHING", args...)
	if err != nil {
		return fmt.Errorf("write mentions: %w", err)
	}
	return nil
}
