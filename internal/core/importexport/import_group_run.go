package importexport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/scratch"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/tree"
)

// RunGroupImport is the job that fills a group from its archive.
type RunGroupImport struct {
	ID ImportID `json:"id"`
}

// Kind names the job.
func (RunGroupImport) Kind() string { return "group_file_import" }

// maxGroups bounds the groups of one archive.
const maxGroups = 10_000

// incompatible is why an archive is refused that has no groups.
const incompatible = "The import file is incompatible"

const groupImportColumns = "id, namespace_id, user_id, object, status, error, attempts, created_at, updated_at"

// runGroupImport fills a group and makes those below it. An attempt that the end of the process interrupts goes on where it was. Any other
// failure is the end.
func (s *Service) runGroupImport(ctx context.Context, args RunGroupImport) error {
	if _, twice := s.importing.LoadOrStore(args, true); twice {
		return nil
	}
	defer s.importing.Delete(args)
	row, err := s.beginGroupImport(ctx, args.ID)
	if row == nil || err != nil {
		return err
	}
	limited, end := context.WithTimeout(ctx, longest)
	defer end()
	err = s.importGroups(limited, row)
	switch {
	case err == nil || errors.Is(err, tree.ErrStop):
		return nil
	case errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, errs.ErrAway):
		return err
	}
	text := "The group could not be imported."
	known, ok := errors.AsType[failure](err)
	switch {
	case ok:
		text = known.text
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		text = tooLate
	}
	if noted := s.endGroupImport(context.WithoutCancel(ctx), row, groupFailed, text); noted != nil {
		return errors.Join(err, noted)
	}
	if ok {
		s.Log.InfoContext(ctx, "group import failed", slog.Int64("group", int64(row.NamespaceID)), slog.String("reason", text))
		return nil
	}
	return job.Permanent(fmt.Errorf("import group: %w", err))
}

// beginGroupImport notes that an attempt begins; nil where there is nothing to do any more.
func (s *Service) beginGroupImport(ctx context.Context, id ImportID) (*groupImportRow, error) {
	found, err := db.Select[groupImportRow](ctx, s.DB, "UPDATE group_imports SET attempts = attempts + 1, status = ?, updated_at = ? WHERE id = ? AND status IN (?, ?) RETURNING "+
		groupImportColumns, groupStarted, db.At(s.Now()), id, groupScheduled, groupStarted)
	if err != nil {
		return nil, fmt.Errorf("begin import: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	if row := &found[0]; row.Attempts <= maxAttempts {
		return row, nil
	}
	return nil, s.endGroupImport(ctx, &found[0], groupFailed, tooOften)
}

// endGroupImport ends an import, and forgets its archive.
func (s *Service) endGroupImport(ctx context.Context, row *groupImportRow, status groupStatus, text string) error {
	var reason *string
	if text != "" {
		reason = &text
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.DB.Exec(ctx, "UPDATE group_imports SET status = ?, error = ?, object = '', updated_at = ? WHERE id = ?", status, reason, db.At(s.Now()), row.ID); err != nil {
			return fmt.Errorf("end import: %w", err)
		}
		s.DB.AfterCommit(ctx, func() { s.remove(ctx, row.Object) })
		return nil
	})
}

// groupsRun is one attempt to import the groups of an archive.
type groupsRun struct {
	s    *Service
	row  *groupImportRow
	as   authz.Actor
	from *os.Root
	all  *tree.Catalogue

	outside []string // files of the archive that are not of the format

	users  map[int64]authz.UserID
	names  map[int64]string
	groups map[int64]namespace.ID // by their numbers in the archive
	shown  []shownGroup
}

// shownGroup is a group whose visibility is raised at the end.
type shownGroup struct {
	id      namespace.ID
	own     authz.Visibility
	filling *filling
}

// importGroups unpacks the archive and writes everything that it has.
func (s *Service) importGroups(ctx context.Context, row *groupImportRow) (err error) {
	as, err := s.Accounts.Admit(ctx, row.UserID)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return failure{"The user may not sign in any more."}
	}
	if err != nil {
		return err
	}
	top, err := s.Namespaces.FindByID(ctx, as, row.NamespaceID)
	if err == nil {
		err = s.Policy.Require(ctx, as, authz.ExportGroup, top.Subject())
	}
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return failure{"The user may not import the group any more."}
	}
	if err != nil {
		return err
	}
	all, err := s.Catalogue(tree.Groups)
	if err != nil {
		return err
	}
	dir, err := scratch.Make(s.Scratch, "import-")
	if err != nil {
		return fmt.Errorf("import group: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	root, outside, err := s.unpacked(ctx, dir.Path, row.Object)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	run := &groupsRun{s: s, row: row, as: as, from: root, outside: outside, all: all, groups: map[int64]namespace.ID{}}
	ids, err := groupNumbers(root)
	if err != nil {
		return err
	}
	if err := run.people(ctx, top, ids); err != nil {
		return err
	}
	for i, id := range ids {
		if err := run.group(ctx, i == 0, id); err != nil {
			return err
		}
	}
	return run.finish(ctx)
}

// groupNumbers are the numbers of the groups of an archive, the first one that all others are below.
func groupNumbers(root *os.Root) (out []int64, err error) {
	f, err := root.Open("tree/groups/_all.ndjson")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure{incompatible}
	}
	if err != nil {
		return nil, fmt.Errorf("read list of groups: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	known := map[int64]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || known[id] {
			return nil, failure{incompatible}
		}
		if known[id] = true; len(known) > maxGroups {
			return nil, failure{fmt.Sprintf("The archive has more than %d groups.", maxGroups)}
		}
		out = append(out, id)
	}
	if lines.Err() != nil || len(out) == 0 {
		return nil, failure{incompatible}
	}
	return out, nil
}

