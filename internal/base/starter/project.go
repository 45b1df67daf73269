package starter

import (
	"embed"
	"strings"

	"golang.org/x/tools/txtar"
)

// Each archive holds the title of the template, and its files.
//
//go:embed projects/*.txtar
var projects embed.FS

// File is one file of a template.
type File struct {
	Path    string
	Content string
}

// Template is a tree of files that a new project may begin with.
type Template struct {
	Name  string // as callers ask for it
	Title string
	Files []File
}

// otherNames are names of templates by the paths of the projects that the public API documents
// for them.
var otherNames = map[string]string{"pages/plain-html": "plainhtml", "pages/hugo": "hugo", "pages/jekyll": "jekyll"}

// Templates lists the names of the templates in order.
func Templates() []string { return list(projects, "projects", ".txtar") }

// Project returns a template by its name; ok is false where there is none.
func Project(name string) (t Template, ok bool) {
	if other := otherNames[name]; other != "" {
		name = other
	}
	text, ok := read(projects, "projects", name, ".txtar")
	if !ok {
		return Template{}, false
	}
	archive := txtar.Parse([]byte(text))
	t = Template{Name: name, Title: strings.TrimSpace(string(archive.Comment))}
	for _, f := range archive.Files {
		t.Files = append(t.Files, File{f.Name, string(f.Data)})
	}
	return t, true
}
