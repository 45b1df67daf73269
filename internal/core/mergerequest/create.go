package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

const (
	maxTitle       = 255
	maxDescription = 1 << 20 // characters
	maxPeople      = 200     // assignees or reviewers
)

// Input is what a new merge request is made of.
type Input struct {
	Target       project.ID // zero is the source project itself
	SourceBranch string
	TargetBranch string
	Title        string
	Description  *string
	Assignees    []authz.UserID // unknown ones are dropped, and those who may not read the request
	Reviewers    []authz.UserID
	Labels       []string
	MilestoneID  *milestone.ID // 0 is none; one that the target project cannot use is left out

	RemoveSource         *bool // nil says nothing about it
	Squash               *bool // nil follows the project
	AllowCollaboration   bool
	ApprovalsBeforeMerge *int64

	Existing bool // refuse branches that do not exist
}

// Create opens a merge request from a branch of source. It requires the right to push
// code there and the right to open merge requests in the target. The branches need not
// exist unless the input says so: a request may come before its first push. The quick actions of the
// description run at the end. The other result is the target.
func (s *Service) Create(ctx context.Context, as authz.Actor, source *project.Project, in Input) (*MergeRequest, *project.Project, error) {
	run := noteable.Cut(s.above.Commands, noteable.MergeRequest, &in.Description)
	m, target, err := s.create(ctx, as, source, in)
	if err != nil || run == nil {
		return m, target, err
	}
	m, err = s.command(ctx, as, target, m.IID, run)
	return m, target, err
}

// command runs the quick actions of a description on the merge request that has it, and returns it as it is then.
func (s *Service) command(ctx context.Context, as authz.Actor, p *project.Project, iid IID, run noteable.Run) (*MergeRequest, error) {
	if err := run.On(ctx, as, s, p.Place(), noteable.Key{Number: int64(iid)}); err != nil {
		return nil, err
	}
	return s.Read(ctx, as, p, iid)
}

// create is Create for a description without quick actions.
func (s *Service) create(ctx context.Context, as authz.Actor, source *project.Project, in Input) (*MergeRequest, *project.Project, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateMergeRequestFrom, source.Subject()); err != nil {
		return nil, nil, err
	}
	in.Title = strings.TrimSpace(in.Title)
	target, err := s.target(ctx, as, source, in.Target)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.CreateMergeRequestIn, target.Subject()); err != nil {
		return nil, nil, err
	}
	if err := s.checkCreate(ctx, source, target, in); err != nil {
		return nil, nil, err
	}
	if in.Existing {
		if err := s.checkBranches(ctx, source, target, in); err != nil {
			return nil, nil, err
		}
	}
	m, labels, err := s.build(ctx, as, source, target, in)
	if err != nil {
		return nil, nil, err
	}
	people, err := s.compare(ctx, target, source, m)
	if err != nil {
		return nil, nil, err
	}
	if err := s.insert(ctx, as, target, m, labels, people); err != nil {
		return nil, nil, err
	}
	ctx = context.WithoutCancel(ctx) // the row is there: finish what belongs to it
	if err := s.pinHead(ctx, target, m); err != nil {
		return nil, nil, err
	}
	// A push that arrived between the look at the branches and the row found no request.
	if err := s.refresh(ctx, target, m); err != nil {
		return nil, nil, err
	}
	return m, target, nil
}

// target finds the project that shall be changed; one that the actor may not see is
// not found.
func (s *Service) target(ctx context.Context, as authz.Actor, source *project.Project, id project.ID) (*project.Project, error) {
	if id == 0 || id == source.ID {
		return source, nil
	}
	target, err := s.Projects.FindByID(ctx, as, id)
	if errs.Is(err, errs.NotFound) {
		return nil, errs.Missing("")
	}
	return target, err
}

var errSameBranch = errs.Sentences(errs.Unprocessable, "You can't use same project/branch for source and target")

