package importexport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// ImportID identifies an import.
type ImportID int64

// importRow is an import of a project from an archive.
type importRow struct {
	progress

	ID         ImportID     `db:"id"`
	ProjectID  project.ID   `db:"project_id"`
	UserID     authz.UserID `db:"user_id"`
	ReplacesID *project.ID  `db:"replaces_id"`
	Object     string       `db:"object"`
	Source     string       `db:"source"`
	Overrides  string       `db:"overrides"`
	Attempts   int64        `db:"attempts"`
	CreatedAt  db.Time      `db:"created_at"`
	UpdatedAt  db.Time      `db:"updated_at"`
}

// stages are the parts of an import that are done with, as JSON.
type stages = db.List[string]

// Uploaded is the first part of the keys of archives that wait for their import, and of the lines of reports. Backups leave them out.
const Uploaded = "imports"

// source is what import_sources calls archives.
const source = "gitlab_project"

// CodeFileName is a file whose name is not that of an archive.
const CodeFileName errs.Code = "no name of an archive"

// ImportInput says what is imported, and as what.
type ImportInput struct {
	FileName  string
	File      io.Reader
	Namespace string // number or path, "" for the personal one
	Path      string
	Name      string // "" is the path
	Overwrite bool   // a project that is there is replaced once the import is whole

	// Override goes before what the archive says.
	Override project.Changes
}

// Import has a project made from an archive, and returns it, which waits for its turn. It requires ImportProjects in a group.
func (s *Service) Import(ctx context.Context, as authz.Actor, in ImportInput) (*project.Project, error) {
	into, err := s.importInto(ctx, as, in.Namespace)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(strings.ToLower(in.FileName), ".gz") {
		return nil, errs.Coded(errs.Unprocessable, CodeFileName, "")
	}
	return s.scheduleImport(ctx, as, into, in, func(key string) (string, error) { return "", s.keep(ctx, key, in.File) })
}

// keep stores an archive that was uploaded.
func (s *Service) keep(ctx context.Context, key string, file io.Reader) error {
	_, err := s.Objects.Put(ctx, key, file, blob.Wanted{Limit: int64(s.Settings.Current().MaxImportSize) << 20})
	if errors.Is(err, blob.ErrTooLarge) {
		return errs.New(errs.TooLarge, "")
	}
	if err != nil {
		return fmt.Errorf("keep archive: %w", err)
	}
	return nil
}

// scheduleImport makes the project of an import. Put stores the archive under a key, or returns where it is, sealed.
func (s *Service) scheduleImport(ctx context.Context, as authz.Actor, into *authz.NamespaceID, in ImportInput, put func(key string) (source string, err error)) (*project.Project, error) {
	overrides, err := json.Marshal(in.Override)
	if err != nil {
		return nil, fmt.Errorf("keep overrides: %w", err)
	}
	old, err := s.overwritten(ctx, as, into, &in)
	if err != nil {
		return nil, err
	}
	key := Uploaded + "/" + blob.Random()
	source, err := put(key)
	if err != nil {
		return nil, err
	}
	changes := in.Override
	changes.Path, changes.Name = &in.Path, new(cmp.Or(in.Name, in.Path))
	changes.Visibility, changes.DefaultBranch = nil, nil
	row := importRow{UserID: as.UserID, ReplacesID: old, Object: key, Source: source, Overrides: string(overrides), progress: begun}
	made, err := s.Projects.Create(ctx, as, project.Input{
		NamespaceID: into, Changes: changes, ImportID: blob.Random(), File: &project.FromFile{Begin: func(ctx context.Context, p *project.Project) error {
			row.ID, row.ProjectID, row.CreatedAt = 0, p.ID, db.At(s.Now())
			row.UpdatedAt = row.CreatedAt
			if err := db.Create(ctx, s.DB, "file_imports", &row); err != nil {
				return fmt.Errorf("schedule import: %w", err)
			}
			return s.Jobs.Enqueue(ctx, RunImport{ID: row.ID})
		}},
	})
	if err != nil {
		s.remove(ctx, key)
		return nil, sentence(err)
	}
	return made, nil
}