// layoutOf is where an archive has what belongs to a group.
func layoutOf(number int64) layout {
	at := fmt.Sprintf("tree/groups/%d", number)
	return layout{root: file{groupRoot, true}, path: at + ".json", folder: at + "/", files: groupFiles}
}

// people finds the users here who are members of any of the groups.
func (r *groupsRun) people(ctx context.Context, top *namespace.Group, ids []int64) (err error) {
	files := make([]string, len(ids))
	for i, id := range ids {
		files[i] = layoutOf(id).of(file{"members", false})
	}
	r.users, r.names, err = r.s.people(ctx, &tree.Writing{As: r.as, At: top.Place()}, r.from, files)
	return err
}

// archivedGroup is what decides where a group of an archive belongs.
type archivedGroup struct {
	ID         int64            `json:"id"`
	Name       string           `json:"name"`
	Path       string           `json:"path"`
	ParentID   *int64           `json:"parent_id"`
	Visibility authz.Visibility `json:"visibility_level"`
}

// read reads the file of a group itself.
func (r *groupsRun) read(number int64) (*archivedGroup, error) {
	f, err := r.from.Open(layoutOf(number).path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read group: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDocument))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read group: %w", err)
	}
	var out archivedGroup
	if json.Unmarshal(text, &out) != nil {
		return nil, nil
	}
	return &out, nil
}

// group writes one group. One that cannot be made is noted with the first group and left out, with those below it.
func (r *groupsRun) group(ctx context.Context, first bool, number int64) error {
	read, err := r.read(number)
	if err != nil {
		return err
	}
	part, why, err := r.ensure(ctx, first, number, read)
	if err != nil || part == nil && why == "" {
		return err
	}
	if part == nil {
		return r.lose(ctx, number, read, why)
	}
	r.groups[number] = part.NamespaceID
	g, err := r.s.Namespaces.FindByID(ctx, r.as, part.NamespaceID)
	if errs.Is(err, errs.NotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	f := r.filling(g, part)
	if first {
		f.outside = r.outside
	}
	if read.Visibility > authz.Private {
		r.shown = append(r.shown, shownGroup{part.NamespaceID, read.Visibility, f})
	}
	err = f.keepAround(ctx, f.group)
	if errors.Is(err, tree.ErrStop) && !first {
		return nil
	}
	return err
}

// filling is what writes a group of the archive.
func (r *groupsRun) filling(g *namespace.Group, part *importedGroup) *filling {
	s := r.s
	return &filling{
		Writing: &tree.Writing{
			DB: s.DB, As: r.as, At: g.Place(), All: r.all, Now: db.At(s.Now()), Log: s.Log, Users: r.users, Names: r.names, Number: part.SourceID, Groups: r.groups,
		},
		s: s, from: r.from, tree: layoutOf(part.SourceID), of: &part.progress, store: s.storeGroup(part),
	}
}

// group writes everything that the archive has of a group. Its own attributes come last.
func (f *filling) group(ctx context.Context) error {
	if err := f.leaveOutside(ctx); err != nil {
		return err
	}
	if err := f.takeFiles(ctx, false); err != nil {
		return err
	}
	if err := f.relations(ctx); err != nil {
		return err
	}
	if err := f.takeFiles(ctx, true); err != nil {
		return err
	}
	return f.relation(ctx, f.tree.root)
}

// ensure finds or makes a group, with its progress; a reason says why there can be none. Without either the import has ended.
func (r *groupsRun) ensure(ctx context.Context, first bool, number int64, read *archivedGroup) (*importedGroup, string, error) {
	if read == nil || read.ID != number {
		why := fmt.Sprintf("Invalid group_id for %d", number)
		if first {
			return nil, "", failure{why}
		}
		return nil, why, nil
	}
	s := r.s
	found, err := db.Select[importedGroup](ctx, s.DB, "SELECT "+db.Columns[importedGroup]("g")+" FROM imported_groups g WHERE g.import_id = ? AND g.source_id = ?", r.row.ID, number)
	if err != nil {
		return nil, "", fmt.Errorf("imported groups: %w", err)
	}
	if len(found) > 0 {
		return &found[0], "", nil
	}
	into := r.row.NamespaceID
	if !first {
		parent, ok := namespace.ID(0), false
		if read.ParentID != nil {
			parent, ok = r.groups[*read.ParentID]
		}
		if !ok {
			return nil, "Parent group not found", nil
		}
		into = parent
	}
	var part *importedGroup
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		id := into
		if !first {
			made, err := s.Namespaces.Create(ctx, r.as, namespace.GroupInput{
				ParentID: &into, GroupChanges: namespace.GroupChanges{Name: &read.Name, Path: &read.Path, Visibility: new(authz.Private)},
			})
			if err != nil {
				return err
			}
			id = made.ID
		}
		now := db.At(s.Now())
		part = &importedGroup{progress: begun, NamespaceID: id, ImportID: &r.row.ID, SourceID: number, CreatedAt: now, UpdatedAt: now}
		return db.Create(ctx, s.DB, "imported_groups", part)
	})
	if _, refused := errors.AsType[*errs.Error](err); refused && !errors.Is(err, errs.ErrAway) {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("make group: %w", err)
	}
	return part, "", nil
}

