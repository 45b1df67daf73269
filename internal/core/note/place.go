package note

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// lineDiff are the options of the diffs that lines are found in: without context, and with more
// room than diffs that are shown.
var lineDiff = gitcmd.DiffOptions{Context: -1, MaxFiles: 20_000, MaxFileBytes: 4 << 20, MaxBytes: 48 << 20}

// maxCounted is how long a file is at most whose lines are counted.
const maxCounted = 16 << 20

// misplaced is a position that is not in the diff; why says which part of it is wrong.
func misplaced(why string, more ...errs.Field) error {
	return &errs.Error{
		Kind: errs.Invalid, Code: CodeInvalid, Detail: why,
		Fields: append([]errs.Field{{Name: "line_code", Messages: []string{"can't be blank", "must be a valid line code"}}}, more...),
	}
}

var incomplete = errs.Field{Name: "position", Messages: []string{"is incomplete"}}

// CheckPosition finds a position in the diff of a merge request or a commit. It returns the
// position with both paths, and the code of the line, nil for one that is about no line. Of a
// merge request, commit names the one commit whose diff it is, "" for a version. It asks for no
// permission and is for core.
func (s *Service) CheckPosition(ctx context.Context, on On, t noteable.Target, p Position, commit string) (*Position, *string, error) {
	if !on.Place.IsProject() || !s.Kinds.Of(t.Kind).Diffs {
		return nil, nil, refuse("position", "is invalid")
	}
	text := p.Type == TextPosition
	switch {
	case p.OldPath == "" && p.NewPath == "" && text:
		return nil, nil, misplaced("new_path and old_path are missing", incomplete)
	case p.OldPath == "" && p.NewPath == "",
		p.Type == ImagePosition && (p.X == nil || p.Y == nil || p.Width == nil || p.Height == nil):
		return nil, nil, refuse("position", "is incomplete")
	case text && p.OldLine == nil && p.NewLine == nil:
		return nil, nil, misplaced("new_line and old_line are missing", incomplete)
	}
	r, err := s.Repos.Open(ctx, project.Of(on.Place))
	if err != nil {
		return nil, nil, err
	}
	base, head, err := s.compared(ctx, r, t, &p, commit)
	if err != nil {
		return nil, nil, err
	}
	d, err := r.Diff(ctx, base, head, lineDiff)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil, misplaced("the repository does not have the commits base_sha and head_sha")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("diff of a position: %w", err)
	}
	f := newFileIndex(d).find(&p)
	if f == nil {
		return nil, nil, misplaced(fmt.Sprintf("the diff of base_sha and head_sha does not change %q", p.path()))
	}
	p.OldPath, p.NewPath = f.OldPath, f.NewPath
	if !text {
		p.OldLine, p.NewLine, p.Range = nil, nil, nil
		return &p, nil, nil
	}
	p.Width, p.Height, p.X, p.Y = nil, nil, nil, nil
	code, err := lineOf(ctx, r, f, p.OldLine, p.NewLine)
	if err == nil && p.Range != nil {
		p.Range, err = s.rangeOf(ctx, r, f, *p.Range)
	}
	if err != nil {
		return nil, nil, err
	}
	return &p, &code, nil
}

// path returns the path that the position's file is known by.
func (p *Position) path() string {
	if p.NewPath != "" {
		return p.NewPath
	}
	return p.OldPath
}

