package importexport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// progress is how far the import of a project or group has come, as columns of its row.
type progress struct {
	Done     stages `db:"done"`
	Relation string `db:"relation"`
	Line     int64  `db:"line"`
	Counts   string `db:"counts"`
	Items    int64  `db:"items"`
	Part     string `db:"part"` // of the line after Line, as JSON; "" where none of it is written
}

// begun is the progress of an import that has not begun.
var begun = progress{Counts: "{}"}

const progressColumns = "done, relation, line, counts, items, part"

// counts are those of the rows so far.
func (p *progress) counts() map[string]*tree.Counts {
	out := map[string]*tree.Counts{}
	_ = json.Unmarshal([]byte(p.Counts), &out) // our own text
	return out
}

// filling is one run that writes what a folder holds into a project or group.
type filling struct {
	*tree.Writing

	s    *Service
	from *os.Root
	tree layout

	outside []string // files of the archive that are not of the format
	of      *progress

	// store keeps the progress and rows that were not written as they are, in the transaction that writes them. It fails with
	// tree.ErrStop where the import has ended meanwhile.
	store func(ctx context.Context, next progress, file string, items []tree.Item) error
}

// layout is where an archive has what belongs to one project or group.
type layout struct {
	root   file
	path   string // of the file of the root
	folder string // of the others, with a slash at its end
	files  []file
	later  []file // of what this server does not import
}

// all are the files of relations.
func (l layout) all() []file { return append(slices.Clone(l.files), l.later...) }

// projectLayout is that of archives of projects.
var projectLayout = layout{root: file{root, true}, path: "tree/project.json", folder: "tree/project/", files: files, later: slices.Concat(laterFiles, countedFiles)}

// of is the place of a relation.
func (l layout) of(f file) string {
	if f == l.root {
		return l.path
	}
	return l.folder + f.name + ".ndjson"
}

