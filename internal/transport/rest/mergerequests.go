package rest

import (
	"context"
	"net/http"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("merge_requests", (*Server).mergeRequestRoutes)

// mergeRequestRoutes are the endpoints of merge requests. None of them is public: every
// call on merge requests needs authentication, and 401 comes before 404.
func (s *Server) mergeRequestRoutes() []*api.Route {
	const all, one = "/projects/:id/merge_requests", "/projects/:id/merge_requests/:merge_request_iid"
	return api.Scoped(nil,
		api.Get("/merge_requests", s.listAllRequests).Doc("List merge requests").Needs(authz.ListOwnMergeRequests),
		api.Get("/groups/:id/merge_requests", s.listGroupRequests).Doc("List the merge requests of a group").Needs(authz.ReadGroup),
		api.Get(all, s.listRequests).Doc("List the merge requests of a project").Needs(authz.ReadMergeRequest),
		api.Get(one, s.getRequest).Doc("Get a merge request").Needs(authz.ReadMergeRequest),
		api.Post(all, s.createRequest).Doc("Create a merge request").Needs(authz.CreateMergeRequestFrom, authz.CreateMergeRequestIn),
		api.Put(one, s.updateRequest).Timed().Doc("Update a merge request").Needs(authz.UpdateMergeRequest, authz.ReadMergeRequest),
		api.Delete(one, s.deleteRequest).Timed().Doc("Delete a merge request").Needs(authz.DeleteMergeRequest, authz.ReadMergeRequest),
		api.Put(one+"/merge", s.mergeRequest).Timed().Doc("Merge a merge request").Needs(authz.AcceptMergeRequest, authz.ReadMergeRequest, authz.PushCode),
		api.Post(one+"/cancel_merge_when_pipeline_succeeds", s.cancelAutoMerge).
			Doc("Cancel merge when pipeline succeeds").Needs(authz.ReadMergeRequest),
		api.Put(one+"/rebase", s.rebaseRequest).Timed().Doc("Rebase a merge request").
			Status(http.StatusAccepted).Needs(authz.ReadMergeRequest, authz.PushCode),
		api.Get(one+"/merge_ref", s.mergeRef).Doc("Merge to the default merge ref path").Needs(authz.ReadMergeRequest),
		api.Get(one+"/mergeability", s.mergeability).Doc("Get the conditions of a merge").Needs(authz.ReadMergeRequest),
		api.Get(one+"/participants", s.requestParticipants).Doc("List the participants of a merge request").Needs(authz.ReadMergeRequest),
		api.Get(one+"/reviewers", s.requestReviewers).Doc("List the reviewers of a merge request").Needs(authz.ReadMergeRequest),
		api.Get(one+"/commits", s.requestCommits).Doc("List the commits of a merge request").Needs(authz.ReadMergeRequest),
		api.Get(one+"/pipelines", s.requestPipelines).Doc("List the pipelines of a merge request").Needs(authz.ReadMergeRequest),
		api.Post(one+"/pipelines", s.createRequestPipeline).Status(http.StatusOK).Doc("Create a merge request pipeline").
			Needs(authz.ReadMergeRequest, authz.CreatePipeline, authz.ReadCode),
		api.Get(one+"/changes", s.requestChanges).Doc("Get the changes of a merge request").Needs(authz.ReadMergeRequest).Deprecated(),
		api.Get(one+"/diffs", s.requestDiffs).Doc("List the diffs of a merge request").Needs(authz.ReadMergeRequest),
		api.Get(one+"/versions", s.requestVersions).Doc("List the diff versions of a merge request").Needs(authz.ReadMergeRequest),
		api.Get(one+"/versions/:version_id", s.requestVersion).Doc("Get a diff version of a merge request").Needs(authz.ReadMergeRequest),
	)
}

type requestPath struct {
	projectPath
	IID mergerequest.IID `param:"merge_request_iid,required" doc:"Internal ID of the merge request"`
}

type getRequestParams struct {
	requestPath
	WithDiverged   bool `param:"include_diverged_commits_count" doc:"Include diverged_commits_count"`
	RenderHTML     bool `param:"render_html" doc:"Include title_html and description_html"`
	WithRebaseFlag bool `param:"include_rebase_in_progress" doc:"Include rebase_in_progress"`
}

func (s *Server) getRequest(ctx context.Context, as authz.Actor, in getRequestParams) (mergeRequestFull, error) {
	p, m, err := s.readRequest(ctx, as, in.requestPath)
	if err != nil {
		return mergeRequestFull{}, err
	}
	out, err := s.requestFull(ctx, as, p, m)
	if err != nil {
		return mergeRequestFull{}, err
	}
	if in.WithRebaseFlag {
		running, err := s.MergeRequests.Rebasing(ctx, m)
		if err != nil {
			return mergeRequestFull{}, err
		}
		out.RebaseInProgress = &running
	}
	if in.WithDiverged {
		n, err := s.MergeRequests.Diverged(ctx, as, p, m)
		if err != nil {
			return mergeRequestFull{}, err
		}
		out.DivergedCommits = &n
	}
	if in.RenderHTML {
		if out.requestHTML, err = s.requestTexts(ctx, as, p, m); err != nil {
			return mergeRequestFull{}, err
		}
	}
	first, err := s.MergeRequests.FirstContribution(ctx, as, p, m)
	out.FirstContribution = &first
	return out, err
}

// readRequest finds a request, brought up to date with its branches.
func (s *Server) readRequest(ctx context.Context, as authz.Actor, in requestPath) (*project.Project, *mergerequest.MergeRequest, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.MergeRequests.Read(ctx, as, p, in.IID)
	return p, m, err
}

type mergeRefEntity struct {
	CommitID string `json:"commit_id"`
}

func (s *Server) mergeRef(ctx context.Context, as authz.Actor, in requestPath) (mergeRefEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeRefEntity{}, err
	}
	id, err := s.MergeRequests.MergeRef(ctx, as, p, in.IID)
	return mergeRefEntity{id.String()}, err
}

