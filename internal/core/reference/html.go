package reference

import (
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"strconv"
	"strings"
	"sync"

	"tenon/internal/base/lru"
	"tenon/internal/base/markdown"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

const (
	cacheSize = 16 << 20 // bytes of rendered texts that are kept
	largeText = 8 << 10  // bytes of a text that takes a place of Service.large: a hundred times as much memory while it is rendered
)

// rendered is a text in HTML with holes where its references are. It is the same for all
// readers.
type rendered struct {
	html *markdown.HTML
	refs []Reference
	text []string // of the references, as they are written

	tracker *project.Tracker // that texts of the place refer to, nil for none

	unmarked bool // it has more formulas than are marked
}

// key names a rendered text: links of a text depend on its project or group.
type key struct {
	sum     [sha256.Size]byte
	project project.ID
	group   authz.NamespaceID // 0 for a text in a project
	path    string            // of the project
	branch  string            // its default branch
	folder  string            // of a page of a wiki
	line    bool
	assets  assetProxy
	frames  frames
	all     bool   // all formulas are marked, not maxFormulas
	version int    // of what Markdown is rendered to, as the settings have it
	tracker string // see trackerKey
}

// style is how a text is rendered.
type style struct {
	line bool // no Markdown
	all  bool // all formulas are marked
}

// rendered returns a text in HTML, from the cache where it is there. More large texts at once than there are
// processors would take memory and no less time: others wait.
func (s *Service) rendered(ctx context.Context, in Scope, text string, as style) (*rendered, error) {
	k := key{
		sum: sha256.Sum256([]byte(text)), line: as.line, assets: s.assets(), frames: s.frames(), all: as.all,
		version: s.Settings.Current().LocalMarkdownVersion, tracker: s.trackerKey(in),
	}
	if in.Project != nil {
		k.project, k.path = in.Project.ID, in.Project.FullPath
		if in.Project.DefaultBranch != nil {
			k.branch = *in.Project.DefaultBranch
		}
	} else {
		k.group = in.Group
	}
	if in.Base != nil {
		k.folder = in.Base.Folder
	}
	if r, ok := lru.Get[*rendered](s.cache, k); ok {
		return r, nil
	}
	if len(text) >= largeText {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if r, ok := lru.Get[*rendered](s.cache, k); ok { // another reader waited for it as well
			return r, nil
		}
	}
	r := &rendered{tracker: s.trackerOf(in)}
	if as.line {
		r.refs = s.Words(text)
		if t := r.tracker; t != nil {
			r.refs = withExternal(t, in.Project, []markdown.Run{{Text: text}}, text, r.refs)
		}
		r.html = markdown.Line(text, spans(r.refs))
	} else {
		parsed := markdown.Parse(text)
		if !as.all {
			parsed.Formulas = maxFormulas
		}
		r.refs = inOrder(s.Of(parsed))
		if t := r.tracker; t != nil {
			var runs []markdown.Run
			parsed.Runs(func(run markdown.Run) {
				if !run.Link {
					runs = append(runs, run)
				}
			})
			r.refs = withExternal(t, in.Project, runs, text, r.refs)
		}
		if in.Base != nil {
			r.refs = withPages(parsed, r.refs)
		}
		r.html = parsed.HTML(spans(r.refs), func(address string, picture bool) string { return s.link(in, address, picture) })
		r.unmarked = parsed.Unmarked
		r.html.Change(func(part string) string { return k.assets.html(k.frames.html(part)) })
	}
	cost := r.html.Size() + len(k.folder) + len(k.path) + len(k.branch) + len(k.tracker)
	for _, ref := range r.refs {
		r.text = append(r.text, strings.Clone(text[ref.Start:ref.End]))
		cost += 256 + 2*(ref.End-ref.Start)
	}
	s.cache.Put(k, r, cost)
	return r, nil
}

// HTML renders texts in Markdown that are in one place for a reader: what they refer to and
// the reader may not read stays text. It takes as many statements for many texts as for one.
func (s *Service) HTML(ctx context.Context, as authz.Actor, in Scope, texts ...string) ([]string, error) {
	return s.render(ctx, as, in, texts, false)
}

// Titles renders lines that are no Markdown, such as titles, as HTML does with texts.
func (s *Service) Titles(ctx context.Context, as authz.Actor, in Scope, titles ...string) ([]string, error) {
	return s.render(ctx, as, in, titles, true)
}

func (s *Service) render(ctx context.Context, as authz.Actor, in Scope, texts []string, line bool) ([]string, error) {
	list := make([]*rendered, len(texts))
	var refs []Reference
	limits := sync.OnceValues(func() (bool, error) { return s.limitsFormulas(ctx, in) }) // of few texts
	for i, text := range texts {
		var err error
		if list[i], err = s.rendered(ctx, in, text, style{line: line}); err != nil {
			return nil, err
		}
		if list[i].unmarked {
			switch limited, err := limits(); {
			case err != nil:
				return nil, err
			case !limited:
				if list[i], err = s.rendered(ctx, in, text, style{all: true}); err != nil {
					return nil, err
				}
			}
		}
		refs = append(refs, list[i].refs...)
	}
	targets, err := s.Resolve(ctx, as, in, refs)
	if err != nil {
		return nil, fmt.Errorf("render texts: %w", err)
	}
	out := make([]string, len(texts))
	for i, r := range list {
		own := targets[:len(r.refs)]
		targets = targets[len(r.refs):]
		out[i] = r.html.Fill(func(out *strings.Builder, n int) {
			if ref := &r.refs[n]; ref.Kind == external {
				writeExternal(out, r.tracker, in.Project.ID, ref, r.text[n])
			} else {
				s.write(out, in, ref, r.text[n], own[n])
			}
		})
	}
	return out, nil
}

// write writes a reference: a link to what it leads to, or the text as it is written.
func (s *Service) write(out *strings.Builder, in Scope, ref *Reference, text string, t *Target) {
	if ref.Kind == page {
		writePage(out, in, ref)
		return
	}
	text = html.UnescapeString(text)
	if t == nil {
		if !ref.URL {
			out.WriteString(html.EscapeString(text))
			return
		}
		address := html.EscapeString(text)
		fmt.Fprintf(out, `<a href="%s" rel="nofollow noreferrer noopener" target="_blank">%s</a>`, address, address)
		return
	}
	if t.Kind != Label {
		writeLink(out, ref, text, t, html.EscapeString(s.shown(in, ref, text, t)))
		return
	}
	tone := "light"
	if t.TextColor != "#FFFFFF" {
		tone = "dark"
	}
	name := html.EscapeString(t.Title)
	if !sameProject(in, t) {
		name += " <i>in " + html.EscapeString(t.Path) + "</i>"
	}
	out.WriteString(`<span class="gl-label">`)
	writeLink(out, ref, text, t, `<span class="gl-label-text gl-label-text-`+tone+`" style="background-color: `+html.EscapeString(t.Color)+`">`+name+`</span>`)
	out.WriteString(`</span>`)
}

// writeLink writes a link to what a reference leads to around what is shown, which is HTML.
func writeLink(out *strings.Builder, ref *Reference, text string, t *Target, shown string) {
	attribute := func(name, value string) { // of names that need no escaping
		out.WriteString(" ")
		out.WriteString(name)
		out.WriteString(`="`)
		out.WriteString(html.EscapeString(value))
		out.WriteString(`"`)
	}
	number := func(name string, n int64) { attribute(name, strconv.FormatInt(n, 10)) }
	address, title, class := t.URL, t.Title, string(t.Kind)
	if ref.Note != 0 {
		address += "#note_" + strconv.FormatInt(ref.Note, 10)
	}
	switch {
	case t.Kind == Label:
		title = t.Description
	case t.Kind == Mention && t.Group:
		class = "project_member"
	case t.Kind == Mention:
		class = "project_member js-user-link"
	}
	out.WriteString("<a")
	attribute("href", address)
	attribute("title", title)
	attribute("class", "gfm gfm-"+class)
	attribute("data-original", text)
	attribute("data-reference-type", string(t.Kind))
	if t.ProjectID != 0 {
		number("data-project", int64(t.ProjectID))
	}
	switch {
	case t.Kind == Mention && t.Group:
		number("data-group", t.ID)
	case t.Kind == Mention:
		number("data-user", t.ID)
	case t.Kind == Commit:
		attribute("data-commit", ref.From)
	case t.Kind != CommitRange:
		number("data-"+strings.ReplaceAll(string(t.Kind), "_", "-"), t.ID)
	}
	if t.Number != 0 && t.Kind != Snippet { // these are numbered by their ids
		number("data-iid", t.Number)
	}
	out.WriteString(">")
	out.WriteString(shown)
	out.WriteString("</a>")
}

func sameProject(in Scope, t *Target) bool {
	return in.Project != nil && in.Project.ID == t.ProjectID || in.Project == nil && in.Group == t.GroupID
}

// signs are what references by number begin with.
var signs = map[Kind]string{Issue: "#", MergeRequest: "!", Epic: "&", Snippet: "$"}

// shown is how a reference is shown: as it is written, URLs as short as they can be.
func (s *Service) shown(in Scope, ref *Reference, text string, t *Target) string {
	switch {
	case t.Kind == Mention:
		return "@" + t.Path
	case t.Kind == Milestone && ref.Place == "":
		return "%" + t.Title
	case (t.Kind == Commit || t.Kind == CommitRange) && ref.URL:
		text = t.From(ref)
		if !sameProject(in, t) {
			text = t.Path + "@" + text
		}
		return text
	case signs[t.Kind] == "":
		return text
	}
	if ref.URL || ref.Format != "" {
		text = signs[t.Kind] + strconv.FormatInt(t.Number, 10)
		if !sameProject(in, t) {
			text = t.Path + text
		}
	}
	if ref.Note != 0 {
		text += " (comment " + strconv.FormatInt(ref.Note, 10) + ")"
	}
	state := ""
	if t.State == "closed" || t.State == "merged" {
		state = t.State
	}
	switch {
	case ref.Format != "" && state != "":
		return t.Title + " (" + text + " - " + state + ")"
	case ref.Format != "":
		return t.Title + " (" + text + ")"
	case state != "":
		return text + " (" + state + ")"
	}
	return text
}

// From is the hash of a commit or the two of a range, as short as people write them.
func (t *Target) From(ref *Reference) string {
	short := func(hash string) string { return hash[:min(len(hash), 8)] }
	if t.Kind == CommitRange {
		return short(ref.From) + ref.Dots + short(ref.To)
	}
	return short(ref.From)
}
