package payload

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
	"tenon/internal/core/wiki"
)

// WikiPageBody is the body about a page of a wiki.
type WikiPageBody struct {
	Kind       string             `json:"object_kind"`
	User       *UserBlock         `json:"user"`
	Project    *ProjectBlock      `json:"project,omitempty"` // of the wiki of a project
	Group      *GroupBlock        `json:"group,omitempty"`   // of that of a group
	Wiki       WikiBlock          `json:"wiki"`
	Attributes WikiPageAttributes `json:"object_attributes"`
}

// WikiBlock is a wiki.
type WikiBlock struct {
	WebURL        string `json:"web_url"`
	SSH           string `json:"git_ssh_url"`
	HTTP          string `json:"git_http_url"`
	Path          string `json:"path_with_namespace"`
	DefaultBranch string `json:"default_branch"`
}

// WikiPageAttributes are those of a page.
type WikiPageAttributes struct {
	Slug      string      `json:"slug"`
	Title     string      `json:"title"`
	Format    wiki.Format `json:"format"`
	Message   string      `json:"message"`    // of the commit; "" for a page that was deleted
	Content   string      `json:"content"`    // likewise
	VersionID string      `json:"version_id"` // the commit
	URL       string      `json:"url"`
	Action    string      `json:"action"` // create, update or delete
	DiffURL   string      `json:"diff_url"`
}

// WikiPageEvent is what happened to a page.
type WikiPageEvent struct {
	By     authz.UserID // zero for the server itself
	Slug   string
	Title  string
	Format wiki.Format
	Branch string
	Commit string
	Action string // create, update or delete
}

// WikiPage builds the body about a page of the wiki of p, or of a group where p is nil. It is nil where the group was deleted.
func (s *Service) WikiPage(ctx context.Context, p *project.Project, group authz.NamespaceID, e WikiPageEvent) (*WikiPageBody, error) {
	by, err := s.actor(ctx, e.By)
	if err != nil {
		return nil, err
	}
	out := &WikiPageBody{
		Kind: "wiki_page", User: s.user(by),
		Attributes: WikiPageAttributes{Slug: e.Slug, Title: e.Title, Format: e.Format, VersionID: e.Commit, Action: e.Action},
	}
	var in authz.Place
	var root string
	if p != nil {
		if out.Project, err = s.projectBlock(ctx, p); err != nil {
			return nil, err
		}
		root, in, out.Wiki = s.URLs.Project(p.FullPath), p.Place(), s.wiki(s.URLs.Wiki(p.FullPath), p.FullPath, e.Branch)
	} else {
		g, err := s.Namespaces.FindByID(ctx, authz.System(), group)
		if errs.Is(err, errs.NotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		root, in, out.Wiki, out.Group = s.URLs.Group(g.FullPath), g.Place(), s.wiki(s.URLs.GroupWiki(g.FullPath), g.FullPath, e.Branch), &GroupBlock{g.Name, g.Path, g.ID, g.FullPath}
	}
	out.Attributes.URL = weburl.WikiPage(out.Wiki.WebURL, e.Slug)
	out.Attributes.DiffURL = out.Attributes.URL + "/diff?version_id=" + e.Commit
	if e.Action == "delete" {
		return out, nil
	}
	found, err := s.Wikis.Find(ctx, authz.System(), in, e.Slug, e.Commit)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return out, nil // pushed over, or the wiki was switched off
	}
	if err != nil {
		return nil, err
	}
	out.Attributes.Content = *s.images(root, &found.Content)
	history, err := s.Wikis.History(ctx, authz.System(), in, e.Slug, page.Range{Limit: 1})
	if err != nil && !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	if len(history.Items) > 0 {
		out.Attributes.Message = history.Items[0].Message
	}
	return out, nil
}

func (s *Service) wiki(web, path, branch string) WikiBlock {
	path += ".wiki"
	return WikiBlock{web, s.URLs.SSHRepository(path), s.URLs.HTTPRepository(path), path, branch}
}