// compared returns the two commits whose diff has the position: those of a version of the merge
// request, of two of its versions, or of one commit.
func (s *Service) compared(ctx context.Context, r *gitcmd.Repo, t noteable.Target, p *Position, commit string) (base, head gitstore.ObjectID, err error) {
	for _, sha := range []struct {
		name, text string
		to         *gitstore.ObjectID
	}{{"base_sha", p.BaseSHA, &base}, {"start_sha", p.StartSHA, new(gitstore.ObjectID)}, {"head_sha", p.HeadSHA, &head}} {
		if *sha.to, err = gitstore.ParseObjectID(sha.text); err != nil {
			return base, head, misplaced(sha.name + " is not the SHA of a commit")
		}
	}
	if t.Kind == noteable.Commit {
		if head.String() != t.Commit {
			return base, head, misplaced("head_sha is not the commit")
		}
		return base, head, ofParent(ctx, r, &base, head, "base_sha is not a parent of the commit")
	}
	if commit != "" {
		id, err := r.Resolve(ctx, commit)
		if err != nil || id.ID != head {
			return base, head, refuse("commit_id", "does not match the diff refs")
		}
	}
	type version struct {
		Base string `db:"base_sha"`
		Head string `db:"head_sha"`
	}
	versions, err := db.Select[version](ctx, s.DB, "SELECT base_sha, head_sha FROM merge_request_versions WHERE merge_request_id = ? ORDER BY id DESC LIMIT ?",
		t.ID, maxVersions)
	if err != nil {
		return base, head, fmt.Errorf("versions of a position: %w", err)
	}
	compared := map[string]bool{} // what heads of versions are compared with
	for _, v := range versions {
		compared[v.Base], compared[v.Head] = true, true
	}
	for _, v := range versions {
		if commit == "" && v.Head == p.HeadSHA && compared[p.BaseSHA] {
			return base, head, nil
		}
	}
	for _, v := range versions {
		tip, err := gitstore.ParseObjectID(v.Head)
		if err != nil {
			continue
		}
		in, err := r.IsAncestor(ctx, head, tip)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return base, head, fmt.Errorf("commit of a position: %w", err)
		}
		if in {
			return base, head, ofParent(ctx, r, &base, head, "base_sha is not one of a version of the merge request, nor a parent of head_sha")
		}
	}
	return base, head, misplaced("head_sha is no commit of the merge request")
}

// maxVersions is how many of the newest versions of a merge request can have new positions.
const maxVersions = 200

// ofParent refuses a base that is no parent of the commit head. The parent of a first commit
// is the empty tree.
func ofParent(ctx context.Context, r *gitcmd.Repo, base *gitstore.ObjectID, head gitstore.ObjectID, why string) error {
	c, err := r.Commit(ctx, head)
	if errors.Is(err, gitstore.ErrNotFound) {
		return misplaced("the repository does not have the commit head_sha")
	}
	if err != nil {
		return fmt.Errorf("commit of a position: %w", err)
	}
	for _, parent := range c.Parents {
		if parent == *base {
			return nil
		}
	}
	if len(c.Parents) == 0 && (base.IsZero() || *base == gitstore.EmptyTree()) {
		*base = gitstore.EmptyTree()
		return nil
	}
	return misplaced(why)
}

// lineOf returns the code of a line of a changed file.
func lineOf(ctx context.Context, r *gitcmd.Repo, f *gitcmd.FileDiff, old, added *int) (string, error) {
	lines := f.Lines()
	line := gitcmd.ChangedLine{}
	switch {
	case old == nil:
		h, ok := lines.Added(*added)
		if !ok {
			if before, same := lines.Old(*added); same && *added > 0 {
				return "", misplaced(fmt.Sprintf("new_line %d is not an added line; an unchanged line has old_line %d as well", *added, before))
			}
			return "", misplaced(fmt.Sprintf("new_line %d is not in the diff", *added))
		}
		line.OldNumber, line.NewNumber = h.Old+h.OldCount, *added
	case added == nil:
		h, ok := lines.Removed(*old)
		if !ok {
			if after, same := lines.New(*old); same && *old > 0 {
				return "", misplaced(fmt.Sprintf("old_line %d is not a removed line; an unchanged line has new_line %d as well", *old, after))
			}
			return "", misplaced(fmt.Sprintf("old_line %d is not in the diff", *old))
		}
		line.OldNumber, line.NewNumber = *old, h.New
	default:
		after, ok := lines.New(*old)
		if !ok || after != *added || *old < 1 {
			return "", misplaced(fmt.Sprintf("old_line %d and new_line %d are not the same unchanged line", *old, *added))
		}
		if *added > lines.Last() {
			n, err := countLines(ctx, r, f.NewID)
			if err != nil {
				return "", err
			}
			if *added > n {
				return "", misplaced(fmt.Sprintf("the file has %d lines", n))
			}
		}
		line.OldNumber, line.NewNumber = *old, *added
	}
	return lineCode(f.NewPath, f.Numbered(line)), nil
}

