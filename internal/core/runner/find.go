package runner

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// columns are those of a runner, alias r.
var columns = db.Columns[Runner]("r")

// readableSQL returns a condition on rows of runners (alias r) that holds for those whose details
// the actor may read: instance runners, and those of groups and projects where it is at
// least Maintainer.
func (s *Service) readableSQL(as authz.Actor) (cond string, args []any) {
	switch {
	case as.Admin, as.Auditor:
		return "true", nil
	case !as.SignedIn():
		return "1 = 0", nil
	}
	owned, args := s.ownedSQL(as, authz.Maintainer)
	return "(r.runner_type = 'instance_type' OR " + owned + ")", args
}

// ownedSQL returns a condition that holds for the runners of groups where the actor has at least
// the level, and of projects where it is at least Maintainer.
func (s *Service) ownedSQL(as authz.Actor, group authz.Level) (cond string, args []any) {
	groups, args := s.Policy.ReachSQL(as, group)
	projects, more := s.Policy.ReachSQL(as, authz.Maintainer)
	return "(r.namespace_id IN (" + groups + ") OR EXISTS (SELECT 1 FROM runner_projects op JOIN projects o ON o.id = op.project_id" +
		" WHERE op.runner_id = r.id AND NOT o.pending_delete AND o.namespace_id IN (" + projects + ")))", append(args, more...)
}

// Find returns a runner. One whose details the actor may not read is Forbidden: runners have
// numbers, and that there is one with a number is no secret.
func (s *Service) Find(ctx context.Context, as authz.Actor, id ID) (*Runner, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadRunner, authz.Subject{}); err != nil {
		return nil, err
	}
	all, err := s.Load(ctx, []ID{id})
	if err != nil {
		return nil, err
	}
	r := all[id]
	if r == nil {
		return nil, errs.Missing("Runner")
	}
	read, err := s.holds(ctx, id, func() (string, []any) { return s.readableSQL(as) })
	if err != nil {
		return nil, err
	}
	if !read {
		return nil, denied()
	}
	return r, nil
}

func denied() error { return errs.Denied("No access granted") }

// holds reports whether a condition on rows of runners holds for one.
func (s *Service) holds(ctx context.Context, id ID, condition func() (string, []any)) (bool, error) {
	cond, args := condition()
	_, err := db.Get[ID](ctx, s.DB, "SELECT r.id FROM runners r WHERE r.id = ? AND "+cond, append([]any{id}, args...)...)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look who may use runner: %w", err)
	}
	return true, nil
}

// ByIDs returns runners by id, without those whose details the actor may not read.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Runner, error) {
	var w db.Where
	w.In("r.id", ids)
	cond, args := s.readableSQL(as)
	w.And(cond, args...)
	return s.load(ctx, w)
}

// Load returns runners by id. It asks for no permission.
func (s *Service) Load(ctx context.Context, ids []ID) (map[ID]*Runner, error) {
	var w db.Where
	w.In("r.id", ids)
	return s.load(ctx, w)
}

func (s *Service) load(ctx context.Context, w db.Where) (map[ID]*Runner, error) {
	rows, err := db.Select[Runner](ctx, s.DB, "SELECT "+columns+" FROM runners r"+w.SQL()+" ORDER BY r.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read runners: %w", err)
	}
	out := make(map[ID]*Runner, len(rows))
	for i := range rows {
		s.refresh(&rows[i])
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}
