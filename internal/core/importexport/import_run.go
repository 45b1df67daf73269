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
	"slices"

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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if _, twice := s.importing.LoadOrStore(args.ID, cancel); twice {
		return nil
	}
	defer s.importing.Delete(args.ID)
	row, err := s.beginImport(ctx, args.ID)
	if row == nil || err != nil {
		return err
	}
	limited, end := context.WithTimeout(ctx, longest)
	defer end()
	err = s.importAll(limited, row)
	if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), tree.ErrStop) || errors.Is(err, errs.ErrAway) {
		return err
	}
	if err == nil || errors.Is(err, tree.ErrStop) {
		return nil
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

// tooLate is why an import fails that makes no progress.
const tooLate = "Import timed out. Import took longer than 86400 seconds"

const importColumns = "id, project_id, user_id, replaces_id, object, overrides, done, relation, line, counts, items, attempts, created_at, updated_at"

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
		return nil, s.endImport(ctx, row, "The import was interrupted too often.")
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
	if _, err := s.DB.Exec(ctx, "UPDATE file_imports SET object = '', updated_at = ? WHERE id = ?", db.At(s.Now()), row.ID); err != nil {
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
	root, err := s.unpacked(ctx, dir.Path, row)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	w := &tree.Writing{DB: s.DB, As: as, At: p.Place(), All: all, Now: db.At(s.Now()), Log: s.Log, Head: headOf(root)}
	if w.Users, err = s.people(ctx, w, root); err != nil {
		return err
	}
	if err := s.takeFiles(ctx, w, row, root, false); err != nil {
		return err
	}
	if err := s.writeRelations(ctx, w, row, root); err != nil {
		return err
	}
	if err := s.takeFiles(ctx, w, row, root, true); err != nil {
		return err
	}
	if err := s.writeRelation(ctx, w, row, root, rootFile); err != nil {
		return err
	}
	return s.finishImport(ctx, as, row)
}

// unpacked writes the archive to a folder and checks its version.
func (s *Service) unpacked(ctx context.Context, folder string, row *importRow) (_ *os.Root, err error) {
	object, err := s.Objects.Open(ctx, row.Object)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if err := os.Mkdir(folder+"/archive", 0o700); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(folder + "/archive")
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	u := &unpacking{to: root, limit: int64(s.Settings.Current().MaxDecompressedArchiveSize) << 20}
	err = unpack(ctx, object, u)
	if err == nil {
		err = checkVersion(root)
	}
	if err == nil && !hasTree(root) {
		err = splitOld(ctx, root)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
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

// takeFiles stores files of the archive: those that rows belong to, or those that belong to rows.
func (s *Service) takeFiles(ctx context.Context, w *tree.Writing, row *importRow, root *os.Root, after bool) error {
	for _, taker := range s.Takers() {
		for _, files := range taker.Taking() {
			stage := "files:" + files.Name
			if files.After != after || s.isDone(row, stage) {
				continue
			}
			w.Files()
			if err := files.Take(ctx, w, root); err != nil {
				return fmt.Errorf("import %s: %w", files.Name, err)
			}
			t := w.Files()
			if t == nil {
				t = &tree.Tally{}
			}
			if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.progress(ctx, row, at{stage, ended}, t) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeRelations writes the relations of the format in their order, and counts the files that are none.
func (s *Service) writeRelations(ctx context.Context, w *tree.Writing, row *importRow, root *os.Root) error {
	known := map[string]bool{}
	for _, f := range files {
		known[f.name+".ndjson"] = true
		if err := s.writeRelation(ctx, w, row, root, f); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(root.FS(), treeFolder[:len(treeFolder)-1])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list relations: %w", err)
	}
	for _, e := range entries {
		if known[e.Name()] || e.IsDir() {
			continue
		}
		if err := s.leave(ctx, w, row, "tree/project/"+e.Name(), "the file is not of the format"); err != nil {
			return err
		}
	}
	for _, name := range untaken {
		if _, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.leave(ctx, w, row, name, "this server does not import it"); err != nil {
			return err
		}
	}
	return nil
}

// untaken are files and folders of the format that nothing here imports yet.
var untaken = []string{"project.wiki.bundle", "snippets", "avatar"}

// leave counts a file of the archive that is left out, once.
func (s *Service) leave(ctx context.Context, w *tree.Writing, row *importRow, name, reason string) error {
	stage := "other:" + name
	if s.isDone(row, stage) {
		return nil
	}
	w.Files()
	w.Leave("files", name, reason)
	t := w.Files()
	return s.DB.InTx(ctx, func(ctx context.Context) error { return s.progress(ctx, row, at{stage, ended}, t) })
}

// writeRelation writes the lines of a relation that are not written yet.
func (s *Service) writeRelation(ctx context.Context, w *tree.Writing, row *importRow, root *os.Root, f file) error {
	if s.isDone(row, f.name) {
		return nil
	}
	from := int64(0)
	if row.Relation == f.name {
		from = row.Line
	}
	rel := w.All.Find(f.name)
	err := batches(ctx, root, f.path(), f.single, func(lines []tree.Line) error {
		lines = slices.DeleteFunc(lines, func(l tree.Line) bool { return int64(l.Number) <= from })
		if len(lines) == 0 {
			return nil
		}
		last := int64(lines[len(lines)-1].Number)
		if rel == nil {
			w.Files()
			for range lines {
				w.Leave(f.name, "", "this server has no "+f.name)
			}
			t := w.Files()
			return s.DB.InTx(ctx, func(ctx context.Context) error { return s.progress(ctx, row, at{f.name, last}, t) })
		}
		return w.Lines(ctx, rel, lines, func(ctx context.Context, t *tree.Tally, line int) error {
			return s.progress(ctx, row, at{f.name, int64(line)}, t)
		})
	})
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error { return s.progress(ctx, row, at{f.name, ended}, &tree.Tally{}) })
}

// at is how far an import has come.
type at struct {
	stage string
	line  int64
}

// ended is the line of a stage that is done with.
const ended = 1 << 40

// isDone reports whether an attempt before came to the end of a stage.
func (s *Service) isDone(row *importRow, stage string) bool { return slices.Contains(row.Done, stage) }

// maxItems bounds the rows of an import that are kept with their reason; the others are only counted.
const maxItems = 10_000

// progress stores how far an import has come and what became of the rows, in the transaction that writes them. It ends an import whose
// project is being deleted.
func (s *Service) progress(ctx context.Context, row *importRow, now at, t *tree.Tally) error {
	next := *row
	counts := row.counts()
	for name, c := range t.Counts {
		sum := counts[name]
		if sum == nil {
			sum = &tree.Counts{}
			counts[name] = sum
		}
		sum.Add(c)
	}
	text, err := json.Marshal(counts)
	if err != nil {
		return fmt.Errorf("count rows of import: %w", err)
	}
	next.Counts = string(text)
	switch {
	case now.line != ended:
		next.Relation, next.Line = now.stage, now.line
	case row.Relation == now.stage: // another stage leaves the place that an attempt before came to
		next.Relation, next.Line = "", 0
		fallthrough
	default:
		next.Done = append(slices.Clone(row.Done), now.stage)
	}
	items := t.Items[:max(0, min(len(t.Items), maxItems-int(row.Items)))]
	next.Items += int64(len(items))
	n, err := s.DB.Exec(ctx, "UPDATE file_imports AS f SET done = ?, relation = ?, line = ?, counts = ?, items = ?, updated_at = ? WHERE id = ? AND "+waiting,
		next.Done, next.Relation, next.Line, next.Counts, next.Items, db.At(s.Now()), row.ID, project.ImportScheduled, project.ImportStarted)
	if err != nil {
		return fmt.Errorf("note progress of import: %w", err)
	}
	if n == 0 {
		return tree.ErrStop
	}
	if err := s.keepItems(ctx, row.ProjectID, items); err != nil {
		return err
	}
	s.DB.AfterCommit(ctx, func() { *row = next })
	return nil
}

// keepItems stores rows that were not written as they are.
func (s *Service) keepItems(ctx context.Context, of project.ID, items []tree.Item) error {
	type kept struct {
		ID        int64       `db:"id"`
		ProjectID project.ID  `db:"project_id"`
		Relation  string      `db:"relation"`
		Line      int64       `db:"line"`
		Action    tree.Action `db:"action"`
		Failed    bool        `db:"failed"`
		Reason    string      `db:"reason"`
		Title     string      `db:"title"`
		CreatedAt db.Time     `db:"created_at"`
	}
	rows := make([]kept, len(items))
	for i, item := range items {
		rows[i] = kept{
			ProjectID: of, Relation: item.Relation, Line: int64(item.Line), Action: item.Action, Failed: item.Failed, Reason: item.Reason, Title: item.Title,
			CreatedAt: db.At(s.Now()),
		}
	}
	if _, err := db.InsertAll(ctx, s.DB, "file_import_items", rows); err != nil {
		return fmt.Errorf("keep what was lost: %w", err)
	}
	return nil
}

// suffixLen is how much longer path and name are as long as the project that is replaced has them.
const suffixLen = 13

// finishImport shows the project as it is meant to be.
func (s *Service) finishImport(ctx context.Context, as authz.Actor, row *importRow) error {
	var over project.Changes
	if err := json.Unmarshal([]byte(row.Overrides), &over); err != nil {
		return fmt.Errorf("read overrides: %w", err)
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.progress(ctx, row, at{"finish", ended}, &tree.Tally{}); err != nil {
			return err
		}
		err := s.Projects.FinishImport(ctx, as, row.ProjectID, project.Finish{Over: over, Replaces: row.ReplacesID, Suffix: suffixLen})
		if errs.Is(err, errs.Forbidden) {
			return failure{"The user may not replace the project any more."}
		}
		if err != nil {
			return err
		}
		return s.dropArchive(ctx, row)
	})
}
