package reference

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Mentioned are the users and groups that a text mentions.
type Mentioned struct {
	Users     []authz.UserID
	Groups    []authz.NamespaceID
	Addressed map[authz.UserID]bool // users among them with whose mention a line begins
}

// Mentioned returns the users and groups that a text in Markdown mentions, each once, at most
// MaxReferences, as far as the actor may know of them. It takes two statements.
func (s *Service) Mentioned(ctx context.Context, as authz.Actor, text string) (Mentioned, error) {
	var mentions []Reference
	for _, ref := range s.Parse(text) {
		if ref.Kind == Mention {
			mentions = append(mentions, ref)
		}
	}
	out := Mentioned{Addressed: map[authz.UserID]bool{}}
	targets := make([]*Target, len(mentions))
	if err := s.mentioned(ctx, as, mentions, targets); err != nil {
		return out, err
	}
	users, groups := map[int64]bool{}, map[authz.NamespaceID]bool{}
	for i, t := range targets {
		switch {
		case t == nil:
		case t.Group && !groups[t.GroupID]:
			groups[t.GroupID] = true
			out.Groups = append(out.Groups, t.GroupID)
		case !t.Group:
			id := authz.UserID(t.ID)
			if !users[t.ID] {
				users[t.ID] = true
				out.Users = append(out.Users, id)
			}
			if mentions[i].Addressed {
				out.Addressed[id] = true
			}
		}
	}
	return out, nil
}

// mentioned finds the users and groups of mentions, in two statements.
func (s *Service) mentioned(ctx context.Context, as authz.Actor, refs []Reference, out []*Target) error {
	var folds []string
	seen := map[string]bool{}
	for i := range refs {
		if fold := db.Fold(refs[i].Name); refs[i].Kind == Mention && !seen[fold] {
			seen[fold] = true
			folds = append(folds, fold)
		}
	}
	if len(folds) == 0 {
		return nil
	}
	found := make(map[string]*Target, len(folds))
	if err := errorsOf(s.groups(ctx, as, folds, found), s.users(ctx, as, folds, found)); err != nil {
		return err
	}
	for i := range refs {
		if refs[i].Kind == Mention {
			out[i] = found[db.Fold(refs[i].Name)]
		}
	}
	return nil
}

// errorsOf gives the first error.
func errorsOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return fmt.Errorf("resolve mentions: %w", err)
		}
	}
	return nil
}

// groups finds groups that the actor may read by folded path.
func (s *Service) groups(ctx context.Context, as authz.Actor, folds []string, found map[string]*Target) error {
	type row struct {
		ID   authz.NamespaceID `db:"id"`
		Path string            `db:"path"`
		Fold string            `db:"path_fold"`
		Name string            `db:"name"`
	}
	visible, args := s.Policy.VisibleGroupsSQL(as, "n")
	var w db.Where
	w.In("r.path_fold", folds)
	w.And("n.kind = 'group' AND "+visible, args...)
	rows, err := db.Select[row](ctx, s.DB, `SELECT n.id, r.path, r.path_fold, n.name FROM routes r
		JOIN namespaces n ON n.id = r.namespace_id`+w.SQL(), w.Args()...)
	if err != nil {
		return err
	}
	for _, r := range rows {
		found[r.Fold] = &Target{
			Kind: Mention, ID: int64(r.ID), GroupID: r.ID, Path: r.Path, Title: r.Name, Group: true, URL: s.URLs.Group(r.Path),
		}
	}
	return nil
}

// users finds users by folded name.
func (s *Service) users(ctx context.Context, as authz.Actor, folds []string, found map[string]*Target) error {
	if s.Accounts.Hidden(as) {
		return nil
	}
	type row struct {
		ID       int64  `db:"id"`
		Username string `db:"username"`
		Fold     string `db:"username_fold"`
		Name     string `db:"name"`
	}
	var w db.Where
	w.In("username_fold", folds)
	w.Raw("user_type <> 'ghost'")
	rows, err := db.Select[row](ctx, s.DB, "SELECT id, username, username_fold, name FROM users"+w.SQL(), w.Args()...)
	if err != nil {
		return err
	}
	for _, r := range rows {
		found[r.Fold] = &Target{Kind: Mention, ID: r.ID, Path: r.Username, Title: r.Name, URL: s.URLs.User(r.Username)}
	}
	return nil
}