// checkCreate runs the checks of a new merge request in the order in which clients see their refusals.
func (s *Service) checkCreate(ctx context.Context, source, target *project.Project, in Input) error {
	if source.ID == target.ID && in.SourceBranch == in.TargetBranch {
		return errSameBranch
	}
	if err := requireRelated(source, target); err != nil {
		return err
	}
	if err := s.checkTwin(ctx, source.ID, in.SourceBranch, target.ID, in.TargetBranch); err != nil {
		return err
	}
	var bad errs.Fields
	_, badSource := gitstore.BranchRef(in.SourceBranch)
	_, badTarget := gitstore.BranchRef(in.TargetBranch)
	bad.Check(badSource == nil, "source_branch", "is invalid")
	bad.Check(badTarget == nil, "target_branch", "is invalid")
	checkText(&bad, &in.Title, in.Description)
	bad.Check(len(in.Assignees) <= maxPeople, "assignees", "total must be less than or equal to 200")
	bad.Check(len(in.Reviewers) <= maxPeople, "reviewers", "total must be less than or equal to 200")
	return bad.Err()
}

// checkBranches refuses branches that do not exist.
func (s *Service) checkBranches(ctx context.Context, source, target *project.Project, in Input) error {
	from, err := s.tip(ctx, source, in.SourceBranch)
	if err != nil {
		return err
	}
	to, err := s.tip(ctx, target, in.TargetBranch)
	if err != nil {
		return err
	}
	var bad errs.Fields
	bad.Check(!from.IsZero(), "source_branch", "does not exist")
	bad.Check(!to.IsZero(), "target_branch", "does not exist")
	return bad.Err()
}

// checkTwin refuses a second open request from the same branch to the same branch.
func (s *Service) checkTwin(ctx context.Context, source project.ID, from string, target project.ID, to string) error {
	twin, err := db.Get[IID](ctx, s.DB, `SELECT m.iid FROM merge_requests m WHERE m.source_project_id = ? AND m.source_branch = ?
		AND m.target_project_id = ? AND m.target_branch = ? AND (m.state = 'opened' OR m.state = 'locked')`, source, from, target, to)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for an equal merge request: %w", err)
	}
	return errs.Sentences(errs.Conflict, "Another open merge request already exists for this source branch: "+twin.Reference())
}

// twin is checkTwin for when a row was in the way, which is otherwise that error: the transaction that
// wrote it may not have committed yet for those who only read.
func (s *Service) twin(ctx context.Context, source project.ID, from string, target project.ID, to string, otherwise error) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.checkTwin(ctx, source, from, target, to) })
	if err == nil {
		err = otherwise
	}
	return err
}

func checkText(bad *errs.Fields, title, description *string) {
	if title != nil {
		bad.Check(*title != "", "title", "can't be blank")
		bad.Check(utf8.RuneCountInString(*title) <= maxTitle, "title", "is too long (maximum is 255 characters)")
	}
	if description != nil {
		bad.Check(utf8.RuneCountInString(*description) <= maxDescription, "description", "is too long (maximum is 1048576 characters)")
	}
}

// build makes the row of a new request, without number and version.
func (s *Service) build(ctx context.Context, as authz.Actor, source, target *project.Project, in Input) (*MergeRequest, []label.Label, error) {
	now := db.At(s.Now())
	m := &MergeRequest{
		ProjectID: target.ID, SourceProjectID: &source.ID, TargetBranch: in.TargetBranch, SourceBranch: in.SourceBranch,
		AuthorID: as.UserID, Title: in.Title, Description: in.Description, State: StateOpened, Draft: IsDraft(in.Title),
		Squash:    target.SquashOption == project.SquashDefaultOn || target.SquashOption == project.SquashAlways,
		CreatedAt: now, UpdatedAt: now,
	}
	if in.Squash != nil {
		m.Squash = *in.Squash
	}
	if least := target.ApprovalsBeforeMerge; in.ApprovalsBeforeMerge != nil && least > 0 && *in.ApprovalsBeforeMerge > least {
		m.ApprovalsBeforeMerge = in.ApprovalsBeforeMerge
	}
	if in.AllowCollaboration {
		var err error
		if m.AllowCollaboration, err = s.collaborates(ctx, as, source, target, m.SourceBranch); err != nil {
			return nil, nil, err
		}
	}
	if in.RemoveSource != nil {
		may, err := s.Policy.Can(ctx, as, authz.PushCode, source.Subject())
		if err != nil {
			return nil, nil, err
		}
		if may {
			m.ForceRemoveSource = in.RemoveSource
		}
	}
	may, err := s.Policy.Can(ctx, as, authz.SetMergeRequestMetadata, target.Subject())
	if err != nil || !may {
		return m, nil, err
	}
	if m.Assignees, err = s.readers(ctx, target, in.Assignees); err != nil {
		return nil, nil, err
	}
	reviewers, err := s.readers(ctx, target, in.Reviewers)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range reviewers {
		m.Reviewers = append(m.Reviewers, Reviewer{UserID: id, State: unreviewed, CreatedAt: now})
	}
	if m.MilestoneID, err = s.Milestones.Chosen(ctx, target, in.MilestoneID); err != nil {
		return nil, nil, err
	}
	if m.MilestoneID != nil && *m.MilestoneID == 0 {
		m.MilestoneID = nil
	}
	labels, err := s.Labels.EnsureByNames(ctx, as, target.Place(), in.Labels)
	return m, labels, err
}

