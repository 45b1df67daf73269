package rest

import (
	"context"
	"strconv"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/rest/api"
)

// pipelineFull is a pipeline with all its attributes.
type pipelineFull struct {
	pipelineEntity
	BeforeSHA      string         `json:"before_sha"`
	Tag            bool           `json:"tag"`
	YAMLErrors     *string        `json:"yaml_errors"`
	User           *userBasic     `json:"user"`
	StartedAt      *api.Time      `json:"started_at"`
	FinishedAt     *api.Time      `json:"finished_at"`
	CommittedAt    *api.Time      `json:"committed_at"`    // null: nothing sets it, here and in what clients know
	Duration       *int64         `json:"duration"`        // seconds
	QueuedDuration *int64         `json:"queued_duration"` // the same
	Coverage       *string        `json:"coverage"`
	DetailedStatus detailedStatus `json:"detailed_status"`
}

// detailedStatus is how a state is shown.
type detailedStatus struct {
	Icon         string    `json:"icon"`
	Text         string    `json:"text"`
	Label        string    `json:"label"`
	Group        string    `json:"group"`
	Tooltip      string    `json:"tooltip"`
	HasDetails   bool      `json:"has_details"`
	DetailsPath  string    `json:"details_path"`
	Illustration *struct{} `json:"illustration"` // pipelines have none, unlike jobs
	Favicon      string    `json:"favicon"`      // path of a picture
}

// newDetailedStatus words a state, see [ci.State.Detail].
func newDetailedStatus(state ci.State, warned bool, path string) detailedStatus {
	d := state.Detail(warned)
	return detailedStatus{Icon: d.Icon, Text: d.Text, Label: d.Label, Group: d.Group, Tooltip: d.Label, HasDetails: true, DetailsPath: path, Favicon: (&weburl.Site{}).StatusFavicon(d.Favicon)}
}

func (s *Server) pipelineFull(ctx context.Context, p *project.Project, of *ci.Pipeline) (*pipelineFull, error) {
	course, err := s.CI.Course(ctx, of)
	if err != nil {
		return nil, err
	}
	out := &pipelineFull{
		pipelineEntity: *s.pipeline(p, of), BeforeSHA: of.Before(), Tag: of.Tag, YAMLErrors: of.YAMLErrors, StartedAt: api.TimePtr(course.StartedAt),
		FinishedAt: api.TimePtr(course.FinishedAt), Duration: course.Duration(), QueuedDuration: course.Queued(of),
		DetailedStatus: newDetailedStatus(of.State, course.Warned, (&weburl.Site{}).Pipeline(p.FullPath, int64(of.ID))),
	}
	if course.Coverage != nil {
		text := strconv.FormatFloat(*course.Coverage, 'f', 2, 64)
		out.Coverage = &text
	}
	if of.UserID != nil {
		people, err := s.Accounts.ByIDs(ctx, []authz.UserID{*of.UserID})
		if err != nil {
			return nil, err
		}
		out.User = s.user(people[*of.UserID])
	}
	return out, nil
}

// requestPipelines lists the pipelines of a request: its own, and those that ran on its source branch
// for one of the commits that it brings or brought.
func (s *Server) requestPipelines(ctx context.Context, as authz.Actor, in requestListParams) (api.List[pipelineEntity], error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.List[pipelineEntity]{}, err
	}
	list, err := s.MergeRequests.Pipelines(ctx, as, p, in.IID, ci.PipelineFilter{Range: in.Range()})
	if err != nil {
		return api.List[pipelineEntity]{}, err
	}
	return api.ListOf(list, func(of *ci.InProject) pipelineEntity { return *s.pipeline(of.Project, &of.Pipeline) }), nil
}

func (s *Server) createRequestPipeline(ctx context.Context, as authz.Actor, in requestPath) (*pipelineFull, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	of, place, err := s.MergeRequests.RunPipeline(ctx, as, p, in.IID)
	return s.shown(ctx, place, of, err)
}
