package importexport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/scratch"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/tree"
)

// RunImport is the job that fills a project from its archive.
type RunImport struct {
	ID ImportID `json:"id"`
}

// Kind names the job.
func (RunImport) Kind() string { return "project_file_import" }

// runImport fills a project. An attempt that the end of the process interrupts goes on where it was: what became of some lines is stored
// with their rows. Any other failure is the end.
func (s *Service) runImport(ctx context.Context, args RunImport) error {
	if _, twice := s.importing.LoadOrStore(args.ID, true); twice {
		return nil
	}
	defer s.importing.Delete(args.ID)
	row, err := s.beginImport(ctx, args.ID)
	if row == nil || err != nil {
		return err
	}
	whole, free, alone := s.filling.Begin(ctx, row.ProjectID)
	if !alone {
		return nil
	}
	defer free()
	limited, end := context.WithTimeout(whole, longest)
	defer end()
	err = s.importAll(limited, row)
	if err == nil || errors.Is(err, tree.ErrStop) || errors.Is(context.Cause(whole), tree.ErrStop) {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, errs.ErrAway) {
		return err
	}
	text := "The project could not be imported."
	known, ok := errors.AsType[failure](err)
	_, broken := errors.AsType[*gitcmd.Error](err)
	switch {
	case ok:
		text = known.text
	case errors.Is(err, repo.ErrNoBundle):
		text, ok = "The repository could not be read: the file is no bundle of git.", true
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		text = tooLate
	case broken:
		text = "The repository could not be read."
	}
	if noted := s.endImport(context.WithoutCancel(ctx), row, text); noted != nil {
		return errors.Join(err, noted)
	}
	if ok {
		s.Log.InfoContext(ctx, "project import failed", slog.Int64("project", int64(row.ProjectID)), slog.String("reason", text))
		return nil
	}
	return job.Permanent(fmt.Errorf("import project: %w", err))
}

// tooOften is why an import fails whose attempts did not come to an end.
const tooOften = "The import was interrupted too often."

// tooLate is why an import fails that makes no progress.
const tooLate = "Import timed out. Import took longer than 86400 seconds"

const importColumns = "id, project_id, user_id, replaces_id, object, source, overrides, attempts, created_at, updated_at, " + progressColumns

// beginImport notes that an attempt begins; nil where there is nothing to do any more.
func (s *Service) beginImport(ctx context.Context, id ImportID) (row *importRow, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		row = nil
		found, err := db.Select[importRow](ctx, s.DB, "UPDATE file_imports AS f SET attempts = attempts + 1, updated_at = ? WHERE id = ? AND "+waiting+
			" RETURNING "+importColumns, db.At(s.Now()), id, project.ImportScheduled, project.ImportStarted)
		if err != nil || len(found) == 0 {
			return err
		}
		row = &found[0]
		if row.Attempts > maxAttempts {
			return nil
		}
		return s.Projects.RecordImport(ctx, row.ProjectID, project.ImportStarted, "")
	})
	if err != nil {
		return nil, fmt.Errorf("begin import: %w", err)
	}
	if row != nil && row.Attempts > maxAttempts {
		return nil, s.endImport(ctx, row, tooOften)
	}
	return row, nil
}

// waiting is a condition of imports that have not ended.
const waiting = "EXISTS (SELECT 1 FROM projects p WHERE p.id = f.project_id AND NOT p.pending_delete AND p.import_status IN (?, ?))"

// endImport ends an import that failed.
func (s *Service) endImport(ctx context.Context, row *importRow, text string) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.Projects.RecordImport(ctx, row.ProjectID, project.ImportFailed, text); err != nil {
			return err
		}
		return s.dropArchive(ctx, row)
	})
}

// dropArchive forgets the archive of an import that has ended.
func (s *Service) dropArchive(ctx context.Context, row *importRow) error {
	if _, err := s.DB.Exec(ctx, "UPDATE file_imports SET object = '', source = '', updated_at = ? WHERE id = ?", db.At(s.Now()), row.ID); err != nil {
		return fmt.Errorf("end import: %w", err)
	}
	s.DB.AfterCommit(ctx, func() { s.remove(ctx, row.Object) })
	return nil
}

// importAll unpacks the archive and writes everything that it has.
func (s *Service) importAll(ctx context.Context, row *importRow) (err error) {
	as, err := s.Accounts.Admit(ctx, row.UserID)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return failure{"The user may not sign in any more."}
	}
	if err != nil {
		return err
	}
	p, err := s.Projects.FindByID(ctx, as, row.ProjectID)
	if err == nil {
		err = s.Policy.Require(ctx, as, authz.ExportProject, p.Subject())
	}
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return failure{"The user may not import the project any more."}
	}
	if err != nil {
		return err
	}
	all, err := s.Catalogue(tree.Projects)
	if err != nil {
		return err
	}
	dir, err := scratch.Make(s.Scratch, "import-")
	if err != nil {
		return fmt.Errorf("import project: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	if err := s.fetch(ctx, row); err != nil {
		return err
	}
	root, outside, err := s.unpacked(ctx, dir.Path, row.Object)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if !hasTree(root) {
		if err := splitOld(ctx, root); err != nil {
			return err
		}
	}
	w := &tree.Writing{DB: s.DB, As: as, At: p.Place(), All: all, Now: db.At(s.Now()), Log: s.Log, Head: headOf(root)}
	if w.Users, w.Names, err = s.people(ctx, w, root, []string{projectLayout.folder + "project_members.ndjson"}); err != nil {
		return err
	}
	f := &filling{Writing: w, s: s, from: root, outside: outside, tree: projectLayout, of: &row.progress, store: s.storeProgress(row)}
	if err := f.keepAround(ctx, f.all); err != nil {
		return err
	}
	return s.finishImport(ctx, as, row, f)
}