type requestListParams struct {
	requestPath
	api.Page
}

func (s *Server) requestParticipants(ctx context.Context, as authz.Actor, in requestListParams) (api.List[userBasic], error) {
	var none api.List[userBasic]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	m, err := s.MergeRequests.Find(ctx, as, p, in.IID)
	if err != nil {
		return none, err
	}
	return s.participants(ctx, as, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}, p.Subject(), in.Range())
}

type reviewerEntity struct {
	User      *userBasic `json:"user"`
	State     string     `json:"state"`
	CreatedAt api.Time   `json:"created_at"`
}

func (s *Server) requestReviewers(ctx context.Context, as authz.Actor, in requestPath) ([]reviewerEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	m, err := s.MergeRequests.Find(ctx, as, p, in.IID)
	if err != nil {
		return nil, err
	}
	ids := make([]authz.UserID, len(m.Reviewers))
	for i, r := range m.Reviewers {
		ids[i] = r.UserID
	}
	people, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]reviewerEntity, len(m.Reviewers))
	for i, r := range m.Reviewers {
		out[i] = reviewerEntity{User: s.user(people[r.UserID]), State: r.State, CreatedAt: api.Time(r.CreatedAt.Time)}
	}
	return out, nil
}

func (s *Server) requestCommits(ctx context.Context, as authz.Actor, in requestListParams) (api.List[commitEntity], error) {
	var none api.List[commitEntity]
	p, m, err := s.readRequest(ctx, as, in.requestPath)
	if err != nil {
		return none, err
	}
	commits, err := s.MergeRequests.Commits(ctx, as, p, m, nil, in.Range())
	if err != nil {
		return none, err
	}
	return api.Listed(commits, s.commitEntities(p, commits.Items)), nil
}

type changesParams struct {
	requestPath
	Unidiff  bool `param:"unidiff" default:"false" doc:"Return diffs in unified diff format"`
	RawDiffs bool `param:"access_raw_diffs" doc:"Accepted and ignored: diffs are always read from Git"`
}

