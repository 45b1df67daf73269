package graphql

import (
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/transport/graphql/exec"
)

// maxPage is how many items a page has, where a field does not say otherwise.
const maxPage = 100

// paging is the arguments of every connection. A struct of arguments embeds it.
type paging struct {
	First, Last   *int
	After, Before *string
}

const (
	errBothEnds argumentError = "Can only provide either `first` or `last`, not both"
	errCursor   argumentError = "Please provide a valid cursor"
)

// rangeOf returns the part of a list that the arguments ask for, of at most so many items, by cursor.
func (p paging) rangeOf(most int) (page.Range, error) {
	r := page.Range{Limit: most, Keyset: true, Uncounted: true}
	if p.First != nil && p.Last != nil {
		return r, errBothEnds
	}
	for _, n := range []*int{p.First, p.Last} {
		if n != nil {
			r.Limit = min(max(*n, 0), most)
		}
	}
	r.Back = p.Last != nil
	switch after, before := given(p.After), given(p.Before); {
	case r.Back && before != "":
		r.Cursor = before
	case !r.Back && after != "":
		r.Cursor = after
	}
	return r, nil
}

func given(cursor *string) string {
	if cursor == nil {
		return ""
	}
	return strings.TrimSpace(*cursor)
}

// read returns a page of a list that core reads part by part, in the form of a connection. list is
// asked for one part, and for the number of rows of the whole list where the request wants that: in
// one statement, so that no row is shown that was not counted.
func read[A, T any](c *exec.Call[A], p paging, most int, list func(r page.Range) (page.Page[T], error)) (*exec.Page[T], error) {
	r, err := p.rangeOf(most)
	if err != nil {
		return nil, err
	}
	if r.Limit == 0 {
		r.Limit = 1
		out, err := read(c, paging{First: new(1)}, 1, list)
		if err == nil {
			out.Items, out.Cursors, out.HasNext = nil, nil, len(out.Items) > 0
		}
		return out, err
	}
	r.Counted = c.Wants("count")
	found, err := list(r)
	at := 0
	switch {
	case errors.Is(err, page.ErrOrder):
		if found, at, err = byOffset(p, r, list); err != nil {
			return nil, err
		}
	case errors.Is(err, page.ErrCursor):
		return nil, errCursor
	case err != nil:
		return nil, err
	}
	out := connection(p, found, at)
	if r.Counted && found.Total < 0 {
		whole, err := list(page.Range{Limit: 1})
		if err != nil {
			return nil, err
		}
		out.Count = whole.Total
	}
	return out, nil
}

// byOffset reads a list whose order has no cursors, and returns the offset of the page: its cursors
// are positions, counted from 1.
func byOffset[T any](p paging, r page.Range, list func(r page.Range) (page.Page[T], error)) (page.Page[T], int, error) {
	var none page.Page[T]
	after, err := position(given(p.After))
	if err != nil {
		return none, 0, err
	}
	before, err := position(given(p.Before))
	if err != nil {
		return none, 0, err
	}
	at := page.Range{Limit: r.Limit, Offset: after}
	if r.Back {
		end := before - 1
		if before == 0 {
			whole, err := list(page.Range{Limit: 1})
			if err != nil {
				return none, 0, err
			}
			end = whole.Total
		}
		at.Offset = max(after, end-r.Limit)
		if at.Limit = min(r.Limit, end-at.Offset); at.Limit <= 0 {
			return page.Page[T]{Total: max(end, 0)}, at.Offset, nil
		}
	}
	found, err := list(at)
	if found.Total >= 0 {
		found.HasNext = at.Offset+len(found.Items) < found.Total
	}
	return found, at.Offset, err
}

func position(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(cursor, "="))
	if err != nil {
		return 0, errCursor
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		return 0, errCursor
	}
	return n, nil
}

func positionCursor(n int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(n)))
}

// connection returns a page of core the form of a connection. The page has been read from one end
// of the arguments; the other cuts it here.
func connection[T any](p paging, found page.Page[T], offset int) *exec.Page[T] {
	out := &exec.Page[T]{Items: found.Items, HasNext: found.HasNext, HasPrevious: found.HasPrev, Count: found.Total}
	out.Cursors = make([]string, len(found.Items))
	for i := range found.Items {
		if found.Keyset {
			out.Cursors[i] = found.After(i)
		} else {
			out.Cursors[i] = positionCursor(offset + i + 1)
		}
	}
	after, before := given(p.After), given(p.Before)
	if i := slices.Index(out.Cursors, before); before != "" && i >= 0 {
		out.Items, out.Cursors = out.Items[:i], out.Cursors[:i]
	}
	if i := slices.Index(out.Cursors, after); after != "" && i >= 0 {
		out.Items, out.Cursors = out.Items[i+1:], out.Cursors[i+1:]
	}
	out.HasPrevious = out.HasPrevious && p.Last != nil || after != ""
	out.HasNext = out.HasNext && p.Last == nil || before != ""
	return out
}

// listOf returns a page of a list that is in memory as a whole, such as the assignees of an issue.
func listOf[T any](p paging, most int, all []T) (*exec.Page[T], error) {
	r, err := p.rangeOf(most)
	if err != nil {
		return nil, err
	}
	from, to := 0, len(all)
	if from, err = position(given(p.After)); err != nil {
		return nil, err
	}
	before, err := position(given(p.Before))
	if err != nil {
		return nil, err
	}
	if before > 0 {
		to = min(to, before-1)
	}
	from = min(from, to)
	start, end := from, to
	if r.Back {
		start = max(from, to-r.Limit)
	} else {
		end = min(to, from+r.Limit)
	}
	out := &exec.Page[T]{Items: all[start:end], Count: len(all)}
	for i := range out.Items {
		out.Cursors = append(out.Cursors, positionCursor(start+i+1))
	}
	out.HasPrevious = p.Last != nil && start > 0 || given(p.After) != ""
	out.HasNext = p.Last == nil && end < len(all) || before > 0
	return out, nil
}