// importInto finds the namespace that a project is imported into; nil is the personal one.
func (s *Service) importInto(ctx context.Context, as authz.Actor, ref string) (*authz.NamespaceID, error) {
	if err := s.Policy.Require(ctx, as, authz.ImportProjects, authz.Subject{}); err != nil {
		return nil, err
	}
	if !slices.Contains(s.Settings.Current().ImportSources, source) {
		return nil, errs.Denied("")
	}
	if err := s.Limits.Check(limit.ProjectImport, as); err != nil {
		return nil, err
	}
	if ref == "" {
		return nil, nil
	}
	into, err := s.Namespaces.FindNamespace(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if into.Kind == namespace.GroupKind {
		g, err := s.Namespaces.FindByID(ctx, as, into.ID)
		if err != nil {
			return nil, err
		}
		if err := s.Policy.Require(ctx, as, authz.ImportIntoGroup, g.Subject()); err != nil {
			return nil, errs.Plain("Namespace is not valid")
		}
	}
	return &into.ID, nil
}

// overwritten returns the project that an import is to replace, for which the new one gets a path of its own; nil where there is none.
func (s *Service) overwritten(ctx context.Context, as authz.Actor, into *authz.NamespaceID, in *ImportInput) (*project.ID, error) {
	if !in.Overwrite || in.Path == "" {
		return nil, nil
	}
	at := authz.NamespaceID(0)
	if into != nil {
		at = *into
	} else {
		own, err := db.Get[*authz.NamespaceID](ctx, s.DB, "SELECT namespace_id FROM users WHERE id = ?", as.UserID)
		if err != nil || own == nil {
			return nil, err
		}
		at = *own
	}
	found, err := db.Select[project.ID](ctx, s.DB, `SELECT p.id FROM projects p JOIN namespaces n ON n.id = p.namespace_id JOIN routes r ON r.namespace_id = n.id
		JOIN routes o ON o.namespace_id = p.parent_id WHERE p.parent_id = ? AND r.path_fold = `+"o.path_fold || ?", at, "/"+db.Fold(in.Path))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	old, err := s.Projects.FindByID(ctx, as, found[0])
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteProject, old.Subject()); err != nil {
		return nil, err
	}
	in.Name = cmp.Or(in.Name, in.Path)
	suffix := "-" + blob.Random()[:suffixLen-1]
	in.Path, in.Name = in.Path+suffix, in.Name+suffix
	return &old.ID, nil
}

// sentence turns a refusal with fields into the first of its sentences.
func sentence(err error) error {
	refused, ok := errors.AsType[*errs.Error](err)
	if !ok || len(refused.Fields)+len(refused.List) == 0 {
		return err
	}
	if len(refused.List) > 0 {
		return errs.Plain(refused.List[0])
	}
	first := refused.Fields[0]
	for _, f := range refused.Fields {
		if f.Name == "path" {
			first = f
		}
	}
	name := strings.NewReplacer("_", " ", ".", " ").Replace(first.Name)
	r, size := utf8.DecodeRuneInString(name)
	return errs.Plain(string(unicode.ToUpper(r)) + name[size:] + " " + first.Messages[0])
}

// FailedRow is a row of an archive that is broken.
type FailedRow struct {
	ID        int64   `db:"id"`
	Relation  string  `db:"relation"`
	Line      int64   `db:"line"`
	Reason    string  `db:"reason"`
	CreatedAt db.Time `db:"created_at"`
}

// maxFailed is how many failed relations are shown.
const maxFailed = 100

// ImportStatus is how far the import of a project has come, for one caller.
type ImportStatus struct {
	Project *project.Project
	Error   *string
	Failed  []FailedRow // the newest first, for those who may administer the project
}

// aMaintainer stands in place of an error for those who may not administer the project.
const aMaintainer = "Ask a maintainer to check the import status for more details."

// ImportOf returns the status of a project's import, of whatever kind.
func (s *Service) ImportOf(ctx context.Context, as authz.Actor, ref string) (*ImportStatus, error) {
	p, err := s.Projects.ImportOf(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	out := &ImportStatus{Project: p, Error: p.ImportError, Failed: []FailedRow{}}
	if !p.Administers(as) {
		if p.ImportError != nil {
			out.Error = new(aMaintainer)
		}
		return out, nil
	}
	out.Failed, err = db.Select[FailedRow](ctx, s.DB, `SELECT id, relation, line, reason, created_at FROM file_import_items WHERE project_id = ? AND failed
		ORDER BY id DESC LIMIT ?`, p.ID, maxFailed)
	if err != nil {
		return nil, fmt.Errorf("read failed relations: %w", err)
	}
	return out, nil
}
