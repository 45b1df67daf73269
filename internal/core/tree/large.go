package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"tenon/internal/base/errs"
)

// Bounds of what one transaction of an import writes: bytes of its lines, and objects in them.
const (
	bytesAtOnce   = 512 << 10
	objectsAtOnce = 1000
)

// Weight is how much of a transaction an import needs for a text, which 1 fills.
func Weight(text []byte) float64 {
	return max(float64(len(text))/bytesAtOnce, float64(bytes.Count(text, []byte{'{'}))/objectsAtOnce)
}

// Part is how far the writing of a line has come that is too large for one transaction: the rows whose nested rows are being written, from the row
// of the line down. It is empty before the line.
type Part []Frame

// Frame is a row whose nested rows are being written.
type Frame struct {
	ID    int64 `json:"id"`    // its number here
	Child int   `json:"child"` // which of the nested relations is being written
	Rows  int   `json:"rows"`  // of it that are done with
}

// PartDone stores what became of rows of a line, and how far its writing has come, in their transaction. The part is empty at the end of the line.
type PartDone func(ctx context.Context, t *Tally, part Part) error

// InParts reports whether a line is too large for one transaction, and of a relation whose rows may be written in parts.
func (r *Relation) InParts(text []byte) bool {
	return r.Parts && r.writer != nil && len(r.more) == 0 && Weight(text) > 1
}

// large is the writing of one line in parts.
type large struct {
	*Writing

	line  int
	done  PartDone
	stack []level
	alone int // rows that are written each alone, after some together failed
}

// level is a row whose nested rows are being written.
type level struct {
	Frame

	rel  *Relation
	node *node
	kids []json.RawMessage // of the relation that is being written
	read bool              // kids are
}

// Large writes one line in parts, each in a transaction with what done stores of it, on from where an attempt before it came to.
func (w *Writing) Large(ctx context.Context, rel *Relation, line Line, from Part, done PartDone) error {
	w.Continues = true
	defer func() { w.Continues = false }()
	l := &large{Writing: w, line: line.Number, done: done}
	top := nodeOf(line)
	if len(from) == 0 {
		if err := l.row(ctx, rel, top); err != nil {
			return err
		}
	} else {
		l.resume(rel, top, from)
	}
	for len(l.stack) > 0 {
		if err := l.step(ctx); err != nil {
			return err
		}
	}
	return l.tx(ctx, nil, func(context.Context) error { return nil })
}

// resume finds the rows again that an attempt before came to.
func (l *large) resume(rel *Relation, at *node, from Part) {
	for i, f := range from {
		at.ID = f.ID
		l.stack = append(l.stack, level{Frame: f, rel: rel, node: at})
		if i == len(from)-1 {
			return
		}
		top := &l.stack[i]
		kids := l.kids(top)
		if f.Rows >= len(kids) {
			return
		}
		at, rel = top.kid(l.child(top), f.Rows), l.child(top)
	}
}

func (l *large) child(v *level) *Relation { return l.All.named[v.rel.nested()[v.Child]] }

// kids are the nested rows that are being written.
func (l *large) kids(v *level) []json.RawMessage {
	if !v.read {
		v.kids, v.read = v.rel.kids(v.node, l.child(v)), true
	}
	return v.kids
}

// kid is a nested row.
func (v *level) kid(child *Relation, n int) *node { return v.node.kid(v.rel, child, v.kids[n], n) }

// step writes the next nested rows.
func (l *large) step(ctx context.Context) error {
	v := &l.stack[len(l.stack)-1]
	if v.Child >= len(v.rel.nested()) {
		l.stack = l.stack[:len(l.stack)-1]
		if len(l.stack) > 0 {
			l.stack[len(l.stack)-1].Rows++
		}
		return nil
	}
	kids, child := l.kids(v), l.child(v)
	if v.Rows >= len(kids) {
		v.Child, v.Rows, v.read = v.Child+1, 0, false
		return nil
	}
	if child.InParts(kids[v.Rows]) {
		return l.row(ctx, child, v.kid(child, v.Rows))
	}
	n, weight := 0, 0.0
	for n < len(kids)-v.Rows && (n == 0 || l.alone == 0) && !child.InParts(kids[v.Rows+n]) {
		if weight += Weight(kids[v.Rows+n]); weight > 1 && n > 0 {
			break
		}
		n++
	}
	var lines []int
	for range n {
		lines = append(lines, l.line)
	}
	first := v.Rows
	v.Rows += n
	err := l.tx(ctx, l.part(), func(ctx context.Context) error {
		nodes := make([]*node, n)
		for i := range nodes {
			nodes[i] = v.kid(child, first+i)
		}
		return l.nodes(ctx, child, nodes, lines)
	})
	switch {
	case err == nil:
		l.alone = max(0, l.alone-n)
		return nil
	case final(ctx, err):
		return err
	case n > 1:
		v.Rows, l.alone = first, n
		return nil
	}
	l.alone = max(0, l.alone-1)
	return l.fail(ctx, child, v.kid(child, first), l.part(), err)
}

// row writes one row alone. What is nested in it is written after it.
func (l *large) row(ctx context.Context, rel *Relation, n *node) error {
	fresh := *n
	err := l.inTx(ctx, func(ctx context.Context) error {
		*n = fresh
		if err := l.rows(ctx, rel, []*node{n}, []int{l.line}); err != nil {
			return err
		}
		if n.IsLost() { // only counted
			if err := l.children(ctx, rel, []*node{n}, []int{l.line}); err != nil {
				return err
			}
			return l.done(ctx, l.tally, l.after())
		}
		return l.done(ctx, l.tally, append(l.part(), Frame{ID: n.ID}))
	})
	switch {
	case err == nil && n.IsLost():
		l.skip()
		return nil
	case err == nil:
		l.stack = append(l.stack, level{Frame: Frame{ID: n.ID}, rel: rel, node: n})
		return nil
	case final(ctx, err):
		return err
	}
	after := l.after()
	l.skip()
	return l.fail(ctx, rel, &fresh, after, err)
}

// after is the part once the row that is about to be written is skipped, and skip skips it.
func (l *large) after() Part {
	out := l.part()
	if len(out) > 0 {
		out[len(out)-1].Rows++
	}
	return out
}

func (l *large) skip() {
	if len(l.stack) > 0 {
		l.stack[len(l.stack)-1].Rows++
	}
}

// fail counts a row that could not be written.
func (l *large) fail(ctx context.Context, rel *Relation, n *node, part Part, why error) error {
	item := l.failed(ctx, rel, n, l.line, why)
	return l.tx(ctx, part, func(context.Context) error {
		l.tally.Count(item)
		return nil
	})
}

// part is how far the writing has come.
func (l *large) part() Part {
	out := make(Part, len(l.stack))
	for i := range l.stack {
		out[i] = l.stack[i].Frame
	}
	return out
}

// tx runs fn in a transaction and stores what it counted.
func (l *large) tx(ctx context.Context, part Part, fn func(ctx context.Context) error) error {
	return l.inTx(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		return l.done(ctx, l.tally, part)
	})
}

// final reports whether an error ends an import, or else only rows.
func final(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, errs.ErrAway) || errors.Is(err, ErrStop)
}