// countLines counts the lines of a blob; a very long one has none.
func countLines(ctx context.Context, r *gitcmd.Repo, id gitstore.ObjectID) (int, error) {
	content, err := r.Blob(ctx, id, maxCounted)
	if errors.Is(err, gitstore.ErrTooLarge) || errors.Is(err, gitstore.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count lines: %w", err)
	}
	n := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n, nil
}

// rangeOf fills the codes of the lines that a range begins and ends with. What names its lines
// by codes alone stays as it is.
func (s *Service) rangeOf(ctx context.Context, r *gitcmd.Repo, f *gitcmd.FileDiff, in LineRange) (*LineRange, error) {
	for _, end := range []*RangeEnd{&in.Start, &in.End} {
		if end.OldLine == nil && end.NewLine == nil {
			if end.LineCode == "" {
				return nil, misplaced("an end of line_range has neither line_code nor a line", incomplete)
			}
			continue
		}
		old, added := end.OldLine, end.NewLine
		if end.Type != nil && *end.Type == "new" {
			old = nil
		} else if end.Type != nil && *end.Type == "old" {
			added = nil
		}
		if old == nil && added == nil {
			old, added = end.OldLine, end.NewLine
		}
		code, err := lineOf(ctx, r, f, old, added)
		if err != nil {
			return nil, err
		}
		end.LineCode, end.OldLine, end.NewLine = code, old, added
	}
	return &in, nil
}

// fileIndex finds the files of a diff by their paths.
type fileIndex struct {
	byOld, byNew map[string]*gitcmd.FileDiff
	lines        map[*gitcmd.FileDiff]gitcmd.LineMap
	whole        bool // no file is missing
}

func newFileIndex(d *gitcmd.Diff) *fileIndex {
	x := &fileIndex{
		byOld: make(map[string]*gitcmd.FileDiff, len(d.Files)), byNew: make(map[string]*gitcmd.FileDiff, len(d.Files)),
		lines: map[*gitcmd.FileDiff]gitcmd.LineMap{}, whole: !d.Overflow,
	}
	for i := range d.Files {
		f := &d.Files[i]
		if !f.New() {
			x.byOld[f.OldPath] = f
		}
		if !f.Deleted() {
			x.byNew[f.NewPath] = f
		}
	}
	return x
}

// find returns the file of a position, nil where the diff does not have it.
func (x *fileIndex) find(p *Position) *gitcmd.FileDiff {
	if f := x.byOld[p.OldPath]; f != nil && f.Deleted() && p.NewLine == nil && p.OldLine != nil {
		return f // a file of another type may have come in its place
	}
	if f := x.byNew[p.NewPath]; f != nil {
		return f
	}
	if f := x.byOld[p.OldPath]; f != nil {
		return f
	}
	if p.OldPath == "" {
		return x.byOld[p.NewPath]
	}
	if p.NewPath == "" {
		return x.byNew[p.OldPath]
	}
	return nil
}

// linesOf reads the patch of a file once.
func (x *fileIndex) linesOf(f *gitcmd.FileDiff) gitcmd.LineMap {
	m, ok := x.lines[f]
	if !ok {
		m = f.Lines()
		x.lines[f] = m
	}
	return m
}

// CommitOf returns the SHA of a commit of the project that things are on. It asks for no permission
// and is for core.
func (s *Service) CommitOf(ctx context.Context, on On, name string) (string, error) {
	r, err := s.Repos.Open(ctx, project.Of(on.Place))
	if err != nil {
		return "", err
	}
	rev, err := r.Resolve(ctx, name)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrBadName) {
		return "", errs.Missing("Commit")
	}
	if err != nil {
		return "", fmt.Errorf("find commit: %w", err)
	}
	if _, err := r.Commit(ctx, rev.ID); err != nil {
		return "", errs.Missing("Commit")
	}
	return rev.ID.String(), nil
}
