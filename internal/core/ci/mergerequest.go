package ci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// MergeRequest is what a pipeline knows of its merge request, as it was when the pipeline was made.
type MergeRequest struct {
	ID, IID int64
	Event   EventType
	SHA     string // commit that the pipeline runs for
	BaseSHA string // merge base of the branches, "" where there is none
	DiffID  int64  // of the newest version

	Source, Target BranchOf

	Title         string
	Description   string
	Labels        []string // titles
	Milestone     string   // title, "" for none
	Assignees     []string // usernames
	Draft         bool
	SquashOnMerge bool
	Approved      bool
}

// BranchOf is one side of a merge request.
type BranchOf struct {
	ProjectID project.ID
	Path      string // full path of the project
	Branch    string
	SHA       string // head of the branch
	Protected bool
}

// EventType says which commit of a merge request a pipeline runs for.
type EventType string

// The types.
const (
	Detached     EventType = "detached"      // head of the source branch
	MergedResult EventType = "merged_result" // the source branch merged with the target branch
	MergeTrain   EventType = "merge_train"   // the same, after the merge requests before it in the train
)

// references has the last part of the name of a merge request's reference for each type.
var references = map[EventType]string{Detached: "head", MergedResult: "merge", MergeTrain: "train"}

// ref is the reference of a pipeline: that of the merge request in its target project, and the source branch in a fork.
func (m *MergeRequest) ref(in project.ID) string {
	if in != m.Target.ProjectID {
		return m.Source.Branch
	}
	return m.path(references[m.Event])
}

func (m *MergeRequest) path(name string) string {
	return fmt.Sprintf("refs/merge-requests/%d/%s", m.IID, name)
}

// OfMergeRequest reports whether the pipeline runs for a merge request.
func (p *Pipeline) OfMergeRequest() bool { return p.SourceSHA != nil }

// RunFor makes a pipeline of a merge request in its target project or its source project p, which decides over variables and runners. It
// requires CreatePipeline. A configuration that has no jobs for merge requests is Invalid; one that is wrong leaves a failed pipeline.
func (s *Service) RunFor(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, skip Skip) (*Pipeline, error) {
	return s.Run(ctx, as, p, RunInput{Source: ByMergeRequest, MergeRequest: m, Skip: bool(skip)})
}

// Skip says that a push asked for no pipeline.
type Skip bool

// SkipOf reads the options of a push.
func SkipOf(options []string) Skip { return Skip(slices.Contains(options, SkipOption)) }

// draftFor is draft for a pipeline of a merge request.
func (s *Service) draftFor(ctx context.Context, as authz.Actor, p *project.Project, in RunInput) (*draft, error) {
	m := in.MergeRequest
	id, err := gitstore.ParseObjectID(m.SHA)
	if err != nil {
		return nil, refused(noReference)
	}
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := g.Commit(ctx, id)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, refused(noReference)
	}
	if err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	row := s.newRow(as, p, in)
	row.SHA, row.Ref, row.MergeRequestID, row.SourceSHA = m.SHA, m.ref(p.ID), &m.ID, &m.Source.SHA
	if m.Event != Detached {
		row.TargetSHA = &m.Target.SHA
	}
	if row.Protected, err = s.protectsRequest(ctx, as, p, m); err != nil {
		return nil, err
	}
	return &draft{Service: s, as: as, project: p, in: in, row: row, commit: c, reader: s.newReader(as, p)}, nil
}

