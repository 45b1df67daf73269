package search

import (
	"context"
	"regexp"
	"strings"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// Commits finds commits of a branch, tag or commit by their messages, and one by its id or the
// beginning of it. It requires ReadCode, without which there are none.
func (s *Service) Commits(ctx context.Context, as authz.Actor, at authz.Place, q Query) (page.Page[*gitstore.Commit], error) {
	none := page.None[*gitstore.Commit](q.Range)
	blank, err := s.require(ctx, as, at, Commits, q)
	if blank || err != nil {
		return none, err
	}
	text := strings.TrimSpace(q.Text)
	list, err := open(q, none, s.code(ctx, as, at))
	if err != nil {
		return list, err
	}
	list, err = s.Repos.Commits(ctx, as, project.Of(at), repo.CommitFilter{Ref: q.Ref, Message: text, Range: q.Range})
	if err != nil || len(list.Items) > 0 || q.Offset > 0 || q.Cursor != "" || !commitID.MatchString(text) {
		return open(q, list, err)
	}
	c, err := s.Repos.FindCommit(ctx, as, project.Of(at), text)
	if err != nil || !strings.HasPrefix(c.ID.String(), strings.ToLower(text)) { // a branch of that name
		return open(q, none, err)
	}
	found, err := page.Snapshot([]*gitstore.Commit{c}, c.ID.String(), q.Range)
	return found, err
}

// commitID is a commit id or the beginning of one.
var commitID = regexp.MustCompile(`^[0-9a-fA-F]{7,40}$`)

// code asks whether the actor may read the code of a project.
func (s *Service) code(ctx context.Context, as authz.Actor, at authz.Place) error {
	return s.Policy.Require(ctx, as, authz.ReadCode, at.Subject)
}

// Files are what a search found in a repository.
type Files struct {
	page.Page[repo.Found]
	Ref string // where it was looked for
}

// Blobs finds files of a project by path and by what they hold. It requires ReadCode, without
// which there are none.
func (s *Service) Blobs(ctx context.Context, as authz.Actor, at authz.Place, q Query) (Files, error) {
	none := Files{Page: page.None[repo.Found](q.Range)}
	blank, err := s.require(ctx, as, at, Blobs, q)
	if blank || err != nil {
		return none, err
	}
	list, err := s.Repos.SearchFiles(ctx, as, project.Of(at), q.files())
	out := Files{Ref: q.Ref}
	if q.Ref == "" && project.Of(at).DefaultBranch != nil {
		out.Ref = *project.Of(at).DefaultBranch
	}
	out.Page, err = open(q, list, err)
	return out, err
}

// WikiBlobs finds pages of the wiki of a project. It requires ReadWiki, without which there are
// none.
func (s *Service) WikiBlobs(ctx context.Context, as authz.Actor, at authz.Place, q Query) (Files, error) {
	none := Files{Page: page.None[repo.Found](q.Range)}
	blank, err := s.require(ctx, as, at, WikiBlobs, q)
	if blank || err != nil {
		return none, err
	}
	list, branch, err := s.Wikis.Search(ctx, as, at, q.files())
	out := Files{Ref: branch}
	out.Page, err = open(q, list, err)
	return out, err
}

// files reads the text of a query for files: words such as filename:x, path:x and extension:x,
// in which * stands for any characters, choose files, and with a hyphen before them leave files
// out. The rest is the text.
func (q Query) files() repo.FileSearch {
	var rest, keys []string
	var all []func(path string) bool
	for word := range strings.FieldsSeq(q.Text) {
		match := pathFilter(word)
		if match == nil {
			rest = append(rest, word)
			continue
		}
		keys, all = append(keys, word), append(all, match)
	}
	f := repo.FileSearch{Text: strings.TrimSpace(q.Text), Ref: q.Ref, Range: q.Range}
	if len(all) > 0 {
		f.Text, f.Key = strings.Join(rest, " "), strings.Join(keys, " ")
		f.Path = func(path string) bool {
			for _, match := range all {
				if !match(path) {
					return false
				}
			}
			return true
		}
	}
	return f
}

// pathFilter reads a word that chooses files; nil for any other word.
func pathFilter(word string) func(path string) bool {
	name, value, ok := strings.Cut(word, ":")
	name, not := strings.CutPrefix(name, "-")
	if !ok || value == "" {
		return nil
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(value), `\*`, ".*?")
	switch strings.ToLower(name) {
	case "filename":
		pattern += "$"
	case "path":
	case "extension":
		pattern = `\.` + pattern + "$"
	default:
		return nil
	}
	match, err := regexp.Compile("(?is)" + pattern)
	if err != nil {
		return nil
	}
	return func(path string) bool { return match.MatchString(path) != not }
}
