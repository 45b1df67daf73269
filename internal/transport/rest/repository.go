package rest

import (
	"context"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("repositories", (*Server).repositoryRoutes)

func (s *Server) repositoryRoutes() []*api.Route {
	const path = "/projects/:id/repository"
	return api.Scoped(nil,
		api.Get(path+"/tree", s.tree).Doc("List a repository tree").Public().Needs(authz.ReadCode),
		api.Get(path+"/blobs/:sha", s.blob).Doc("Get a blob of a repository").Public().Needs(authz.ReadCode),
		api.Get(path+"/blobs/:sha/raw", s.rawBlob).Doc("Get the raw content of a blob").Public().Needs(authz.ReadCode),
		api.Get(path+"/archive{.format}", s.archive).Doc("Get an archive of a repository").Public().Needs(authz.ReadCode),
		api.Get(path+"/compare", s.compare).Doc("Compare branches, tags or commits").Public().Needs(authz.ReadCode),
		api.Get(path+"/health", s.repositoryHealth).Doc("Get the health of a repository").Public().Needs(authz.ReadCode),
		api.Get(path+"/contributors", s.contributors).Doc("List the contributors of a repository").Public().Needs(authz.ReadCode),
		api.Get(path+"/merge_base", s.mergeBase).Doc("Get the merge base of commits").Public().Needs(authz.ReadCode),
	)
}

type treeParams struct {
	projectPath
	Ref       string `param:"ref" doc:"Branch, tag or commit; defaults to the default branch"`
	Path      string `param:"path" doc:"Path inside the repository"`
	Recursive bool   `param:"recursive" default:"false" doc:"List the tree recursively"`
	PageToken string `param:"page_token" doc:"Token of the page to fetch, with pagination=keyset"`
	api.LegacyPage
}

type treeEntity struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Path string `json:"path"`
	Mode string `json:"mode"`
}