// protectsRequest reports whether a pipeline of a merge request gets protected variables and runners: both branches are protected branches
// of the project that it runs in, and the actor may run pipelines of both.
func (s *Service) protectsRequest(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (bool, error) {
	for _, side := range []BranchOf{m.Source, m.Target} {
		if side.ProjectID != p.ID || !side.Protected {
			return false, nil
		}
		err := s.mayRun(ctx, as, p, side.Branch, false)
		if errs.Is(err, errs.Forbidden) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// keepMergeRequest writes what a pipeline knows of its merge request.
func (s *Service) keepMergeRequest(ctx context.Context, of PipelineID, m *MergeRequest) error {
	if m == nil {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("merge request of pipeline: %w", err)
	}
	if _, err := db.InsertRow(ctx, s.DB, "pipeline_merge_requests", db.Values{"pipeline_id": of, "content": string(text)}, ""); err != nil {
		return fmt.Errorf("write merge request of pipeline: %w", err)
	}
	return nil
}

// mergeRequestOf returns what a pipeline knows of its merge request, nil where it runs for none.
func (s *Service) mergeRequestOf(ctx context.Context, of *Pipeline) (*MergeRequest, error) {
	if !of.OfMergeRequest() {
		return nil, nil
	}
	text, err := db.Get[string](ctx, s.DB, "SELECT r.content FROM pipeline_merge_requests r WHERE r.pipeline_id = ?", of.ID)
	if err != nil {
		return nil, fmt.Errorf("read merge request of pipeline: %w", err)
	}
	var m MergeRequest
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, fmt.Errorf("read merge request of pipeline: %w", err)
	}
	return &m, nil
}

// maxDescription is how many characters of a description a variable holds.
const maxDescription = 2700

// mergeRequestVariables describe the merge request of a pipeline. What users wrote is raw: a title does not get at other variables.
func (s *Service) mergeRequestVariables(l *list, m *MergeRequest) {
	const prefix = "CI_MERGE_REQUEST_"
	text := func(key, value string) {
		l.text(prefix+key, value)
	}
	flag := func(key string, value bool) { text(key, strconv.FormatBool(value)) }
	number := func(key string, n int64) { text(key, strconv.FormatInt(n, 10)) }
	number("ID", m.ID)
	number("IID", m.IID)
	text("REF_PATH", m.path("head"))
	text("EVENT_TYPE", string(m.Event))
	number("PROJECT_ID", int64(m.Target.ProjectID))
	text("PROJECT_PATH", m.Target.Path)
	text("PROJECT_URL", s.URLs.Project(m.Target.Path))
	text("TARGET_BRANCH_NAME", m.Target.Branch)
	flag("TARGET_BRANCH_PROTECTED", m.Target.Protected)
	number("SOURCE_PROJECT_ID", int64(m.Source.ProjectID))
	text("SOURCE_PROJECT_PATH", m.Source.Path)
	text("SOURCE_PROJECT_URL", s.URLs.Project(m.Source.Path))
	text("SOURCE_BRANCH_NAME", m.Source.Branch)
	flag("SOURCE_BRANCH_PROTECTED", m.Source.Protected)
	sourceSHA, targetSHA := "", ""
	if m.Event != Detached {
		sourceSHA, targetSHA = m.Source.SHA, m.Target.SHA
	}
	text("SOURCE_BRANCH_SHA", sourceSHA)
	text("TARGET_BRANCH_SHA", targetSHA)
	number("DIFF_ID", m.DiffID)
	text("DIFF_BASE_SHA", m.BaseSHA)
	text("TITLE", m.Title)
	description := []rune(m.Description)
	flag("DESCRIPTION_IS_TRUNCATED", len(description) > maxDescription)
	text("DESCRIPTION", string(description[:min(len(description), maxDescription)]))
	flag("DRAFT", m.Draft)
	flag("SQUASH_ON_MERGE", m.SquashOnMerge)
	for key, value := range map[string]string{"LABELS": strings.Join(m.Labels, ","), "MILESTONE": m.Milestone, "ASSIGNEES": strings.Join(m.Assignees, ",")} {
		if value != "" {
			text(key, value)
		}
	}
	if m.Approved {
		flag("APPROVED", true)
	}
}

// maxOpen is how many open merge requests a variable names.
const maxOpen = 4

// openMergeRequests names the newest open merge requests from the branch of a pipeline, as far as its user may read their projects.
func (s *Service) openMergeRequests(ctx context.Context, l *list, of *Pipeline, m *MergeRequest, user *authz.UserID) error {
	from, branch := of.ProjectID, of.Ref
	if m != nil {
		from, branch = m.Source.ProjectID, m.Source.Branch
	}
	if of.Tag || user == nil {
		return nil
	}
	type row struct {
		IID       int64      `db:"iid"`
		ProjectID project.ID `db:"target_project_id"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT m.iid, m.target_project_id FROM merge_requests m
		WHERE m.source_project_id = ? AND m.source_branch = ? AND m.state = 'opened' ORDER BY m.id DESC LIMIT ?`, from, branch, maxOpen)
	if err != nil || len(rows) == 0 {
		return err
	}
	ids := make([]project.ID, len(rows))
	for i, r := range rows {
		ids[i] = r.ProjectID
	}
	targets, err := s.Projects.ByIDs(ctx, authz.Actor{UserID: *user}, ids)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range rows {
		if p := targets[r.ProjectID]; p != nil {
			names = append(names, p.FullPath+"!"+strconv.FormatInt(r.IID, 10))
		}
	}
	l.optional("CI_OPEN_MERGE_REQUESTS", strings.Join(names, ","))
	return nil
}

// Visible returns the pipeline with an id if it is of one of the projects and the actor may read its pipelines; nil otherwise. Projects may be
// nil.
func (s *Service) Visible(ctx context.Context, as authz.Actor, id PipelineID, projects ...*project.Project) (*InProject, error) {
	of, err := s.loadPipeline(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		if p == nil || p.ID != of.ProjectID {
			continue
		}
		may, err := s.MayRead(ctx, as, p)
		if err != nil || !may {
			return nil, err
		}
		return &InProject{*of, p}, nil
	}
	return nil, nil
}

// ExistsFor reports whether a pipeline was made for the merge request itself at a head, outside of a merge train. It asks for no permission.
func (s *Service) ExistsFor(ctx context.Context, id, iid int64, head string) (bool, error) {
	train := (&MergeRequest{IID: iid}).path(references[MergeTrain])
	found, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM pipelines p WHERE p.merge_request_id = ? AND p.source_sha = ? AND p.source = ? AND p.ref <> ?)`,
		id, head, ByMergeRequest, train)
	if err != nil {
		return false, fmt.Errorf("find pipeline of merge request: %w", err)
	}
	return found, nil
}

// CancelOthers cancels the pipelines of a merge request that run on a reference for another commit than one, "" for all. It asks for no
// permission.
func (s *Service) CancelOthers(ctx context.Context, p *project.Project, id int64, ref, commit string) error {
	ids, err := db.Select[PipelineID](ctx, s.DB, `SELECT p.id FROM pipelines p WHERE p.merge_request_id = ? AND p.project_id = ? AND p.ref = ? AND p.sha <> ?
		AND p.source = ? AND p.finished_at IS NULL ORDER BY p.id`, id, p.ID, ref, commit, ByMergeRequest)
	if err != nil {
		return fmt.Errorf("pipelines of merge request: %w", err)
	}
	for _, id := range ids {
		if err := s.cancelAll(ctx, authz.System(), p, id, nil); err != nil {
			return err
		}
	}
	return nil
}

// DeleteFor deletes the pipelines of a merge request that is being deleted, in the transaction of the caller. It asks for no permission.
func (s *Service) DeleteFor(ctx context.Context, as authz.Actor, id int64) error {
	list, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p WHERE p.merge_request_id = ? ORDER BY p.id", id)
	if err != nil || len(list) == 0 {
		return err
	}
	ids := make([]project.ID, len(list))
	for i := range list {
		ids[i] = list[i].ProjectID
	}
	projects, err := s.Projects.Load(ctx, ids)
	if err != nil {
		return err
	}
	for i := range list {
		if p := projects[list[i].ProjectID]; p != nil {
			if err := s.remove(ctx, as, p, list[i].ID); err != nil {
				return err
			}
		}
	}
	return nil
}
