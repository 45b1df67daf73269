package project

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Moved is the cause of a NotFound error where the path once belonged to a project that
// the actor may see. Transports redirect readers to the project's id instead.
type Moved struct {
	ID   ID
	Path string // where the project stands now
}

// Error says where the project went.
func (m *Moved) Error() string { return fmt.Sprintf("project moved to %q", m.Path) }

// MovedTo returns the id for transports, which know the method rather than the type.
func (m *Moved) MovedTo() int64 { return int64(m.ID) }

// Find returns the project that ref names, an id in digits or a full path, with the
// actor's level. It requires ReadProject. A path that the project had earlier gives a
// NotFound error caused by *Moved.
func (s *Service) Find(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	return s.FindAs(ctx, as, ref, (*Project).Subject)
}

// FindAs is Find for a part of projects that more callers may see than the project: they have to see the subject that a function makes of the
// project.
func (s *Service) FindAs(ctx context.Context, as authz.Actor, ref string, subject func(*Project) authz.Subject) (*Project, error) {
	id, byID := parseID(ref)
	if !byID && !strings.Contains(ref, "/") {
		return nil, errs.Missing("Project")
	}
	level, args := s.Policy.LevelSQL(as, "p.namespace_id")
	cond, value := "p.id = ?", any(id)
	if !byID {
		cond, value = "r.path_fold = ?", db.Fold(ref)
	}
	query := "SELECT " + columns + ", " + level + " AS actor_level" + from + " WHERE NOT p.pending_delete AND " + cond
	found, err := db.Get[row](ctx, s.DB, query, append(args, value)...)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil, s.missing(ctx, as, ref, byID)
	case err != nil:
		return nil, fmt.Errorf("find project: %w", err)
	}
	p := found.project()
	if err := s.Policy.Require(ctx, as, authz.ReadProject, subject(p)); err != nil {
		return nil, err
	}
	return p, nil
}

// FindByID is Find for an id.
func (s *Service) FindByID(ctx context.Context, as authz.Actor, id ID) (*Project, error) {
	return s.Find(ctx, as, strconv.FormatInt(int64(id), 10))
}

// missing makes the error for a ref that names no project, after looking whether one
// stood there before.
func (s *Service) missing(ctx context.Context, as authz.Actor, ref string, byID bool) error {
	gone := errs.Missing("Project")
	if byID {
		return gone
	}
	id, err := db.Get[ID](ctx, s.DB, `SELECT p.id FROM redirect_routes o JOIN projects p ON p.namespace_id = o.namespace_id
		WHERE o.path_fold = ?`, db.Fold(ref))
	if errors.Is(err, db.ErrNotFound) {
		return gone
	}
	if err != nil {
		return fmt.Errorf("find moved project: %w", err)
	}
	p, err := s.FindByID(ctx, as, id)
	switch {
	case err == nil:
		gone.Err = &Moved{ID: p.ID, Path: p.FullPath}
		return gone
	case errs.Is(err, errs.NotFound):
		return gone
	}
	return err
}

// ByIDs returns those of the projects with these ids that the actor may read, with its
// level there, in one statement. Projects that are being deleted are left out.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Project, error) {
	list, err := s.readable(ctx, as, "p.id", ids)
	out := make(map[ID]*Project, len(list))
	for _, p := range list {
		out[p.ID] = p
	}
	return out, err
}

// ByNamespaces is ByIDs for the namespaces of projects.
func (s *Service) ByNamespaces(ctx context.Context, as authz.Actor, ids []authz.NamespaceID) (map[authz.NamespaceID]*Project, error) {
	list, err := s.readable(ctx, as, "p.namespace_id", ids)
	out := make(map[authz.NamespaceID]*Project, len(list))
	for _, p := range list {
		out[p.NamespaceID] = p
	}
	return out, err
}

// readable reads the projects with these values of a column that the actor may read.
func (s *Service) readable(ctx context.Context, as authz.Actor, column string, values any) ([]*Project, error) {
	level, args := s.Policy.LevelSQL(as, "p.namespace_id")
	rows, err := s.withValues(ctx, column, values, level, args)
	if err != nil {
		return nil, err
	}
	var out []*Project
	for i := range rows {
		p := rows[i].project()
		may, err := s.Policy.Can(ctx, as, authz.ReadProject, p.Subject())
		if err != nil {
			return nil, fmt.Errorf("projects by id: %w", err)
		}
		if may {
			out = append(out, p)
		}
	}
	return out, nil
}

// Load returns the projects with these ids, those that are being deleted left out. It
// asks for no permission: callers show only what they may.
func (s *Service) Load(ctx context.Context, ids []ID) (map[ID]*Project, error) {
	rows, err := s.withValues(ctx, "p.id", ids, "0", nil)
	if err != nil {
		return nil, err
	}
	out := make(map[ID]*Project, len(rows))
	for i := range rows {
		p := rows[i].bare()
		out[p.ID] = p
	}
	return out, nil
}

// withValues reads the projects with these values of a column, and an expression for the
// actor's level.
func (s *Service) withValues(ctx context.Context, column string, values any, level string, args []any) ([]row, error) {
	if reflect.ValueOf(values).Len() == 0 {
		return nil, nil
	}
	var w db.Where
	w.In(column, values)
	w.Raw("NOT p.pending_delete")
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+columns+", "+level+" AS actor_level"+from+w.SQL(), append(args, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("projects by id: %w", err)
	}
	return rows, nil
}

// parseID reads a ref that is a number; numbers that no project can have give 0.
func parseID(ref string) (ID, bool) {
	digits := strings.TrimPrefix(ref, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(ref, 10, 64)
	if err != nil {
		return 0, true
	}
	return ID(n), true
}
