// Package starter has what a new project may begin with: ignore lists, container builds,
// pipelines, and whole trees of files.
package starter

import (
	"embed"
	"slices"
	"strings"

	"tenon/internal/base/page"
)

// Kind is a kind of text, named like its folder.
type Kind string

// The kinds.
const (
	Gitignores  Kind = "gitignores"
	Dockerfiles Kind = "dockerfiles"
	Pipelines   Kind = "gitlab_ci_ymls"
)

//go:embed gitignores/*.txt dockerfiles/*.txt gitlab_ci_ymls/*.txt
var texts embed.FS

// Names lists the texts of a kind in order.
func Names(kind Kind) []string { return list(texts, string(kind), ".txt") }

// List returns a page of the names of a kind.
func List(kind Kind, r page.Range) (page.Page[string], error) {
	return page.Snapshot(Names(kind), string(kind), r)
}

// Find returns a text by its name, whose case must match; ok is false where there is none.
func Find(kind Kind, name string) (text string, ok bool) {
	return read(texts, string(kind), name, ".txt")
}

// list returns the names of the files of a folder in order, without what they end in.
func list(from embed.FS, folder, ext string) []string {
	entries, err := from.ReadDir(folder)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ext)
	}
	slices.Sort(names)
	return names
}

// read returns one of the files that list names.
func read(from embed.FS, folder, name, ext string) (text string, ok bool) {
	if !slices.Contains(list(from, folder, ext), name) {
		return "", false
	}
	b, err := from.ReadFile(folder + "/" + name + ext)
	return string(b), err == nil
}
