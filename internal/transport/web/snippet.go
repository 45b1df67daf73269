package web

import (
	"path"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/charset"
	"tenon/internal/base/errs"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/snippet"
	"tenon/internal/core/weburl"
)

// snippetOwner begins a page of a snippet: the project that the path names, nil for a personal
// one.
func (x *visit) snippetOwner() (*project.Project, snippet.ID, error) {
	id, err := x.arg("id")
	if err != nil {
		return nil, 0, err
	}
	if x.args["project"] == "" {
		x.sheet.API = x.URLs.API("snippets", itoa(id))
		return nil, snippet.ID(id), nil
	}
	p, err := x.project("Snippets")
	x.sheet.API += "/snippets/" + itoa(id)
	return p, snippet.ID(id), err
}

func (x *visit) getSnippets() (templ.Component, error) {
	p, err := x.project("Snippets")
	if err != nil {
		return nil, err
	}
	list, err := x.Snippets.ListOf(x.r.Context(), x.as, p, snippet.Filter{Range: x.part()})
	if err != nil {
		return nil, err
	}
	var authors []userID
	for i := range list.Items {
		authors = append(authors, list.Items[i].AuthorID)
	}
	who, err := x.people(x.r.Context(), authors...)
	if err != nil {
		return nil, err
	}
	x.title("Snippets")
	x.sheet.API += "/snippets"
	older, newer := around(x, &list)
	body := snippetList(list.Items, who, older, newer)
	if x.as.Session != 0 {
		body = templ.Join(newSnippetLink(p.FullPath), body)
	}
	return body, nil
}

func (x *visit) getSnippet() (templ.Component, error) {
	p, id, err := x.snippetOwner()
	if err != nil {
		return nil, err
	}
	ctx := x.r.Context()
	sn, contents, err := x.Snippets.Contents(ctx, x.as, p, id, maxShown)
	if err != nil {
		return nil, err
	}
	if p == nil && sn.ProjectID != nil {
		return x.goTo(at.Snippet(sn.ProjectPath, int64(sn.ID)))
	}
	x.title(sn.Title)
	x.sheet.Badge = sn.Visibility.String()
	var said *talk
	ids, text := []userID{sn.AuthorID}, ""
	if p != nil {
		var people []userID
		if text, said, people, err = x.talk(p, noteable.Snippet, int64(sn.ID), sn.Description); err != nil {
			return nil, err
		}
		ids = append(ids, people...)
	} else if text, err = x.text(nowhere, sn.Description); err != nil {
		return nil, err
	}
	who, err := x.people(ctx, ids...)
	if err != nil {
		return nil, err
	}
	files := make([]*fileView, len(contents))
	for i := range contents {
		files[i] = x.snippetFile(sn, &contents[i])
		files[i].Anchor = "file" + itoa(int64(i)+1) + "-"
	}
	remote := weburl.SnippetRepository(sn.ProjectPath, int64(sn.ID))
	clone := []string{x.URLs.HTTPRepository(remote)}
	if x.URLs.HasSSH() {
		clone = append(clone, x.URLs.SSHRepository(remote))
	}
	return snippetPage(sn, who, text, files, clone, said), nil
}

// snippetFile is a file of a snippet as its page shows it.
func (x *visit) snippetFile(sn *snippet.Snippet, c *snippet.Content) *fileView {
	raw := func(file string) string { return at.SnippetRaw(sn.ProjectPath, int64(sn.ID), sn.Branch, file) }
	v := &fileView{Name: c.Path, Size: counted(c.Size, "byte"), Raw: raw(c.Path)}
	switch {
	case shownPicture(c.Path) && c.Size <= maxPicture:
		v.Picture = true
	case c.Data == nil:
		v.Reason = "The file is too large to be shown here."
	case charset.Binary(c.Data):
		v.Reason = "The file is not text."
	case strings.EqualFold(path.Ext(c.Path), ".md"):
		v.Document = x.document(charset.Text(c.Data, ""), func(address string, _ bool) string {
			file, ok := reference.CleanPath(path.Dir(c.Path) + "/" + address)
			if !ok || file == "" {
				return ""
			}
			return raw(file)
		})
	default:
		v.Lines = shownLines(c.Path, charset.Text(c.Data, ""))
	}
	return v
}

// getSnippetRaw sends a file of a snippet: the one that the path names after a ref, or the first.
func (x *visit) getSnippetRaw() (templ.Component, error) {
	p, id, err := x.snippetOwner()
	if err != nil {
		return nil, err
	}
	ctx := x.r.Context()
	sn, err := x.Snippets.Find(ctx, x.as, p, id)
	if err != nil {
		return nil, err
	}
	ref, file := "", ""
	if rest := x.args["rest"]; rest != "" {
		var ok bool
		if file, ok = strings.CutPrefix(rest, sn.Branch+"/"); ok { // the branch may have slashes
			ref = sn.Branch
		} else if ref, file, ok = strings.Cut(rest, "/"); !ok {
			return nil, errs.Missing("")
		}
		if clean, ok := reference.CleanPath(file); !ok || clean != file || file == "" {
			return nil, errs.Missing("")
		}
	}
	got, err := x.Snippets.Open(ctx, x.as, p, id, ref, file)
	if err != nil {
		return nil, err
	}
	return x.sendRaw(0, weburl.SnippetRepository(sn.ProjectPath, int64(sn.ID))+"/"+got.Path, got.Blob)
}