func (s *Server) tree(ctx context.Context, as authz.Actor, in treeParams) (api.List[treeEntity], error) {
	var none api.List[treeEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	whole := in.Mode == "none"
	if whole && !in.Recursive {
		return none, api.BadParam(`pagination cannot be "none" unless "recursive" is true`)
	}
	f := repo.TreeFilter{
		Ref: in.Ref, Path: in.Path, Recursive: in.Recursive, After: in.PageToken, Range: in.Range(),
	}
	if whole { // answered like a keyset listing that ends here
		f.Range = page.Range{Keyset: true}
	}
	list, err := s.Repos.Tree(ctx, as, p, f)
	if err != nil {
		return none, err
	}
	return api.ListOf(list.Page, func(e *gitcmd.PathEntry) treeEntity {
		return treeEntity{
			ID: e.ID.String(), Name: strings.ToValidUTF8(e.Name, "\uFFFD"), Type: string(e.Kind()),
			Path: strings.ToValidUTF8(e.Path, "\uFFFD"), Mode: e.Mode.String(),
		}
	}).LedBy("page_token", list.Token), nil
}

type blobParams struct {
	projectPath
	SHA string `param:"sha,required" doc:"SHA of the blob"`
}

type blobEntity struct {
	Size     int64       `json:"size"`
	Encoding string      `json:"encoding"`
	Content  fileContent `json:"content"`
	SHA      string      `json:"sha"`
}

func (s *Server) blob(ctx context.Context, as authz.Actor, in blobParams) (api.Reply[blobEntity], error) {
	var none api.Reply[blobEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	b, err := s.Repos.Blob(ctx, as, p, in.SHA)
	if err != nil {
		return none, err
	}
	defer b.Close()
	if err := s.Limits.CheckLarge(as, int64(p.ID), b.Size); err != nil {
		return none, err
	}
	if b.Size > maxShownFile {
		return none, errs.New(errs.TooLarge, "")
	}
	content, err := readContent(b)
	if err != nil {
		return none, err
	}
	return api.Reply[blobEntity]{Body: blobEntity{Size: b.Size, Encoding: "base64", Content: content, SHA: b.ID.String()}, Done: content.close}, nil
}

func (s *Server) rawBlob(ctx context.Context, as authz.Actor, in blobParams) (api.Content, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.Content{}, err
	}
	b, err := s.Repos.Blob(ctx, as, p, in.SHA)
	if err != nil {
		return api.Content{}, err
	}
	if err := s.countRaw(as, p, b.ID.String(), b); err != nil {
		return api.Content{}, err
	}
	return rawBlob(b)
}

// countRaw counts a file that is sent as it is. One that may not be sent is closed.
func (s *Server) countRaw(as authz.Actor, p *project.Project, name string, b *gitcmd.BlobReader) error {
	err := s.Limits.CheckRaw(as, int64(p.ID), name, b.Size)
	if err != nil {
		_ = b.Close() // nothing was read
	}
	return err
}

type compareParams struct {
	projectPath
	From        string     `param:"from,required" doc:"Branch, tag or commit to compare from"`
	To          string     `param:"to,required" doc:"Branch, tag or commit to compare to"`
	FromProject project.ID `param:"from_project_id" doc:"ID of the project of the fork network to compare from"`
	Straight    bool       `param:"straight" doc:"Compare directly (from..to) instead of from the merge base (from...to)"`
	Unidiff     bool       `param:"unidiff" doc:"Return diffs in unified diff format"`
}

type compareEntity struct {
	Commit         *commitEntity  `json:"commit"`
	Commits        []commitEntity `json:"commits"`
	Diffs          []diffEntity   `json:"diffs"`
	CompareTimeout bool           `json:"compare_timeout"`
	CompareSameRef bool           `json:"compare_same_ref"`
	WebURL         string         `json:"web_url"`
}

func (s *Server) compare(ctx context.Context, as authz.Actor, in compareParams) (compareEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return compareEntity{}, err
	}
	c, err := s.Repos.Compare(ctx, as, p, repo.CompareInput{From: in.From, To: in.To, Straight: in.Straight, FromProject: in.FromProject})
	if err != nil {
		return compareEntity{}, err
	}
	dots := "..."
	if in.Straight {
		dots = ".."
	}
	out := compareEntity{
		Commits: s.commitEntities(p, c.Commits), Diffs: unified(diffEntities(c.Diff.Files), in.Unidiff), CompareTimeout: c.Diff.Overflow,
		CompareSameRef: c.SameRef,
		WebURL:         s.URLs.Compare(p.FullPath, c.From.String(), dots, c.To.String()),
	}
	if n := len(out.Commits); n > 0 {
		out.Commit = &out.Commits[n-1]
	}
	return out, nil
}

type mergeBaseParams struct {
	projectPath
	Refs api.Strings `param:"refs,required" doc:"Two or more branches, tags or commits"`
}

func (s *Server) mergeBase(ctx context.Context, as authz.Actor, in mergeBaseParams) (commitEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return commitEntity{}, err
	}
	c, err := s.Repos.MergeBase(ctx, as, p, in.Refs)
	if err != nil {
		return commitEntity{}, err
	}
	return s.commitEntity(p, c), nil
}

type contributorsParams struct {
	projectPath
	Ref     string `param:"ref" doc:"Branch, tag or commit; defaults to the default branch"`
	OrderBy string `param:"order_by" values:"email,name,commits" default:"commits" doc:"Column to order by"`
	Sort    string `param:"sort" values:"asc,desc" default:"asc" doc:"asc or desc"`
	api.Page
}

type contributorEntity struct {
	Name      string `json:"name"`
	Email     string `json:"email"`
	Commits   int    `json:"commits"`
	Additions int    `json:"additions"` // always 0, as in the contract
	Deletions int    `json:"deletions"`
}

func (s *Server) contributors(ctx context.Context, as authz.Actor, in contributorsParams) (api.List[contributorEntity], error) {
	var none api.List[contributorEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	direction := repo.Ascending
	if in.Sort == "desc" {
		direction = repo.Descending
	}
	list, err := s.Repos.Contributors(ctx, as, p, repo.ContributorFilter{Ref: in.Ref, By: in.OrderBy, Direction: direction, Range: in.Range()})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(c *repo.Contributor) contributorEntity {
		return contributorEntity{Name: c.Name, Email: c.Email, Commits: c.Commits}
	}), nil
}
