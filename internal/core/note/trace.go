package note

import "tenon/internal/base/gitcmd"

// Where a position is after a new version.
type outcome int

const (
	followed outcome = iota // it is in the new diff
	outdated                // its line was changed, or is in the diff no more
	unknown                 // a diff is too long to say
)

// tracer follows positions from one diff to another: from that of the commits a and b to that
// of c and d.
type tracer struct {
	a, b, start, c, d string     // start is that of the new version
	ac, bd, cd        *fileIndex // of each two of the commits
}

// trace returns the position in the new diff with the code of its line, nil for none; or, of one that is
// outdated, what was done to it.
func (t *tracer) trace(p *Position) (next *Position, code *string, f outcome) {
	if p.Type != TextPosition {
		next, f = t.file(p)
		return next, nil, f
	}
	next, line, f := t.line(p)
	if f != followed {
		return next, nil, f
	}
	if p.Range != nil {
		next.Range = t.follow(p, *p.Range)
	}
	text := lineCode(next.NewPath, line)
	return next, &text, followed
}

// at makes a position in a diff.
func (t *tracer) at(base, start, head string, f *gitcmd.FileDiff, old, added *int) *Position {
	return &Position{
		BaseSHA: base, StartSHA: start, HeadSHA: head, OldPath: f.OldPath, NewPath: f.NewPath, Type: TextPosition, OldLine: old, NewLine: added,
	}
}

// moved says where a line of a file is after a change. The file is nil where the change does not
// have it.
func moved(x *fileIndex, path string, line int) (file *gitcmd.FileDiff, now string, number int, f outcome) {
	file = x.byOld[path]
	switch {
	case file == nil && !x.whole:
		return nil, path, line, unknown
	case file == nil:
		return nil, path, line, followed
	case file.Deleted() || file.Binary:
		return file, path, line, outdated
	case file.TooLarge:
		return file, path, line, unknown
	}
	number, ok := x.linesOf(file).New(line)
	if !ok {
		return file, path, line, outdated
	}
	return file, file.NewPath, number, followed
}

// line follows a position on a line.
func (t *tracer) line(p *Position) (*Position, gitcmd.ChangedLine, outcome) {
	none := gitcmd.ChangedLine{}
	if p.NewLine == nil && p.OldLine == nil {
		return nil, none, unknown
	}
	if p.NewLine == nil {
		return t.removed(p)
	}
	b := *p.NewLine
	change, path, d, f := moved(t.bd, p.NewPath, b)
	if f == outdated {
		return t.at(t.b, t.b, t.d, change, &b, nil), none, outdated
	}
	if f == unknown {
		return nil, none, unknown
	}
	file := t.cd.byNew[path]
	switch {
	case file == nil && !t.cd.whole, file != nil && file.TooLarge:
		return nil, none, unknown
	case file == nil || file.Binary: // the line is in both commits now
		return t.at(t.b, t.b, t.d, &gitcmd.FileDiff{OldPath: p.NewPath, NewPath: path}, &b, &d), none, outdated
	}
	lines := t.cd.linesOf(file)
	if h, added := lines.Added(d); added {
		return t.at(t.c, t.start, t.d, file, nil, &d), file.Numbered(gitcmd.ChangedLine{OldNumber: h.Old + h.OldCount, NewNumber: d}), followed
	}
	c, _ := lines.Old(d)
	return t.at(t.c, t.start, t.d, file, &c, &d), gitcmd.ChangedLine{OldNumber: c, NewNumber: d}, followed
}

// removed follows a position on a line that the old diff removes.
func (t *tracer) removed(p *Position) (*Position, gitcmd.ChangedLine, outcome) {
	none := gitcmd.ChangedLine{}
	a := *p.OldLine
	change, path, c, f := moved(t.ac, p.OldPath, a)
	if f == outdated {
		return t.at(t.a, t.a, t.c, change, &a, nil), none, outdated
	}
	if f == unknown {
		return nil, none, unknown
	}
	file := t.cd.byOld[path]
	switch {
	case file == nil && !t.cd.whole, file != nil && file.TooLarge:
		return nil, none, unknown
	case file == nil || file.Binary: // the line is in both commits again
		return t.at(t.a, t.a, t.c, &gitcmd.FileDiff{OldPath: p.OldPath, NewPath: path}, &a, &c), none, outdated
	}
	lines := t.cd.linesOf(file)
	if h, removed := lines.Removed(c); removed {
		return t.at(t.c, t.start, t.d, file, &c, nil), file.Numbered(gitcmd.ChangedLine{OldNumber: c, NewNumber: h.New}), followed
	}
	d, _ := lines.New(c)
	return t.at(t.c, t.start, t.d, file, &c, &d), gitcmd.ChangedLine{OldNumber: c, NewNumber: d}, followed
}

// follow follows both ends of a range, and returns nil where one of them is not in the new diff.
func (t *tracer) follow(p *Position, r LineRange) *LineRange {
	for _, end := range []*RangeEnd{&r.Start, &r.End} {
		at := *p
		at.OldLine, at.NewLine = end.OldLine, end.NewLine
		next, line, f := t.line(&at)
		if f != followed {
			return nil
		}
		end.LineCode, end.OldLine, end.NewLine = lineCode(next.NewPath, line), next.OldLine, next.NewLine
		added, removed := "new", "old"
		switch {
		case end.Type != nil && *end.Type == "expanded":
		case end.OldLine == nil:
			end.Type = &added
		case end.NewLine == nil:
			end.Type = &removed
		default:
			end.Type = nil
		}
	}
	return &r
}

// file follows a position on an image or a file, which is outdated when the file changes.
func (t *tracer) file(p *Position) (*Position, outcome) {
	next := *p
	old, path := t.bd.byOld, p.NewPath
	if change := old[path]; change != nil {
		next.BaseSHA, next.StartSHA, next.HeadSHA, next.OldPath, next.NewPath = t.b, t.b, t.d, change.OldPath, change.NewPath
		return &next, outdated
	}
	file := t.cd.find(p)
	switch {
	case !t.bd.whole, file == nil && !t.cd.whole:
		return nil, unknown
	case file == nil:
		next.BaseSHA, next.StartSHA, next.HeadSHA = t.b, t.b, t.d
		return &next, outdated
	}
	next.BaseSHA, next.StartSHA, next.HeadSHA, next.OldPath, next.NewPath = t.c, t.start, t.d, file.OldPath, file.NewPath
	return &next, followed
}