// insert writes the request with its first version and publishes that it was created.
func (s *Service) insert(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, labels []label.Label, people contributors) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		iid, err := namespace.NextIID(ctx, s.DB, p.NamespaceID, namespace.KindMergeRequest)
		if err != nil {
			return err
		}
		m.IID, m.VersionID = IID(iid), nil
		if err := db.Create(ctx, s.DB, "merge_requests", m); err != nil {
			return err
		}
		if m.HeadSHA != "" {
			if err := s.insertVersion(ctx, m, m.CreatedAt); err != nil {
				return err
			}
			if _, err := s.DB.Exec(ctx, "UPDATE merge_requests SET version_id = ? WHERE id = ?", m.VersionID, m.ID); err != nil {
				return fmt.Errorf("record version: %w", err)
			}
		}
		if err := s.storeContributors(ctx, m.ID, people); err != nil {
			return err
		}
		if err := s.addPeople(ctx, m); err != nil {
			return err
		}
		if err := s.Labels.Attach(ctx, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}, labels); err != nil {
			return err
		}
		if err := s.noteIssues(ctx, as, p, m); err != nil {
			return err
		}
		if m.testable() {
			if err := s.Jobs.Enqueue(ctx, runPipeline{RequestID: m.ID, UserID: as.UserID}); err != nil {
				return err
			}
		}
		made := *m
		made.Labels = label.With(nil, labels, nil)
		return s.Bus.Publish(ctx, Created{Fact{change.Created(as, s.Now(), p.Place(), &made), p}})
	})
	if db.Duplicate(err, "merge_requests", "source_project_id", "source_branch", "target_project_id", "target_branch") {
		err = s.twin(ctx, *m.SourceProjectID, m.SourceBranch, m.ProjectID, m.TargetBranch, err)
	}
	if refused, ok := errors.AsType[*errs.Error](err); ok {
		return refused
	}
	if err != nil {
		return fmt.Errorf("create merge request: %w", err)
	}
	m.Labels = label.With(nil, labels, nil)
	return nil
}

// insertVersion records the version that m's fields describe and makes it m's newest.
func (s *Service) insertVersion(ctx context.Context, m *MergeRequest, at db.Time) error {
	v := Version{
		MergeRequestID: m.ID, BaseSHA: m.BaseSHA, StartSHA: m.StartSHA, HeadSHA: m.HeadSHA,
		CommitsCount: m.CommitsCount, CreatedAt: at,
	}
	if m.ChangesCount != nil {
		v.ChangesCount = *m.ChangesCount
	}
	if err := db.Create(ctx, s.DB, "merge_request_versions", &v); err != nil {
		return fmt.Errorf("record version: %w", err)
	}
	m.VersionID = &v.ID
	return nil
}

// changed is what an event says of a change whose two states have labels and people.
func (s *Service) changed(as authz.Actor, p *project.Project, before, now *MergeRequest) Fact {
	return Fact{change.Between(as, s.Now(), p.Place(), before, now), p}
}

// fact is what an event says of a change of a request whose labels and people stay. It
// reads those, in the transaction of ctx.
func (s *Service) fact(ctx context.Context, as authz.Actor, p *project.Project, c db.Change[MergeRequest]) (Fact, error) {
	now, before := c.After, c.Before
	if err := s.attach(ctx, []*MergeRequest{&now}); err != nil {
		return Fact{}, err
	}
	before.Assignees, before.Reviewers, before.Labels = now.Assignees, now.Reviewers, now.Labels
	return s.changed(as, p, &before, &now), nil
}
