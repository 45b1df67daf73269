package project

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// CreateByPush makes a private project at a full path that nothing has, for a user who
// pushes there over a protocol. A caller who may not make one there learns no more than that none is found;
// a path that cannot be a project's is Forbidden with the reason.
func (s *Service) CreateByPush(ctx context.Context, as authz.Actor, path string, over namespace.Protocol) (*Project, error) {
	cut := strings.LastIndexByte(path, '/')
	if cut <= 0 || !as.SignedIn() {
		return nil, errs.Missing("Project")
	}
	parent, name := path[:cut], path[cut+1:]
	if _, number := parseID(parent); number || strings.HasSuffix(db.Fold(name), ".wiki") { // of a project that is missing
		return nil, errs.Missing("Project")
	}
	taken, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM routes WHERE path_fold = ?)", db.Fold(path))
	if err != nil {
		return nil, fmt.Errorf("look for path: %w", err)
	}
	if taken { // by what the actor does not see
		return nil, errs.Missing("Project")
	}
	place, err := s.Namespaces.FindNamespace(ctx, as, parent)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return nil, errs.Missing("Project")
	}
	if err != nil {
		return nil, err
	}
	if closed, err := s.Namespaces.Closed(ctx, as, place.ID, over); err != nil {
		return nil, err
	} else if closed {
		return nil, errs.Denied("Git access over " + strings.ToUpper(string(over)) + " is not allowed")
	}
	private := authz.Private
	in := Input{NamespaceID: &place.ID, Changes: Changes{Attributes: Attributes{Name: &name, Path: &name}, Visibility: &private}}
	if _, err := s.requireCreate(ctx, as, &in); err != nil {
		if errs.KindOf(err) == errs.Internal {
			return nil, err
		}
		return nil, errs.Missing("Project")
	}
	p, err := s.Create(ctx, as, in)
	switch errs.KindOf(err) {
	case errs.Invalid, errs.BadRequest, errs.Conflict:
		if p, err := s.Find(ctx, as, path); err == nil { // another request was first
			return p, nil
		}
		return nil, errs.Denied("Could not create project: " + err.Error())
	}
	return p, err
}