// unpacked writes the archive to a folder and checks its version. It returns the files that are not of the format as well.
func (s *Service) unpacked(ctx context.Context, folder, key string) (_ *os.Root, outside []string, err error) {
	object, err := s.Objects.Open(ctx, key)
	if err != nil {
		return nil, nil, fmt.Errorf("open archive: %w", err)
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if err := os.Mkdir(folder+"/archive", 0o700); err != nil {
		return nil, nil, fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(folder + "/archive")
	if err != nil {
		return nil, nil, fmt.Errorf("unpack: %w", err)
	}
	u := bounded(root, s.Settings.Current())
	err = unpack(ctx, object, u)
	if err == nil {
		err = checkVersion(root)
	}
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return root, u.outside, nil
}

// headOf is the default branch that an archive names.
func headOf(root *os.Root) string {
	f, err := root.Open("tree/project.json")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxDocument))
	var named struct {
		Branch string `json:"default_branch"`
	}
	if err != nil || json.Unmarshal(text, &named) != nil {
		return ""
	}
	return named.Branch
}

// all writes everything that the folder has.
func (f *filling) all(ctx context.Context) error {
	if err := f.leaveOutside(ctx); err != nil {
		return err
	}
	if err := f.takeFiles(ctx, false); err != nil {
		return err
	}
	if err := f.relations(ctx); err != nil {
		return err
	}
	for _, name := range untaken {
		if _, err := f.from.Stat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := f.leave(ctx, name, "this server does not import it"); err != nil {
			return err
		}
	}
	if err := f.relation(ctx, f.tree.root); err != nil {
		return err
	}
	return f.takeFiles(ctx, true)
}

// untaken are files and folders of the format that nothing here imports yet.
var untaken = []string{designBundle}

// storeProgress returns what stores the progress of an import. It ends one whose project is being deleted.
func (s *Service) storeProgress(row *importRow) func(ctx context.Context, next progress, file string, items []tree.Item) error {
	return func(ctx context.Context, next progress, file string, items []tree.Item) error {
		n, err := s.DB.Exec(ctx, "UPDATE file_imports AS f SET updated_at = ? WHERE id = ? AND "+waiting, db.At(s.Now()), row.ID, project.ImportScheduled, project.ImportStarted)
		if err == nil && n > 0 {
			_, err = s.DB.Exec(ctx, "UPDATE file_imports SET done = ?, relation = ?, line = ?, part = ?, counts = ?, items = ? WHERE id = ?",
				next.Done, next.Relation, next.Line, next.Part, next.Counts, next.Items, row.ID)
		}
		if err != nil {
			return fmt.Errorf("note progress of import: %w", err)
		}
		if n == 0 {
			return tree.ErrStop
		}
		type kept struct {
			item
			ProjectID project.ID `db:"project_id"`
		}
		rows := make([]kept, len(items))
		for i, one := range items {
			rows[i] = kept{s.item(file, one), row.ProjectID}
		}
		if _, err := db.InsertAll(ctx, s.DB, "file_import_items", rows); err != nil {
			return fmt.Errorf("keep what was lost: %w", err)
		}
		return nil
	}
}

// suffixLen is how much longer path and name are as long as the project that is replaced has them.
const suffixLen = 13

// finishImport shows the project as it is meant to be.
func (s *Service) finishImport(ctx context.Context, as authz.Actor, row *importRow, f *filling) error {
	var over project.Changes
	if err := json.Unmarshal([]byte(row.Overrides), &over); err != nil {
		return fmt.Errorf("read overrides: %w", err)
	}
	end := project.Finish{Over: over, Replaces: row.ReplacesID, Suffix: suffixLen}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		lowered, err := s.Projects.LoweredImport(ctx, as, row.ProjectID, end)
		if err != nil {
			return err
		}
		t := &tree.Tally{}
		if lowered != nil {
			t = f.lowered(*lowered)
		}
		if err := f.note(ctx, at{"finish", ended, f.tree.path, nil}, t); err != nil {
			return err
		}
		err = s.Projects.FinishImport(ctx, as, row.ProjectID, end)
		if errs.Is(err, errs.Forbidden) {
			return failure{"The user may not replace the project any more."}
		}
		if err != nil {
			return err
		}
		return s.dropArchive(ctx, row)
	})
}
