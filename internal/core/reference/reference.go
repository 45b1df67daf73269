// Package reference reads what texts refer to, such as "#1", "@user" and "group/project!2",
// and finds what these references lead to for a reader.
package reference

import (
	"slices"

	"tenon/internal/base/markdown"
	"tenon/internal/core/weburl"
)

// Kind says what a reference leads to.
type Kind string

// The kinds.
const (
	Issue        Kind = "issue"
	MergeRequest Kind = "merge_request"
	Epic         Kind = "epic"
	Snippet      Kind = "snippet"
	Milestone    Kind = "milestone"
	Label        Kind = "label"
	Commit       Kind = "commit"
	CommitRange  Kind = "commit_range"
	Mention      Kind = "user" // of a user or a group
)

// Bounds of one text; what is beyond them stays text.
const (
	MaxReferences = 1000
	maxPlaces     = 100 // projects and groups that are named by path
	maxCommits    = 100
	maxName       = 1024 // bytes of the title of a label or a milestone
)

// Reference is one of a text, as it is written.
type Reference struct {
	Kind   Kind
	Place  string // path of the project or group, "" for the one of the text
	Full   bool   // Place is a full path, and not perhaps one below the same group
	Number int64  // IID, or id of snippets and labels; 0 for none
	Name   string // title of a label or a milestone, user name or path of a group
	From   string // hash of a commit, or of the first one of a range, perhaps abbreviated
	To     string // hash of the last commit of a range
	Dots   string // of a range: ".." or "..."
	Note   int64  // comment that a URL leads to; 0 for none
	Label  string // of a link to a page of a wiki
	Format string // "+" asks for the title, "+s" for a summary
	URL    bool   // it is written as a URL

	// Addressed reports whether a mention begins a line, perhaps after others.
	Addressed bool

	Start, End int // bytes of the text that it takes
}

// Reader reads texts of one instance.
type Reader struct {
	base string // URL of the instance with a trailing slash
}

// NewReader reads texts in which URLs of the instance are references.
func NewReader(urls *weburl.Site) Reader { return Reader{base: urls.Root() + "/"} }

// Parse reads a text in Markdown; what is in code, links, HTML or front matter is no
// reference. It returns the first MaxReferences.
func (r Reader) Parse(text string) []Reference { return r.Of(markdown.Parse(text)) }

// Of is Parse for a text that is parsed already.
func (r Reader) Of(text *markdown.Text) []Reference {
	s := scanner{base: r.base}
	text.Runs(func(run markdown.Run) {
		if run.Link {
			s.address(run.Text, run.Start)
		} else {
			s.words(run.Text, run.Start, run.First)
		}
	})
	return s.out
}

// inOrder sorts references by their places: notes at the foot come where they stand.
func inOrder(refs []Reference) []Reference {
	slices.SortFunc(refs, func(a, b Reference) int { return a.Start - b.Start })
	return refs
}

// spans are the places of references.
func spans(refs []Reference) []markdown.Span {
	out := make([]markdown.Span, len(refs))
	for i := range refs {
		out[i] = markdown.Span{Start: refs[i].Start, End: refs[i].End}
	}
	return out
}

// Words reads a text that is not Markdown, such as a title or the message of a commit.
func (r Reader) Words(text string) []Reference {
	s := scanner{base: r.base}
	s.words(text, 0, true)
	return s.out
}

// Address reads a URL; ok reports whether the instance has something there that texts refer to.
func (r Reader) Address(url string) (ref Reference, ok bool) {
	s := scanner{base: r.base}
	s.address(url, 0)
	if len(s.out) == 0 {
		return ref, false
	}
	return s.out[0], true
}
