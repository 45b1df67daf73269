// Package starter has texts that a new project may begin with: ignore lists, container
// builds and pipelines.
package starter

import (
	"embed"
	"slices"
	"strings"
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
func Names(kind Kind) []string {
	entries, err := texts.ReadDir(string(kind))
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".txt")
	}
	slices.Sort(names)
	return names
}

// Find gives a text by its name, whose case must match; ok is false where there is none.
func Find(kind Kind, name string) (text string, ok bool) {
	for _, known := range Names(kind) {
		if known == name {
			b, err := texts.ReadFile(string(kind) + "/" + name + ".txt")
			return string(b), err == nil
		}
	}
	return "", false
}
