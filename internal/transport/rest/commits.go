package rest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("commits", (*Server).commitRoutes)

func (s *Server) commitRoutes() []*api.Route {
	const path = "/projects/:id/repository/commits"
	return api.Scoped(nil,
		api.Get(path, s.commits).Doc("List commits").Public().Needs(authz.ReadCode),
		api.Post(path, s.createCommit).Doc("Create a commit with multiple files and actions").MaxBody(maxFileBody).RateLarge(limit.LargeBody, limit.LargeCommits).NamesJSON().Needs(authz.PushCode, authz.ReadCode),
		api.Get(path+"/:sha", s.commit).Doc("Get a commit").Public().Needs(authz.ReadCode),
		api.Get(path+"/:sha/diff", s.commitDiff).Doc("Get the diff of a commit").Public().Needs(authz.ReadCode),
	)
}

// maxFileBody bounds a request that carries files.
const maxFileBody = 100 << 20

type listCommitsParams struct {
	projectPath
	RefName     string    `param:"ref_name" doc:"Branch, tag, commit or revision range; defaults to the default branch"`
	Since       time.Time `param:"since" doc:"Return commits since this time"`
	Until       time.Time `param:"until" doc:"Return commits until this time"`
	Path        string    `param:"path" doc:"Return commits that change this path"`
	Author      string    `param:"author" doc:"Return commits by this author"`
	All         bool      `param:"all" doc:"Return commits of every branch and tag"`
	WithStats   bool      `param:"with_stats" doc:"Include commit stats"`
	FirstParent bool      `param:"first_parent" doc:"Follow only the first parent commit of a merge commit"`
	Order       string    `param:"order" values:"default,topo" default:"default" doc:"default or topo"`
	Trailers    bool      `param:"trailers" default:"false" doc:"Parse and include Git trailers of commits"`
	api.Page
}