// takeFiles stores files of the archive: those that rows belong to, or those that belong to rows.
func (f *filling) takeFiles(ctx context.Context, after bool) error {
	for _, taker := range f.s.Takers() {
		for _, files := range taker.Taking() {
			stage := "files:" + files.Name
			if files.After != after || !files.Takes(f.Writing) || f.isDone(stage) {
				continue
			}
			f.Files()
			if err := files.Take(ctx, f.Writing, f.from); err != nil {
				return fmt.Errorf("import %s: %w", files.Name, err)
			}
			if err := f.noteFiles(ctx, stage); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteFiles notes that a stage is done with, and what was reported of its files.
func (f *filling) noteFiles(ctx context.Context, stage string) error {
	t := f.Files()
	if t == nil {
		t = &tree.Tally{}
	}
	return f.s.DB.InTx(ctx, func(ctx context.Context) error { return f.note(ctx, at{stage, ended, "", nil}, t) })
}

// relations writes the relations of the format in their order, and counts the files that are none.
func (f *filling) relations(ctx context.Context) error {
	known := map[string]bool{}
	for _, one := range f.tree.all() {
		known[one.name+".ndjson"] = true
		if err := f.relation(ctx, one); err != nil {
			return err
		}
	}
	folder := strings.TrimSuffix(f.tree.folder, "/")
	entries, err := fs.ReadDir(f.from.FS(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list relations: %w", err)
	}
	for _, e := range entries {
		if known[e.Name()] || e.IsDir() {
			continue
		}
		if err := f.leave(ctx, f.tree.folder+e.Name(), notOfFormat); err != nil {
			return err
		}
	}
	return nil
}

// leaveOutside counts the files of the archive that are not of the format.
func (f *filling) leaveOutside(ctx context.Context) error {
	for _, name := range f.outside {
		if err := f.leave(ctx, name, notOfFormat); err != nil {
			return err
		}
	}
	return nil
}

// notOfFormat is why a file is left out that importers do not know.
const notOfFormat = "the file is not of the format"

// leave counts a file of the archive that is left out, once.
func (f *filling) leave(ctx context.Context, name, reason string) error {
	stage := "other:" + name
	if f.isDone(stage) {
		return nil
	}
	f.Files()
	f.Leave("files", name, reason)
	return f.noteFiles(ctx, stage)
}

// relation writes the lines of a relation that are not written yet.
func (f *filling) relation(ctx context.Context, one file) error {
	if f.isDone(one.name) {
		return nil
	}
	from := int64(0)
	if f.of.Relation == one.name {
		from = f.of.Line
	}
	rel := f.All.Find(one.name)
	err := batches(ctx, f.from, f.tree.of(one), one.single, func(lines []tree.Line) error {
		lines = slices.DeleteFunc(lines, func(l tree.Line) bool { return int64(l.Number) <= from })
		if len(lines) == 0 {
			return nil
		}
		if rel == nil {
			t := &tree.Tally{}
			for _, line := range lines {
				t.Count(tree.Item{Relation: one.name, Line: line.Number, Action: tree.Lost, Reason: noArea(one.name), Title: tree.TitleOf(line.Text)})
			}
			now := at{one.name, int64(lines[len(lines)-1].Number), f.tree.of(one), nil}
			return f.s.DB.InTx(ctx, func(ctx context.Context) error { return f.note(ctx, now, t) })
		}
		if len(lines) == 1 && rel.InParts(lines[0].Text) {
			return f.parts(ctx, rel, one, lines[0])
		}
		return f.Lines(ctx, rel, lines, func(ctx context.Context, t *tree.Tally, line int) error {
			return f.note(ctx, at{one.name, int64(line), f.tree.of(one), nil}, t)
		})
	})
	if err != nil {
		return err
	}
	return f.s.DB.InTx(ctx, func(ctx context.Context) error { return f.note(ctx, at{one.name, ended, "", nil}, &tree.Tally{}) })
}

// parts writes a line that is too large for one transaction.
func (f *filling) parts(ctx context.Context, rel *tree.Relation, one file, line tree.Line) error {
	var from tree.Part
	if f.of.Relation == one.name && f.of.Line == int64(line.Number)-1 && f.of.Part != "" {
		if err := json.Unmarshal([]byte(f.of.Part), &from); err != nil {
			return fmt.Errorf("progress of line: %w", err)
		}
	}
	return f.Large(ctx, rel, line, from, func(ctx context.Context, t *tree.Tally, part tree.Part) error {
		now := at{one.name, int64(line.Number), f.tree.of(one), part}
		if len(part) > 0 {
			now.line-- // is done with
		}
		return f.note(ctx, now, t)
	})
}

// at is how far an import has come.
type at struct {
	stage string
	line  int64
	file  string // of the archive that has the line, "" for none
	part  tree.Part
}

// noArea is why rows of a relation that nothing here describes are lost.
func noArea(relation string) string { return "this server has no " + relation }

// lowered reports that the project or group has a lower visibility than at the source. Its row is counted already.
func (f *filling) lowered(now authz.Visibility) *tree.Tally {
	t := &tree.Tally{}
	before := f.of.counts()[f.tree.root.name]
	if before == nil || before.Written+before.Changed == 0 {
		return t
	}
	t.Count(tree.Item{Relation: f.tree.root.name, Line: 1, Action: tree.Changed, Reason: "its visibility is " + now.String(), Title: f.At.Name})
	again := t.Counts[f.tree.root.name]
	again.Read, again.Changed = 0, min(before.Written, 1)
	again.Written = -again.Changed
	return t
}

// ended is the line of a stage that is done with.
const ended = 1 << 40

// isDone reports whether an attempt before came to the end of a stage.
func (f *filling) isDone(stage string) bool { return slices.Contains(f.of.Done, stage) }

// maxItems bounds the rows of an import that are kept with their reason; the others are only counted.
const maxItems = 10_000

// note stores how far an import has come and what became of the rows, in the transaction that writes them.
func (f *filling) note(ctx context.Context, now at, t *tree.Tally) error {
	next := *f.of
	counts := f.of.counts()
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
	next.Counts, next.Part = string(text), ""
	if len(now.part) > 0 {
		part, err := json.Marshal(now.part)
		if err != nil {
			return fmt.Errorf("progress of line: %w", err)
		}
		next.Part = string(part)
	}
	switch {
	case now.line != ended:
		next.Relation, next.Line = now.stage, now.line
	case f.of.Relation == now.stage: // another stage leaves the place that an attempt before came to
		next.Relation, next.Line = "", 0
		fallthrough
	default:
		next.Done = append(slices.Clone(f.of.Done), now.stage)
	}
	items := t.Items[:max(0, min(len(t.Items), maxItems-int(next.Items)))]
	next.Items += int64(len(items))
	if err := f.store(ctx, next, now.file, items); err != nil {
		return err
	}
	f.s.DB.AfterCommit(ctx, func() { *f.of = next })
	return nil
}

// item is a row that was not written as it is, as it is stored.
type item struct {
	ID        int64       `db:"id"`
	Relation  string      `db:"relation"`
	Line      int64       `db:"line"`
	Action    tree.Action `db:"action"`
	Failed    bool        `db:"failed"`
	Reason    string      `db:"reason"`
	Title     string      `db:"title"`
	File      string      `db:"file"`
	Place     *string     `db:"place"`
	CreatedAt db.Time     `db:"created_at"`
}

func (s *Service) item(file string, of tree.Item) item {
	return item{
		Relation: of.Relation, Line: int64(of.Line), Action: of.Action, Failed: of.Failed, Reason: of.Reason, Title: of.Title, File: file, Place: of.Place, CreatedAt: db.At(s.Now()),
	}
}
