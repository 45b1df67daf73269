package todo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
	"tenon/internal/core/subscription"
)

// making is what to-do items are made of.
type making struct {
	target   noteable.Target
	by       authz.UserID
	action   Action
	noteID   *int64
	internal bool // the note is
	at       time.Time
}

// insert makes to-do items for users, but for those who have one about the same thing that
// waits, and returns their number. There are none about kinds that have no to-do items.
func (s *Service) insert(ctx context.Context, m making, users []authz.UserID) (int64, error) {
	if kind := s.Kinds.Find(m.target.Kind); len(users) == 0 || m.by == 0 || kind != nil && !kind.Todos {
		return 0, nil
	}
	projectID, groupID := m.target.Place()
	at := db.At(m.at)
	args := make([]any, 0, 13*len(users))
	for _, id := range users {
		args = append(args, id, m.by, projectID, groupID, m.target.Kind, m.target.ID, m.target.Commit, m.noteID, m.internal,
			m.action, Pending, at, at)
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	n, err := s.DB.Exec(ctx, `INSERT INTO todos (user_id, author_id, project_id, group_id, target_type, target_id, commit_id, note_id, internal,
		action, state, created_at, updated_at) VALUES `+strings.Repeat(row+", ", len(users)-1)+row+" ON CONFLICT DO NOTHING", args...)
	if err != nil {
		return 0, fmt.Errorf("create to-do items: %w", err)
	}
	return n, nil
}

// resolve marks the to-do items of a user about a thing as done: the user acted upon it.
func (s *Service) resolve(ctx context.Context, user authz.UserID, on noteable.Ref, at time.Time) error {
	if user == 0 {
		return nil
	}
	query := "UPDATE todos SET state = 'done', updated_at = ? WHERE user_id = ? AND state = 'pending' AND target_type = ? AND target_id = ?"
	args := []any{db.At(at), user, on.Kind, on.ID}
	switch on.Kind {
	case noteable.Commit:
		query += " AND commit_id = ? AND project_id = ?"
		args = append(args, on.Commit, on.Project)
	case noteable.Note: // of what on
		query = `UPDATE todos SET state = 'done', updated_at = ? WHERE user_id = ? AND state = 'pending' AND target_type <> 'Commit'
			AND (target_type, target_id) IN (SELECT n.noteable_type, n.noteable_id FROM notes n WHERE n.id = ?)`
		args = []any{db.At(at), user, on.ID}
	}
	if _, err := s.DB.Exec(ctx, query, args...); err != nil {
		return fmt.Errorf("resolve to-do items: %w", err)
	}
	return nil
}

// able returns those of the users who may read the thing, and its internal notes where the
// matter is one of these.
func (s *Service) able(ctx context.Context, m making, users []authz.UserID) ([]authz.UserID, error) {
	own := func(id authz.UserID) bool { return id == m.target.AuthorID }
	if of := s.Kinds.Of(m.target.Kind).Assignees; m.target.Subject.Confidential && of.Table != "" {
		assignees, err := db.Select[authz.UserID](ctx, s.DB, "SELECT user_id FROM "+of.Table+" WHERE "+of.Of+" = ? ORDER BY user_id", m.target.ID)
		if err != nil {
			return nil, fmt.Errorf("read assignees: %w", err)
		}
		own = func(id authz.UserID) bool { return id == m.target.AuthorID || slices.Contains(assignees, id) }
	}
	users, err := s.Policy.Able(ctx, s.Kinds.Of(m.target.Kind).Read, m.target.Subject, users, own)
	if err == nil && m.internal {
		users, err = s.Policy.Able(ctx, authz.InternalNote, m.target.Subject, users, own)
	}
	return users, err
}

// create makes to-do items for those of the users who may read the thing.
func (s *Service) create(ctx context.Context, m making, users []authz.UserID) error {
	users, err := s.able(ctx, m, users)
	if err != nil {
		return err
	}
	_, err = s.insert(ctx, m, users)
	return err
}

// maxMentioned is how many users the groups that a text mentions may bring.
const maxMentioned = 1000

// everyone is the name that mentions all members of a project.
const everyone = "all"

// Names returns the names that texts mention and older texts do not, folded, each once.
func (s *Service) Names(texts, older []string) []string {
	names, _ := s.names(texts, older)
	return names
}

// names is Names; direct has those among them with whose mention a line begins.
func (s *Service) names(texts, older []string) (names []string, direct map[string]bool) {
	direct = map[string]bool{}
	for _, text := range texts {
		for _, found := range s.mentions(text) {
			name := db.Fold(found.Name)
			if _, known := direct[name]; !known {
				names = append(names, name)
			}
			direct[name] = direct[name] || found.Addressed
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, text := range older {
		for _, found := range s.mentions(text) {
			known[db.Fold(found.Name)] = true
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return known[name] }), direct
}

// Mentioned returns the users with the names, and the members of the groups with these paths
// that the actor may see, each once, by id; at most maxMentioned. It does not ask what they may
// read, and is for core.
func (s *Service) Mentioned(ctx context.Context, as authz.Actor, t noteable.Target, names []string) ([]authz.UserID, error) {
	who, err := s.named(ctx, as, t, names)
	if err != nil {
		return nil, err
	}
	out := make([]authz.UserID, len(who))
	for i, w := range who {
		out[i] = w.UserID
	}
	return slices.Compact(out), nil
}

// mention makes to-do items for users that texts mention and older texts did not. They take
// part in the thing from now on.
func (s *Service) mention(ctx context.Context, as authz.Actor, m making, texts, older []string) error {
	names, direct := s.names(texts, older)
	if len(names) == 0 {
		return nil
	}
	who, err := s.named(ctx, as, m.target, names)
	if err != nil {
		return err
	}
	addressed := map[authz.UserID]bool{}
	var users []authz.UserID
	for _, w := range who {
		users = append(users, w.UserID)
		addressed[w.UserID] = addressed[w.UserID] || direct[w.Name]
	}
	if users, err = s.able(ctx, m, users); err != nil {
		return err
	}
	if err := s.Subscriptions.Mention(ctx, subscription.Mentioned{In: m.target, Users: users, Internal: m.internal}); err != nil {
		return err
	}
	for _, action := range []Action{DirectlyAddressed, Mentioned} {
		m.action = action
		some := slices.DeleteFunc(slices.Clone(users), func(id authz.UserID) bool { return addressed[id] != (action == DirectlyAddressed) })
		if _, err := s.insert(ctx, m, some); err != nil {
			return err
		}
	}
	return nil
}

// mentions returns the mentions of a text.
func (s *Service) mentions(text string) []reference.Reference {
	if !strings.Contains(text, "@") {
		return nil
	}
	return slices.DeleteFunc(s.Texts.Parse(text), func(r reference.Reference) bool { return r.Kind != reference.Mention })
}

// named is a user who was mentioned, and under which name.
type named struct {
	UserID authz.UserID `db:"user_id"`
	Name   string       `db:"name"` // folded
}

// named finds the users with the names, and the members of the groups with the paths that
// the actor may see and that take mentions.
func (s *Service) named(ctx context.Context, as authz.Actor, t noteable.Target, names []string) ([]named, error) {
	if len(names) == 0 {
		return nil, nil
	}
	marks, args := db.Marks(names)
	groups, more := s.Policy.VisibleGroupsSQL(as, "n")
	query := "SELECT u.id AS user_id, u.username_fold AS name FROM users u WHERE u.username_fold IN (" + marks + `) UNION ALL
		SELECT m.user_id, r.path_fold FROM routes r JOIN namespaces n ON n.id = r.namespace_id
			JOIN namespace_ancestors a ON a.namespace_id = n.id JOIN members m ON m.namespace_id = a.ancestor_id
			WHERE n.kind = 'group' AND r.path_fold IN (` + marks + ") AND NOT EXISTS (SELECT 1 FROM groups mg WHERE mg.namespace_id = n.id AND mg.mentions_disabled) AND " + groups
	args = slices.Concat(args, args, more)
	if slices.Contains(names, everyone) {
		query += ` UNION ALL SELECT m.user_id, 'all' FROM namespace_ancestors a JOIN members m ON m.namespace_id = a.ancestor_id WHERE a.namespace_id = ?`
		args = append(args, t.Subject.Namespace)
	}
	out, err := db.Select[named](ctx, s.DB, "SELECT x.user_id, x.name FROM ("+query+") x ORDER BY x.user_id, x.name LIMIT ?", append(args, maxMentioned)...)
	if err != nil {
		return nil, fmt.Errorf("find who is mentioned: %w", err)
	}
	return out, nil
}