func (s *Server) commits(ctx context.Context, as authz.Actor, in listCommitsParams) (api.List[commitEntity], error) {
	var none api.List[commitEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Repos.Commits(ctx, as, p, repo.CommitFilter{
		Ref: in.RefName, Path: strings.Trim(in.Path, "/"), Author: in.Author, Since: in.Since, Until: in.Until, All: in.All,
		FirstParent: in.FirstParent, Topo: in.Order == "topo", Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	out := s.commitEntities(p, list.Items)
	for i, c := range list.Items {
		if in.Trailers {
			out[i] = out[i].withTrailers()
		}
		if in.WithStats {
			if out[i].Stats, err = s.stats(ctx, as, p, c); err != nil {
				return none, err
			}
		}
	}
	return api.Listed(list, out), nil
}

func (s *Server) stats(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit) (*statsEntity, error) {
	stats, err := s.Repos.CommitStats(ctx, as, p, c)
	if err != nil {
		return nil, err
	}
	return &statsEntity{stats.Additions, stats.Deletions, stats.Additions + stats.Deletions}, nil
}

type commitParams struct {
	projectPath
	SHA string `param:"sha,required,free" doc:"Commit SHA, branch or tag"`
}

type getCommitParams struct {
	commitParams
	Stats bool `param:"stats" default:"true" doc:"Include commit stats"`
}

func (s *Server) commit(ctx context.Context, as authz.Actor, in getCommitParams) (commitDetailEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return commitDetailEntity{}, err
	}
	c, err := s.Repos.FindCommit(ctx, as, p, in.SHA)
	if err != nil {
		return commitDetailEntity{}, err
	}
	return s.commitDetail(ctx, as, p, c, in.Stats)
}

func (s *Server) commitDetail(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit, stats bool) (commitDetailEntity, error) {
	out := commitDetailEntity{commitEntity: s.commitEntity(p, c), ProjectID: p.ID}
	pipeline, err := s.CI.Last(ctx, as, p, c.ID)
	if err != nil {
		return out, err
	}
	if pipeline != nil {
		out.Status, out.LastPipeline = &pipeline.State, s.pipeline(p, pipeline)
	}
	if stats {
		out.Stats, err = s.stats(ctx, as, p, c)
	}
	return out, err
}

type commitDiffParams struct {
	commitParams
	Unidiff bool `param:"unidiff" default:"false" doc:"Return diffs in unified diff format"`
	api.Page
}

func (s *Server) commitDiff(ctx context.Context, as authz.Actor, in commitDiffParams) (api.List[diffEntity], error) {
	var none api.List[diffEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	c, err := s.Repos.FindCommit(ctx, as, p, in.SHA)
	if err != nil {
		return none, err
	}
	list, err := s.Repos.CommitDiffs(ctx, as, p, c, in.Range())
	return api.Listed(list, unified(diffEntities(list.Items), in.Unidiff)), err
}

// commitAction is one action of a commit. Its rules are checked by hand, because their
// messages name the place in the list.
type commitAction struct {
	Action          string  `param:"action" doc:"create, update, move, delete or chmod"`
	FilePath        string  `param:"file_path" doc:"Path of the file"`
	PreviousPath    string  `param:"previous_path" doc:"Original path of a moved file"`
	Content         *string `param:"content" doc:"New content"`
	Encoding        string  `param:"encoding" doc:"text or base64"`
	LastCommitID    string  `param:"last_commit_id" doc:"Last known commit ID of the file"`
	ExecuteFilemode *bool   `param:"execute_filemode" doc:"Enable the execute flag of the file, for the chmod action"`
}

type createCommitParams struct {
	projectPath
	Branch        string `param:"branch" doc:"Branch to commit to"`
	CommitMessage string `param:"commit_message" doc:"Commit message"`
	StartBranch   string `param:"start_branch" doc:"Branch to create the new branch from"`
	StartProject  string `param:"start_project" doc:"ID or URL-encoded path of the project to start the branch from"`
	StartSHA      string `param:"start_sha" doc:"Commit SHA to create the new branch from"`
	Misshapen     api.Misshapen
	Actions       []commitAction `param:"actions" misshapen:"actions must be an array" doc:"Actions of the commit"`
	AuthorName    string         `param:"author_name" doc:"Author name; defaults to the current user"`
	AuthorEmail   string         `param:"author_email" doc:"Email address of the author"`
	Stats         bool           `param:"stats" default:"true" doc:"Include commit stats"`
	Force         bool           `param:"force" doc:"Overwrite the target branch with a new commit based on start_branch or start_sha"`
	AllowEmpty    bool           `param:"allow_empty" doc:"Allow an empty commit"`
}

func (s *Server) createCommit(ctx context.Context, as authz.Actor, in createCommitParams) (commitDetailEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return commitDetailEntity{}, err
	}
	input := repo.CommitInput{
		Branch: in.Branch, Message: in.CommitMessage, StartBranch: in.StartBranch, StartSHA: in.StartSHA,
		AuthorName: in.AuthorName, AuthorEmail: in.AuthorEmail, Force: in.Force, AllowEmpty: in.AllowEmpty,
	}
	if in.StartProject != "" {
		if input.StartIn, err = s.Projects.Find(ctx, as, in.StartProject); err != nil {
			return commitDetailEntity{}, err
		}
	}
	for _, a := range in.Actions {
		input.Actions = append(input.Actions, repo.Action{
			Kind: a.Action, Path: a.FilePath, PreviousPath: a.PreviousPath, Content: a.Content, Encoding: a.Encoding,
			LastCommitID: a.LastCommitID, Executable: a.ExecuteFilemode,
		})
	}
	if err := in.check(); err != nil {
		// The right to push comes before the shape of the commit.
		if denied := s.Repos.MayCommit(ctx, as, p, in.Branch); denied != nil {
			return commitDetailEntity{}, denied
		}
		return commitDetailEntity{}, err
	}
	c, err := s.Repos.Commit(ctx, as, p, input)
	if err != nil {
		return commitDetailEntity{}, err
	}
	return s.commitDetail(ctx, as, p, c, in.Stats)
}

func (p *createCommitParams) check() error {
	switch {
	case p.Branch == "":
		return errs.Bad("branch is required")
	case p.CommitMessage == "":
		return errs.Bad("commit_message is required")
	case p.Misshapen != "":
		return errs.Bad(string(p.Misshapen))
	case len(p.Actions) == 0 && !p.AllowEmpty:
		return errs.Bad("Provide at least one action, or set allow_empty to true")
	case p.StartBranch != "" && p.StartSHA != "":
		return errs.Bad("start_branch, start_sha are mutually exclusive")
	}
	for i := range p.Actions {
		if problem := p.Actions[i].problem(); problem != "" {
			return errs.Bad(fmt.Sprintf("actions[%d]%s", i, problem))
		}
	}
	return nil
}

func (a *commitAction) problem() string {
	switch a.Action {
	case "":
		return "[action] is required"
	case repo.ActionCreate, repo.ActionUpdate, repo.ActionMove, repo.ActionDelete, repo.ActionChmod:
	default:
		return "[action] must be one of: create, update, move, delete, chmod"
	}
	switch {
	case a.FilePath == "":
		return "[file_path] is required"
	case a.Encoding != "" && a.Encoding != "text" && a.Encoding != "base64":
		return "[encoding] must be text or base64"
	case a.Action == repo.ActionUpdate && a.Content == nil:
		return "[content] is required for update action"
	case a.Action == repo.ActionMove && a.PreviousPath == "":
		return "[previous_path] is required for move action"
	case a.Action == repo.ActionChmod && a.ExecuteFilemode == nil:
		return "[execute_filemode] is required for chmod action"
	}
	return ""
}
