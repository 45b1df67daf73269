package reference

import (
	"net/url"
	"strings"
)

// urlEnd returns where the URL that begins at i ends.
func urlEnd(text string, i int) int {
	end := i
	for end < len(text) && (wordByte(text[end]) || strings.IndexByte(":#?=&%~+@!$*;,", text[end]) >= 0) {
		end++
	}
	return i + len(strings.TrimRight(text[i:end], ".,:;?!*~"))
}

// pages names the kinds by the part of their addresses.
var pages = map[string]Kind{
	"issues": Issue, "work_items": Issue, "merge_requests": MergeRequest, "snippets": Snippet, "milestones": Milestone,
	"commit": Commit, "compare": CommitRange, "epics": Epic,
}

// ofURL reads a URL of the instance.
func (s *scanner) ofURL(address string) (ref Reference, ok bool) {
	rest, ok := strings.CutPrefix(address, s.base)
	if !ok {
		return ref, false
	}
	rest, anchor, _ := strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	ref.URL, ref.Full = true, true
	if note, found := strings.CutPrefix(anchor, "note_"); found {
		if n, digits := number(note); digits == len(note) {
			ref.Note = n
		}
	}
	if id, found := strings.CutPrefix(rest, "-/snippets/"); found {
		ref.Kind = Snippet
		return numbered(ref, id)
	}
	place, page, ok := strings.Cut(rest, "/-/")
	if !ok {
		return ref, false
	}
	group, ofGroup := strings.CutPrefix(place, "groups/")
	if ofGroup {
		place = group
	}
	kind, target, _ := strings.Cut(page, "/")
	ref.Kind = pages[kind]
	if ref.Kind == "" || !isPath(place) || ofGroup != (ref.Kind == Epic) {
		return ref, false // milestones of groups are not found by their paths
	}
	ref.Place = place
	switch ref.Kind {
	case Commit, CommitRange:
		target, err := url.PathUnescape(target)
		if err != nil {
			return ref, false
		}
		found, n, ok := hashes(target)
		ref.From, ref.To, ref.Dots = found.From, found.To, found.Dots
		return ref, ok && n == len(target) && found.Kind == ref.Kind
	case MergeRequest:
		target, _, _ = strings.Cut(target, "/") // its pages
	}
	return numbered(ref, target)
}

// numbered completes a reference to something that has a number.
func numbered(ref Reference, digits string) (Reference, bool) {
	value, n := number(strings.TrimSuffix(digits, "/"))
	ref.Number = value
	return ref, n > 0 && n == len(strings.TrimSuffix(digits, "/"))
}
