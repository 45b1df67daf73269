package mergerequest

import (
	"context"
	"fmt"
	"strconv"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
)

// runPipeline is the job that makes the pipeline of a merge request that was created or pushed to.
type runPipeline struct {
	RequestID ID           `json:"merge_request_id"`
	UserID    authz.UserID `json:"user_id"`
	SHA       string       `json:"sha"`     // that was pushed, "" for the present head
	SkipCI    bool         `json:"skip_ci"` // the push asked for no pipeline
}

// Kind names the job.
func (runPipeline) Kind() string { return "merge_request_pipeline" }

// RunPipeline makes a pipeline of a request and returns it with its project. It requires CreatePipeline. One of a fork runs in the target
// project where that lets it and the actor may run pipelines there, otherwise in the fork. A request that is not open, or has no
// commits, is NotAllowed; what the configuration does not allow is Invalid.
func (s *Service) RunPipeline(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*ci.Pipeline, *project.Project, error) {
	m, err := s.Read(ctx, as, p, iid)
	if err != nil {
		return nil, nil, err
	}
	in, err := s.runsIn(ctx, as, p, m)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, in.Subject()); err != nil {
		return nil, nil, err
	}
	if !m.testable() {
		return nil, nil, errs.New(errs.NotAllowed, "")
	}
	made, err := s.makePipeline(ctx, as, p, in, m, false)
	return made, in, err
}

// testable reports whether there is something that a pipeline of the request could run for.
func (m *MergeRequest) testable() bool {
	return m.State == StateOpened && m.HeadSHA != "" && m.CommitsCount > 0 && m.SourceProjectID != nil
}

// runsIn returns the project that a pipeline runs in which the actor asks for.
func (s *Service) runsIn(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (*project.Project, error) {
	if !m.Fork() {
		return p, nil
	}
	if p.Settings().CIAllowForkPipelinesInParent {
		may, err := s.Policy.Can(ctx, as, authz.CreatePipeline, p.Subject())
		if err != nil || may {
			return p, err
		}
	}
	source, err := s.SourceFor(ctx, as, p, m)
	if err == nil && source == nil {
		source = p // whose refusal is the answer
	}
	return source, err
}

// testPushed does the job. A fork's pipeline runs in the fork: its variables and runners are not those of the target project.
func (s *Service) testPushed(ctx context.Context, work runPipeline) error {
	as, err := s.Accounts.StandIn(ctx, strconv.FormatInt(int64(work.UserID), 10))
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return nil
	}
	if err != nil {
		return err
	}
	row, err := s.load(ctx, "m.id = ? AND m.state = 'opened'", work.RequestID)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p, err := s.Projects.FindByID(ctx, as, row.ProjectID)
	if err != nil {
		return hiddenIsDone(err)
	}
	if moved, err := s.moved(ctx, p, row); err != nil || moved {
		return err // the job of that push follows it, in the name of who pushed
	}
	m, err := s.Read(ctx, as, p, row.IID)
	if err != nil {
		return hiddenIsDone(err)
	}
	in, err := s.SourceFor(ctx, as, p, m)
	if err != nil || in == nil || !m.testable() || work.SHA != "" && m.HeadSHA != work.SHA {
		return err
	}
	may, err := s.Policy.Can(ctx, as, authz.CreatePipeline, in.Subject())
	if err != nil || !may {
		return err
	}
	made, err := s.CI.ExistsFor(ctx, int64(m.ID), int64(m.IID), m.HeadSHA)
	if err != nil || made {
		return err
	}
	_, err = s.makePipeline(ctx, as, p, in, m, ci.Skip(work.SkipCI))
	return hiddenIsDone(err)
}

// hiddenIsDone drops the refusals of what no user waits for.
func hiddenIsDone(err error) error {
	if errs.KindOf(err) != errs.Internal {
		return nil
	}
	return err
}

// makePipeline makes a pipeline of a request of p: of what the merge would give, where the project wants that and there are no conflicts,
// or else of the source branch.
func (s *Service) makePipeline(ctx context.Context, as authz.Actor, p, in *project.Project, m *MergeRequest, skip ci.Skip) (*ci.Pipeline, error) {
	d, err := s.describe(ctx, as, p, m)
	if err != nil {
		return nil, err
	}
	d.Event, d.SHA = ci.Detached, m.HeadSHA
	if in.ID == p.ID && p.Settings().MergePipelinesEnabled && m.Status == CanBeMerged {
		merged, err := s.mergeRef(ctx, as, p, m)
		switch {
		case err == nil:
			d.Event, d.SHA, d.Target.SHA = ci.MergedResult, merged.String(), m.TrialTargetSHA
		case !errs.Is(err, errs.Invalid):
			return nil, err
		}
	}
	return s.CI.RunFor(ctx, as, in, d, skip)
}

