package web

import (
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
)

// snippetForm is what is in the form of a snippet.
type snippetForm struct {
	Action                                    string
	Title, Description, File, Content, Access string
}

// snippetAccess is who may see a snippet.
type snippetAccess struct{ Value, Title string }

var snippetAccesses = []snippetAccess{
	{"private", "Private: its author, or members of the project"},
	{"internal", "Internal: everyone who is signed in"},
	{"public", "Public: everyone"},
}

// snippetPlace is the project of a new snippet, nil for the user's own.
func (x *visit) snippetPlace() (*project.Project, error) {
	if x.args["project"] == "" {
		return nil, nil
	}
	return x.project("Snippets")
}

func (x *visit) getNewSnippet() (templ.Component, error) {
	p, err := x.snippetPlace()
	if err != nil {
		return nil, err
	}
	return x.newSnippetPage(p, snippetForm{Access: x.Settings.Current().DefaultSnippetVisibility}), nil
}

func (x *visit) newSnippetPage(p *project.Project, f snippetForm) templ.Component {
	f.Action = at.NewSnippet("")
	if p != nil {
		f.Action = at.NewSnippet(p.FullPath)
	}
	x.title("New snippet")
	if x.as.Session == 0 {
		return signFirst(x.here(), "to create a snippet")
	}
	return newSnippet(&x.sheet, f)
}

func (x *visit) postSnippet() (templ.Component, error) {
	p, err := x.snippetPlace()
	if err != nil {
		return nil, err
	}
	lines := func(name string) string { return strings.ReplaceAll(x.field(name), "\r\n", "\n") } // as browsers end lines
	f := snippetForm{Title: x.field("title"), Description: lines("description"), File: x.field("file_name"), Content: lines("content"), Access: x.field("visibility_level")}
	access, ok := authz.ParseVisibility(f.Access)
	var sn *snippet.Snippet
	if err = errs.Plain("Visibility level is not included in the list"); ok {
		sn, err = x.Snippets.Create(x.r.Context(), x.as, p, snippet.Input{
			Title: f.Title, Description: &f.Description, Visibility: access,
			Files: []snippet.File{{Action: snippet.CreateFile, Path: f.File, Content: &f.Content}},
		})
	}
	switch {
	case err == nil:
		return x.goTo(at.Snippet(sn.ProjectPath, int64(sn.ID)))
	case x.wrong(err):
		return x.newSnippetPage(p, f), nil
	}
	return nil, err
}
