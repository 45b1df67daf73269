package deploykey

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
)

// find returns a key as a project has it.
func (s *Service) find(ctx context.Context, p *project.Project, id sshkey.ID) (*Key, error) {
	push, err := db.Get[bool](ctx, s.DB, "SELECT can_push FROM deploy_key_projects WHERE key_id = ? AND project_id = ?", id, p.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find deploy key: %w", err)
	}
	k, err := s.Keys.FindDeploy(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Key{k, push}, nil
}

// Find returns a key of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id sshkey.ID) (*Key, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadDeployKeys, p.Subject()); err != nil {
		return nil, err
	}
	return s.find(ctx, p, id)
}

// List returns the keys of a project by id.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[Key], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadDeployKeys, p.Subject()); err != nil {
		return page.Page[Key]{}, err
	}
	var w db.Where
	w.And("d.project_id = ?", p.ID)
	return s.list(ctx, w, r)
}

// list returns keys with whether they may push in any of the projects selected.
func (s *Service) list(ctx context.Context, w db.Where, r page.Range) (page.Page[Key], error) {
	type row struct {
		ID   sshkey.ID `db:"key_id"`
		Push int64     `db:"can_push"`
	}
	rows, err := page.Select[row](ctx, s.DB, page.Query{
		Columns: "x.key_id, x.can_push",
		From: `(SELECT d.key_id, MAX(CASE WHEN d.can_push THEN 1 ELSE 0 END) AS can_push
			FROM deploy_key_projects d JOIN projects p ON p.id = d.project_id` + w.SQL() + " GROUP BY d.key_id) x",
		FromArgs: w.Args(), Order: page.Order{page.ID("x.key_id")},
	}, r)
	if err != nil {
		return page.Page[Key]{}, fmt.Errorf("list deploy keys: %w", err)
	}
	ids := make([]sshkey.ID, len(rows.Items))
	for i, r := range rows.Items {
		ids[i] = r.ID
	}
	keys, err := s.Keys.Load(ctx, ids)
	if err != nil {
		return page.Page[Key]{}, err
	}
	list := page.Map(rows, func(r *row) Key { return Key{keys[r.ID], r.Push != 0} })
	return page.Without(list, func(k *Key) bool { return k.Key == nil }), nil
}

// ListShared returns the keys of the projects that both the actor and a user, by number or
// username, maintain. Where there is no such project it is Forbidden.
func (s *Service) ListShared(ctx context.Context, as, user authz.Actor, r page.Range) (page.Page[Key], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUser, authz.Subject{}); err != nil {
		return page.Page[Key]{}, err
	}
	var w db.Where
	w.And("NOT p.pending_delete")
	people := []authz.Actor{{UserID: as.UserID}}
	if !as.Is(user.UserID) {
		people = append(people, authz.Actor{UserID: user.UserID})
		if as.Admin {
			people = people[1:]
		}
	}
	for _, who := range people {
		reached, args := s.Policy.ReachSQL(who, authz.Maintainer)
		w.And("p.namespace_id IN ("+reached+")", args...)
	}
	some, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM projects p"+w.SQL()+")", w.Args()...)
	if err != nil {
		return page.Page[Key]{}, fmt.Errorf("look for projects in common: %w", err)
	}
	if !some {
		return page.Page[Key]{}, errs.Denied("No common authorized project found")
	}
	return s.list(ctx, w, r)
}

// ListAll returns the deploy keys of the instance, or those that are public or not. Only
// administrators may.
func (s *Service) ListAll(ctx context.Context, as authz.Actor, public *bool, r page.Range) (page.Page[*sshkey.Key], error) {
	if err := s.Policy.Require(ctx, as, authz.ListDeployKeys, authz.Subject{}); err != nil {
		return page.Page[*sshkey.Key]{}, err
	}
	return s.Keys.ListDeploy(ctx, public, r)
}

// Grants returns by key the projects that keys are enabled in. It asks for no permission.
func (s *Service) Grants(ctx context.Context, keys ...sshkey.ID) (map[sshkey.ID][]Grant, error) {
	out := map[sshkey.ID][]Grant{}
	if len(keys) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("d.key_id", keys)
	rows, err := db.Select[Grant](ctx, s.DB, "SELECT "+db.Columns[Grant]("d")+" FROM deploy_key_projects d"+w.SQL()+" ORDER BY d.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("projects of deploy keys: %w", err)
	}
	for _, g := range rows {
		out[g.KeyID] = append(out[g.KeyID], g)
	}
	return out, nil
}
