package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"tenon/internal/base/errs"
)

// node is an object of a line.
type node struct {
	State

	value     reflect.Value // pointer to the row
	place     string        // in the line, see LineText.At
	reference bool          // the row that it is nested in names it
}

// ErrStop is in the chain of an error with which done ends an import.
var ErrStop = errors.New("the import ends")

// Done stores what became of lines, up to a number, in their transaction.
type Done func(ctx context.Context, t *Tally, line int) error

// Lines writes objects of a relation with a file, in one transaction with what done stores of them. Where that fails, each is written
// alone, and one that cannot be written has failed.
func (w *Writing) Lines(ctx context.Context, rel *Relation, lines []Line, done Done) error {
	err := w.batch(ctx, rel, lines, done)
	if err == nil || final(ctx, err) {
		return err
	}
	if len(lines) > 1 {
		for i := range lines {
			if err := w.Lines(ctx, rel, lines[i:i+1], done); err != nil {
				return err
			}
		}
		return nil
	}
	item := w.failed(ctx, rel, nodeOf(lines[0]), lines[0].Number, err)
	return w.inTx(ctx, func(ctx context.Context) error {
		w.tally.Count(item)
		return done(ctx, w.tally, lines[0].Number)
	})
}

// inTx runs fn in a transaction, which counts from the beginning where it is run again.
func (w *Writing) inTx(ctx context.Context, fn func(ctx context.Context) error) error {
	return w.DB.InTx(ctx, func(ctx context.Context) error {
		w.tally, w.memo = &Tally{}, map[string]any{}
		return fn(ctx)
	})
}

// failed is a row that could not be written.
func (w *Writing) failed(ctx context.Context, rel *Relation, n *node, line int, why error) Item {
	return Item{Relation: rel.Name, Line: line, Action: Lost, Reason: w.reason(ctx, rel, line, why), Title: titleOf(n.raw), Failed: true, Place: &n.place}
}

// reason is why a row is lost that could not be written.
func (w *Writing) reason(ctx context.Context, rel *Relation, line int, err error) string {
	if known, ok := errors.AsType[*errs.Error](err); ok && known.Error() != "" {
		return known.Error()
	}
	w.Log.WarnContext(ctx, "row of an import could not be written", slog.String("relation", rel.Name), slog.Int("line", line), slog.Any("error", err))
	return "the row could not be written"
}

func (w *Writing) batch(ctx context.Context, rel *Relation, lines []Line, done Done) error {
	return w.inTx(ctx, func(ctx context.Context) error {
		for _, part := range append([]*Relation{rel}, rel.more...) {
			nodes := make([]*node, len(lines))
			numbers := make([]int, len(lines))
			for i, line := range lines {
				nodes[i], numbers[i] = nodeOf(line), line.Number
			}
			if err := w.nodes(ctx, part, nodes, numbers); err != nil {
				return err
			}
		}
		return done(ctx, w.tally, lines[len(lines)-1].Number)
	})
}

// nodeOf is the object of a line.
func nodeOf(line Line) *node { return &node{State: State{raw: parse(line.Text)}} }

// nested are the relations that are nested in rows, by name.
func (r *Relation) nested() []string { return slices.Concat(r.Children, r.Old) }

// kids are the objects of a nested relation in a row, none where the row has the number of the one that it names.
func (r *Relation) kids(n *node, child *Relation) []json.RawMessage {
	if _, refers := r.refers(child.Name); refers {
		return nil
	}
	return nestedIn(n.raw[child.key()])
}

// kid is an object that is nested in a row of a relation, the ith of its list.
func (n *node) kid(of, child *Relation, text json.RawMessage, i int) *node {
	return &node{State: State{raw: parse(text), Parent: n.ID, Of: of.Kind, above: &n.State}, place: placeIn(n.place, child.key(), i)}
}

// parse reads an object; nil for what is none.
func parse(text []byte) map[string]json.RawMessage {
	var raw map[string]json.RawMessage
	if json.Unmarshal(text, &raw) != nil {
		return nil
	}
	return raw
}

// nodes writes objects of a relation, with what is nested in them.
func (w *Writing) nodes(ctx context.Context, rel *Relation, nodes []*node, lines []int) error {
	if err := w.rows(ctx, rel, nodes, lines); err != nil {
		return err
	}
	return w.children(ctx, rel, nodes, lines)
}