// lose notes a group that is left out with the first one.
func (r *groupsRun) lose(ctx context.Context, number int64, read *archivedGroup, why string) error {
	s := r.s
	found, err := db.Select[importedGroup](ctx, s.DB, "SELECT "+db.Columns[importedGroup]("g")+" FROM imported_groups g WHERE g.namespace_id = ?", r.row.NamespaceID)
	if err != nil || len(found) == 0 {
		return err
	}
	f := &filling{Writing: &tree.Writing{}, s: s, of: &found[0].progress, store: s.storeGroup(&found[0])}
	stage := fmt.Sprintf("group:%d", number)
	if f.isDone(stage) {
		return nil
	}
	item := tree.Item{Relation: groupRoot, Line: 1, Action: tree.Lost, Reason: why, Failed: true}
	if read != nil {
		item.Title, item.Place = read.Name, new(string)
	}
	t := &tree.Tally{}
	t.Count(item)
	return s.DB.InTx(ctx, func(ctx context.Context) error { return f.note(ctx, at{stage, ended, layoutOf(number).path, nil}, t) })
}

// storeGroup returns what stores the progress of a group. It ends the work on one that was deleted.
func (s *Service) storeGroup(part *importedGroup) func(ctx context.Context, next progress, file string, items []tree.Item) error {
	return func(ctx context.Context, next progress, file string, items []tree.Item) error {
		now := db.At(s.Now())
		n, err := s.DB.Exec(ctx, "UPDATE imported_groups SET updated_at = ? WHERE id = ?", now, part.ID)
		if err == nil && n > 0 {
			_, err = s.DB.Exec(ctx, "UPDATE imported_groups SET done = ?, relation = ?, line = ?, part = ?, counts = ?, items = ? WHERE id = ?",
				next.Done, next.Relation, next.Line, next.Part, next.Counts, next.Items, part.ID)
		}
		if err != nil {
			return fmt.Errorf("note progress of import: %w", err)
		}
		if n == 0 {
			return tree.ErrStop
		}
		type kept struct {
			item
			NamespaceID namespace.ID `db:"namespace_id"`
		}
		rows := make([]kept, len(items))
		for i, one := range items {
			rows[i] = kept{s.item(file, one), part.NamespaceID}
		}
		if _, err := db.InsertAll(ctx, s.DB, "imported_group_items", rows); err != nil {
			return fmt.Errorf("keep what was lost: %w", err)
		}
		if part.ImportID == nil {
			return nil
		}
		if _, err := s.DB.Exec(ctx, "UPDATE group_imports SET updated_at = ? WHERE id = ?", now, *part.ImportID); err != nil {
			return fmt.Errorf("note progress of import: %w", err)
		}
		return nil
	}
}

// show gives the group the visibility that it has at the source, as far as it may have that, and reports where it is another one. At the top it has
// no more than top.
func (f *filling) show(ctx context.Context, own, top authz.Visibility) error {
	return f.s.DB.InTx(ctx, func(ctx context.Context) error {
		shown, err := f.s.Namespaces.ShowImported(ctx, f.As, namespace.ID(f.At.ID), own, top)
		if err != nil || shown >= own {
			return err
		}
		if f.isDone("visibility") {
			return nil
		}
		return f.note(ctx, at{"visibility", ended, f.tree.path, nil}, f.lowered(shown))
	})
}

// finish shows the groups as they are meant to be, each after the one that it is in.
func (r *groupsRun) finish(ctx context.Context) error {
	leftOut := &filling{Writing: &tree.Writing{At: authz.Place{Group: true, ID: int64(r.row.NamespaceID)}}, s: r.s, from: r.from} // groups
	if err := leftOut.keepLines(ctx); err != nil {
		return err
	}
	for _, g := range r.shown {
		if err := g.filling.show(ctx, g.own, authz.Private); err != nil && !errors.Is(err, tree.ErrStop) {
			return err
		}
	}
	return r.s.endGroupImport(ctx, r.row, groupFinished, "")
}
