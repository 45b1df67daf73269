package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// What the packages of kinds are made of, beside Publish.

// NewestFile returns the newest file of a name in packages k that are selected among tables; nil where there is none. What was published last is
// found under a name of any kind. The caller has asked for permission.
func (s *Service) NewestFile(ctx context.Context, tables string, of db.Where, name string) (*File, error) {
	of.And("f.name = ?", name)
	f, err := db.Get[File](ctx, s.DB, "SELECT "+fileColumns+" FROM "+tables+" JOIN package_files f ON f.package_id = k.id"+of.SQL()+" ORDER BY f.id DESC LIMIT 1", of.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find package file: %w", err)
	}
	return &f, nil
}

// openNewest opens the file that NewestFile returns; where there is none, the error is none.
func (s *Service) openNewest(ctx context.Context, tables string, of db.Where, name string, none error) (*File, *blob.Object, error) {
	f, err := s.NewestFile(ctx, tables, of, name)
	if err == nil && f == nil {
		err = none
	}
	if err != nil {
		return nil, nil, err
	}
	return s.OpenFile(ctx, f)
}

// OpenNewest opens the newest file of a name in packages of BelowSQL, with further conditions; close what it returns. Where there is none, the error is
// none.
func (s *Service) OpenNewest(ctx context.Context, at authz.Place, of db.Where, name string, none error) (*File, *blob.Object, error) {
	return s.openNewest(ctx, From(at), of, name, none)
}

// OpenUnseen opens a file for the server's own work; close what it returns.
func (s *Service) OpenUnseen(ctx context.Context, f *File) (*blob.Object, error) {
	o, err := s.Objects.Open(ctx, f.key())
	return o, errs.Wrap(err, "open package file")
}

// BelowSQL selects the packages of a project, or those of the projects below a group that the actor sees and whose packages it may read, for
// statements with what From returns. The caller has asked for permission to read the project or group.
func (s *Service) BelowSQL(as authz.Actor, at authz.Place, kind Kind) db.Where {
	var w db.Where
	if at.Group {
		w = s.belowSQL(as, at, false)
	} else {
		w.And("k.project_id = ?", project.Of(at).ID)
	}
	w.And("k.kind = ?", kind)
	w.In("k.status", Installable())
	return w
}

// Deprecate marks versions as deprecated with a message, or with none as not deprecated any more. The caller has asked for permission, and is in the
// transaction that writes the message where clients read it.
func (s *Service) Deprecate(ctx context.Context, ids []ID, message string) error {
	status, reason := Default, (*string)(nil)
	if message != "" {
		status, reason = Deprecated, &message
	}
	for part := range slices.Chunk(ids, db.MaxArgs-4) {
		var w db.Where
		w.In("id", part)
		w.In("status", Installable())
		_, err := s.DB.Exec(ctx, "UPDATE packages SET status = ?, status_message = ?, updated_at = ?"+w.SQL(), append([]any{status, reason, db.At(s.Now())}, w.Args()...)...)
		if err != nil {
			return fmt.Errorf("deprecate packages: %w", err)
		}
	}
	return nil
}

// From are the tables of BelowSQL: packages k, and for a group its projects p and their namespaces n.
func From(at authz.Place) string {
	if at.Group {
		return "packages k JOIN projects p ON p.id = k.project_id JOIN namespaces n ON n.id = p.namespace_id"
	}
	return "packages k"
}

// belowSQL selects the projects, p and their namespaces n, below a group that the actor sees and whose packages it may read; direct leaves out
// those of subgroups.
func (s *Service) belowSQL(as authz.Actor, at authz.Place, direct bool) db.Where {
	var w db.Where
	if direct {
		w.And("p.parent_id = ?", at.Namespace)
	} else {
		w.And("p.namespace_id IN (SELECT a.namespace_id FROM namespace_ancestors a WHERE a.ancestor_id = ?)", at.Namespace)
	}
	w.Raw(`NOT p.pending_delete AND p.settings NOT LIKE '%"packages_enabled":false%' AND p.features NOT LIKE '%"package_registry":"disabled"%'`)
	if !as.Admin && !as.Auditor {
		visible, args := s.Policy.VisibleProjectsSQL(as, "n")
		open := `n.visibility >= ? AND p.features NOT LIKE '%"package_registry":"private"%' AND ` + visible
		args = slices.Concat([]any{openTo(as)}, args)
		switch {
		case as.Job.ID != 0: // beside what is public, as far as projects let the job in
			admitted, more := s.Policy.AdmittedSQL(as.Job, "n")
			members, most := s.Policy.ReachSQL(as, authz.Reporter)
			open, args = `n.visibility >= ? AND p.features NOT LIKE '%"package_registry":"private"%' OR `+admitted+" AND n.id IN ("+members+")", slices.Concat([]any{authz.Public}, more, most)
		case as.Deploys():
			level, more := s.Policy.LevelSQL(as, "n.id")
			open, args = "("+open+") OR "+level+" >= ?", slices.Concat(args, more, []any{authz.Reporter})
		case as.SignedIn():
			members, more := s.Policy.ReachSQL(as, authz.Reporter)
			open, args = "("+open+") OR n.id IN ("+members+")", slices.Concat(args, more)
		}
		w.And("("+open+")", args...)
	}
	return w
}