// rows writes objects of a relation, with the rows that they name, and counts what they have that has no place here.
func (w *Writing) rows(ctx context.Context, rel *Relation, nodes []*node, lines []int) error {
	good, goodLines := make([]*node, 0, len(nodes)), make([]int, 0, len(nodes))
	for i, n := range nodes {
		switch {
		case n.raw == nil:
			n.Fail("the line is no object of JSON")
		case rel.writer == nil:
			n.Lose("this server does not import " + rel.Name)
		default:
			n.value = rel.writer.fresh()
			if err := rel.writer.shape.decode(n.value.Elem(), w, &n.State); err != nil {
				n.Fail(err.Error())
			}
		}
		if !n.IsLost() {
			good, goodLines = append(good, n), append(goodLines, lines[i])
		}
	}
	if err := w.referenced(ctx, rel, good, goodLines); err != nil {
		return err
	}
	if left := alive(good); len(left) > 0 {
		if err := rel.writer.write(ctx, w, left); err != nil {
			return fmt.Errorf("relation %s: %w", rel.Name, err)
		}
	}
	for i, n := range nodes {
		item := Item{Relation: rel.Name, Line: lines[i], Action: n.action, Reason: n.reason, Title: titleOf(n.raw), Failed: n.failed}
		if n.IsLost() {
			item.Place = new(n.place)
		}
		w.tally.Count(item)
	}
	for _, name := range rel.Lacking {
		for i, n := range nodes {
			for j := range nestedIn(n.raw[name]) {
				item := Item{Relation: name, Line: lines[i], Action: Lost, Reason: "this server has no " + name}
				if !n.IsLost() {
					item.Place = new(placeIn(n.place, name, j))
				}
				w.tally.Count(item)
			}
		}
	}
	return nil
}

func alive(nodes []*node) []*node {
	out := make([]*node, 0, len(nodes))
	for _, n := range nodes {
		if !n.IsLost() {
			out = append(out, n)
		}
	}
	return out
}

// refers reports whether rows have a field with the number of a nested one.
func (r *Relation) refers(child string) ([]int, bool) {
	if r.writer == nil {
		return nil, false
	}
	index, ok := r.writer.shape.keys[child]
	return index, ok
}

// referenced finds or writes the rows that others name, and gives them their numbers. They are counted only where they are written or lost.
func (w *Writing) referenced(ctx context.Context, rel *Relation, nodes []*node, lines []int) error {
	for _, name := range rel.Children {
		index, ok := rel.refers(name)
		if !ok || rel.writer.shape.isAttribute(index) {
			continue
		}
		child := w.All.named[name]
		var kids, of []*node
		var at []int
		for i, n := range nodes {
			if text, there := n.raw[child.key()]; there && string(text) != "null" && !n.IsLost() {
				kids = append(kids, &node{State: State{raw: parse(text), Of: rel.Kind}, reference: true, place: n.place + "/" + child.key()})
				of, at = append(of, n), append(at, lines[i])
			}
		}
		if len(kids) > 0 {
			if err := w.found(ctx, child, kids, at); err != nil {
				return err
			}
		}
		for i, kid := range kids {
			if kid.ID == 0 {
				of[i].Change(name + " is lost")
				continue
			}
			place(of[i].value.Elem().FieldByIndex(index)).SetInt(kid.ID)
		}
	}
	return nil
}

// found is nodes, without counting what was there.
func (w *Writing) found(ctx context.Context, rel *Relation, nodes []*node, lines []int) error {
	before := Counts{}
	if c := w.tally.Counts[rel.Name]; c != nil {
		before = *c
	}
	if err := w.nodes(ctx, rel, nodes, lines); err != nil {
		return err
	}
	c := w.tally.Counts[rel.Name]
	again := c.Merged - before.Merged
	c.Merged, c.Read = before.Merged, c.Read-again
	return nil
}

// children writes what is nested in rows that were written. What is nested in lost ones is counted as lost with them.
func (w *Writing) children(ctx context.Context, rel *Relation, nodes []*node, lines []int) error {
	for _, name := range rel.nested() {
		child := w.All.named[name]
		var kids []*node
		var at []int
		for i, n := range nodes {
			if n.reference && n.action == Merged { // written with the file that it is in
				continue
			}
			for j, text := range rel.kids(n, child) {
				if n.IsLost() {
					w.tally.Count(Item{Relation: name, Line: lines[i], Action: Lost, Reason: "what it belongs to is lost"})
					continue
				}
				kids, at = append(kids, n.kid(rel, child, text, j)), append(at, lines[i])
			}
		}
		if len(kids) > 0 {
			if err := w.nodes(ctx, child, kids, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// nestedIn are the objects of a list, or one object.
func nestedIn(text json.RawMessage) []json.RawMessage {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if text[0] != '[' {
		return []json.RawMessage{text}
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list
}

// TitleOf is what people know the object of a line by; "" for what is none.
func TitleOf(line []byte) string { return titleOf(parse(line)) }

// titleOf is what people know an object by.
func titleOf(raw map[string]json.RawMessage) string {
	for _, key := range []string{"title", "name", "tag", "description", "ref", "key"} {
		var text string
		if json.Unmarshal(raw[key], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}