func (s *Server) requestChanges(ctx context.Context, as authz.Actor, in changesParams) (mergeRequestFull, error) {
	p, m, err := s.readRequest(ctx, as, in.requestPath)
	if err != nil {
		return mergeRequestFull{}, err
	}
	d, err := s.MergeRequests.Diff(ctx, as, p, m, nil)
	if err != nil {
		return mergeRequestFull{}, err
	}
	out, err := s.requestFull(ctx, as, p, m)
	changes := unified(diffEntities(d.Files), in.Unidiff)
	out.Changes, out.Overflow = &changes, &d.Overflow
	return out, err
}

type requestDiffsParams struct {
	requestPath
	Unidiff bool `param:"unidiff" default:"false" doc:"Return diffs in unified diff format"`
	api.Page
}

func (s *Server) requestDiffs(ctx context.Context, as authz.Actor, in requestDiffsParams) (api.List[diffEntity], error) {
	var none api.List[diffEntity]
	p, m, err := s.readRequest(ctx, as, in.requestPath)
	if err != nil {
		return none, err
	}
	list, err := s.MergeRequests.Diffs(ctx, as, p, m, in.Range())
	return api.Listed(list, unified(diffEntities(list.Items), in.Unidiff)), err
}

type versionOfRequest struct {
	ID             mergerequest.VersionID `json:"id"`
	HeadCommitSHA  string                 `json:"head_commit_sha"`
	BaseCommitSHA  string                 `json:"base_commit_sha"`
	StartCommitSHA string                 `json:"start_commit_sha"`
	CreatedAt      api.Time               `json:"created_at"`
	RequestID      mergerequest.ID        `json:"merge_request_id"`
	State          string                 `json:"state"`
	RealSize       string                 `json:"real_size"`
	PatchIDSHA     *string                `json:"patch_id_sha"` // null for an empty diff
}

// given is nil for "".
func given(text *string) *string {
	if text == nil || *text == "" {
		return nil
	}
	return text
}

func newVersionOfRequest(v *mergerequest.Version) versionOfRequest {
	return versionOfRequest{
		ID: v.ID, HeadCommitSHA: v.HeadSHA, BaseCommitSHA: v.BaseSHA, StartCommitSHA: v.StartSHA,
		CreatedAt: api.Time(v.CreatedAt.Time), RequestID: v.MergeRequestID, State: "collected", RealSize: filesCount(v.ChangesCount),
		PatchIDSHA: given(v.PatchID),
	}
}

func (s *Server) requestVersions(ctx context.Context, as authz.Actor, in requestListParams) (api.List[versionOfRequest], error) {
	var none api.List[versionOfRequest]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	versions, err := s.MergeRequests.Versions(ctx, as, p, in.IID, in.Range())
	if err != nil {
		return none, err
	}
	return api.ListOf(versions, newVersionOfRequest), nil
}

type requestVersionParams struct {
	requestPath
	Unidiff   bool                   `param:"unidiff" default:"false" doc:"Return diffs in unified diff format"`
	VersionID mergerequest.VersionID `param:"version_id,required" doc:"ID of the merge request diff version"`
}

type versionWithChanges struct {
	versionOfRequest
	Commits []commitEntity `json:"commits"`
	Diffs   []diffEntity   `json:"diffs"`
}

// maxVersionCommits bounds the commits that one version shows.
const maxVersionCommits = 1000

func (s *Server) requestVersion(ctx context.Context, as authz.Actor, in requestVersionParams) (versionWithChanges, error) {
	p, m, err := s.readRequest(ctx, as, in.requestPath)
	if err != nil {
		return versionWithChanges{}, err
	}
	v, err := s.MergeRequests.Version(ctx, as, p, m, in.VersionID)
	if err != nil {
		return versionWithChanges{}, err
	}
	commits, err := s.MergeRequests.Commits(ctx, as, p, m, v, page.Range{Limit: maxVersionCommits, Uncounted: true})
	if err != nil {
		return versionWithChanges{}, err
	}
	var d *gitcmd.Diff
	if d, err = s.MergeRequests.Diff(ctx, as, p, m, v); err != nil {
		return versionWithChanges{}, err
	}
	return versionWithChanges{versionOfRequest: newVersionOfRequest(v), Commits: s.commitEntities(p, commits.Items), Diffs: unified(diffEntities(d.Files), in.Unidiff)}, nil
}