// describe returns what a pipeline is told of a request of p.
func (s *Service) describe(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (*ci.MergeRequest, error) {
	source, err := s.source(ctx, p, m)
	if err != nil {
		return nil, err
	}
	if source == nil {
		return nil, errs.New(errs.NotAllowed, "")
	}
	d := &ci.MergeRequest{
		ID: int64(m.ID), IID: int64(m.IID), BaseSHA: m.BaseSHA, Title: m.Title, Description: m.Text(), Draft: m.Draft, SquashOnMerge: m.SquashOnMerge(p),
		Source: ci.BranchOf{ProjectID: source.ID, Path: source.FullPath, Branch: m.SourceBranch, SHA: m.HeadSHA},
		Target: ci.BranchOf{ProjectID: p.ID, Path: p.FullPath, Branch: m.TargetBranch},
	}
	if m.VersionID != nil {
		d.DiffID = int64(*m.VersionID)
	}
	for _, l := range m.Labels {
		d.Labels = append(d.Labels, l.Title)
	}
	people, err := s.Accounts.ByIDs(ctx, m.Assignees)
	if err != nil {
		return nil, err
	}
	for _, id := range m.Assignees {
		if u := people[id]; u != nil {
			d.Assignees = append(d.Assignees, u.Username)
		}
	}
	if m.MilestoneID != nil {
		found, err := s.Milestones.ByIDs(ctx, as, []milestone.ID{*m.MilestoneID})
		if err != nil {
			return nil, err
		}
		if one := found[*m.MilestoneID]; one != nil {
			d.Milestone = one.Title
		}
	}
	if m.obstacle(NotApproved).Status == "" {
		by, err := s.above.Approvals.ApprovedBy(ctx, m)
		if err != nil {
			return nil, err
		}
		d.Approved = len(by) > 0
	}
	return d, s.protect(ctx, as, source, p, d)
}

// protect notes which of the branches are protected.
func (s *Service) protect(ctx context.Context, as authz.Actor, source, target *project.Project, d *ci.MergeRequest) error {
	rules, err := s.Protections.Branches(ctx, as, target)
	if err != nil {
		return err
	}
	d.Target.Protected = rules.Protects(d.Target.Branch)
	if source.ID != target.ID {
		if rules, err = s.Protections.Branches(ctx, as, source); err != nil {
			return err
		}
	}
	d.Source.Protected = rules.Protects(d.Source.Branch)
	return nil
}

// testCar makes the pipeline of a car of a merge train, in the name of the user who added it. Where the configuration makes none, one
// waits for what other systems report of the commit.
func (s *Service) testCar(ctx context.Context, p *project.Project, m *MergeRequest, c *Car) error {
	as, err := s.planner(ctx, m)
	if err != nil || !as.SignedIn() {
		return err // the next round finds out
	}
	seen, err := s.Projects.FindByID(ctx, as, p.ID)
	if err != nil {
		return hiddenIsDone(err)
	}
	d, err := s.describe(ctx, as, seen, m)
	if err != nil {
		return hiddenIsDone(err)
	}
	d.Event, d.SHA, d.Target.SHA = ci.MergeTrain, c.TrainSHA, c.BaseSHA
	_, err = s.CI.RunFor(ctx, as, seen, d, false)
	if err == nil || errs.KindOf(err) == errs.Internal {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.CI.Expect(ctx, as, seen, idOf(c.TrainSHA), m.prefix()+"train")
	})
	if err != nil {
		return fmt.Errorf("expect reports on merge train: %w", err)
	}
	return nil
}

// OnRequestPipeline looks at the merge request that a pipeline has ended for, in the transaction that ended it.
func (s *Service) OnRequestPipeline(ctx context.Context, of ci.Pipeline) error {
	if of.MergeRequestID == nil || of.State != ci.Success && of.State != ci.Skipped {
		return nil
	}
	m, err := s.load(ctx, "m.id = ?", *of.MergeRequestID)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.enqueueDue(ctx, m.SourceProjectID, m.SourceBranch)
}
