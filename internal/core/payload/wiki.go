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

// WikiPageBody is what is told of a page of the wiki of a project.
type WikiPageBody struct {
	Kind       string             `json:"object_kind"`
	User       *UserBlock         `json:"user"`
	Project    *ProjectBlock      `json:"project"`
	Wiki       WikiBlock          `json:"wiki"`
	Attributes WikiPageAttributes `json:"object_attributes"`
}

// WikiBlock is the wiki of a project.
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
	Message   string      `json:"message"`    // of the commit; "" for a page that is gone
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

// WikiPage builds the body about a page of the wiki of p.
func (s *Service) WikiPage(ctx context.Context, p *project.Project, e WikiPageEvent) (*WikiPageBody, error) {
	by, err := s.actor(ctx, e.By)
	if err != nil {
		return nil, err
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	web := s.URLs.Wiki(p.FullPath)
	url := weburl.WikiPage(web, e.Slug)
	out := &WikiPageBody{
		Kind: "wiki_page", User: s.user(by), Project: block,
		Wiki: WikiBlock{web, s.URLs.SSHRepository(p.FullPath + ".wiki"), s.URLs.HTTPRepository(p.FullPath + ".wiki"), p.FullPath + ".wiki", e.Branch},
		Attributes: WikiPageAttributes{
			Slug: e.Slug, Title: e.Title, Format: e.Format, VersionID: e.Commit, URL: url, Action: e.Action, DiffURL: url + "/diff?version_id=" + e.Commit,
		},
	}
	if e.Action == "delete" {
		return out, nil
	}
	found, err := s.Wikis.Find(ctx, authz.System(), p.Place(), e.Slug, e.Commit)
	if errs.Is(err, errs.NotFound) {
		return out, nil // pushed over
	}
	if err != nil {
		return nil, err
	}
	out.Attributes.Content = *s.images(p, &found.Content)
	history, err := s.Wikis.History(ctx, authz.System(), p.Place(), e.Slug, page.Range{Limit: 1})
	if err != nil && !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	if len(history.Items) > 0 {
		out.Attributes.Message = history.Items[0].Message
	}
	return out, nil
}
