package reference

import (
	"html"
	"path"
	"strings"

	"tenon/internal/base/markdown"
)

// page is a link to a page of the same wiki, [[name]] or [[words|name]]. Only pages of wikis have them; name may also be an address.
const page Kind = "wiki_page"

// maxPageLink is how many bytes a link to a page has at most.
const maxPageLink = 2048

// withPages adds the links to pages to the references of a text, in place of what else is in them.
func withPages(text *markdown.Text, refs []Reference) []Reference {
	var pages []Reference
	text.Runs(func(run markdown.Run) {
		if run.Link {
			return
		}
		for at := 0; len(pages) < MaxReferences; {
			end := strings.Index(run.Text[at:], "]]")
			if end < 0 {
				return
			}
			end += at
			from := max(at, end-maxPageLink)
			if begin := strings.LastIndex(run.Text[from:end], "[["); begin >= 0 {
				begin += from
				if ref, ok := pageLink(run.Text[begin+2 : end]); ok {
					ref.Start, ref.End = run.Start+begin, run.Start+end+2
					pages = append(pages, ref)
				}
			}
			at = end + 2
		}
	})
	if len(pages) == 0 {
		return refs
	}
	var out []Reference
	for _, ref := range refs {
		inside := false
		for len(pages) > 0 && pages[0].End <= ref.Start {
			out, pages = append(out, pages[0]), pages[1:]
		}
		if len(pages) > 0 {
			inside = ref.End > pages[0].Start
		}
		if !inside {
			out = append(out, ref)
		}
	}
	return append(out, pages...)
}

// pageLink reads what stands between the brackets.
func pageLink(text string) (ref Reference, ok bool) {
	words, name, both := strings.Cut(text, "|")
	if !both {
		name = words
	}
	words, name = strings.TrimSpace(words), strings.TrimSpace(name)
	if name == "" || words == "" || name == "_TOC_" || strings.ContainsAny(text, "[]\n\\") {
		return ref, false
	}
	return Reference{Kind: page, Name: name, Label: words}, true
}

// pictures are the endings of the names of pictures.
var pictures = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".svg": true, ".webp": true}

// writePage writes a link to a page, or to an address elsewhere. A picture is shown.
func writePage(out *strings.Builder, in Scope, ref *Reference) {
	name, words := html.UnescapeString(ref.Name), html.EscapeString(html.UnescapeString(ref.Label))
	elsewhere := strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://")
	picture := pictures[strings.ToLower(path.Ext(name))]
	address := name
	switch {
	case elsewhere:
	case picture:
		address = in.Base.Link(name)
	default:
		address = in.Base.Page(name)
	}
	address = html.EscapeString(address)
	switch {
	case picture:
		out.WriteString(`<img src="` + address + `" alt="` + words + `" class="gfm">`)
	case elsewhere:
		out.WriteString(`<a href="` + address + `" class="gfm" rel="nofollow noreferrer noopener" target="_blank">` + words + `</a>`)
	default:
		out.WriteString(`<a href="` + address + `" class="gfm gfm-gollum-wiki-page">` + words + `</a>`)
	}
}
