package issue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Accounts   *account.Service
	Labels     *label.Service
	Milestones *milestone.Service
	Iterations *iteration.Service
	Projects   *project.Service
	Times      *timelog.Service
	Limits     *limit.Service
	Now        func() time.Time
	URLs       *weburl.Site
}

// Service reads and changes issues.
type Service struct {
	Deps

	above Above
}

// MergeRequests are the merge requests that close issues.
type MergeRequests interface {
	// Subjects returns the permission subjects of those that the actor may read.
	Subjects(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]authz.Subject, error)
}

// Subscriptions are those of users to issues.
type Subscriptions interface {
	// Of says which of the things the actor is subscribed to.
	Of(ctx context.Context, as authz.Actor, things ...noteable.Ref) (map[noteable.Ref]bool, error)
}

// Discussions are those of merge requests that new issues follow up.
type Discussions interface {
	// FollowUp returns the description of an issue that follows up threads, "" where the actor
	// resolves none of them.
	FollowUp(ctx context.Context, as authz.Actor, p *project.Project, of Threads) (string, error)
}

// Above is what is above issues.
type Above struct {
	MergeRequests MergeRequests
	Epics         Epics
	Subscriptions Subscriptions
	Commands      noteable.Commands
	Discussions   Discussions
}

// Connect gives the service what is above it.
func (s *Service) Connect(a Above) { s.above = a }

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// require asks for permission to look at a place's issues.
func (s *Service) require(ctx context.Context, as authz.Actor, in authz.Place) error {
	switch {
	case in.IsInstance():
		return s.Policy.Require(ctx, as, authz.ListOwnIssues, authz.Subject{})
	default:
		return s.Policy.Require(ctx, as, in.Ability(authz.ReadIssue, authz.ReadGroup), in.Subject)
	}
}

// List returns a page of the issues of a place that the actor may read. Issues of
// everywhere are for signed-in actors.
func (s *Service) List(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (page.Page[Issue], error) {
	if err := s.require(ctx, as, in); err != nil {
		return page.Page[Issue]{}, err
	}
	if err := s.Limits.CheckSearch(as, f.Search); err != nil {
		return page.Page[Issue]{}, err
	}
	issues, err := s.list(ctx, as, in, f)
	if err != nil {
		return issues, fmt.Errorf("list issues: %w", err)
	}
	return issues, nil
}

// Statistics counts the issues of a place that the actor may read by state; the state of
// the filter is ignored.
func (s *Service) Statistics(ctx context.Context, as authz.Actor, in authz.Place, f Filter) (Statistics, error) {
	if err := s.require(ctx, as, in); err != nil {
		return Statistics{}, err
	}
	out, err := s.counts(ctx, as, in, f)
	if err != nil {
		return Statistics{}, fmt.Errorf("count issues: %w", err)
	}
	return out, nil
}

// Find returns the issue with a number in a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*Issue, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadIssue, p.Subject()); err != nil {
		return nil, err
	}
	i, err := s.one(ctx, as, p, "i.iid = ?", iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadIssue, i.subject(as, p)); err != nil {
		return nil, err
	}
	return i, nil
}

// FindAny returns the issue with an id, wherever it is. It is for administrators. The
// project is the caller's to look up.
func (s *Service) FindAny(ctx context.Context, as authz.Actor, id ID) (*Issue, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadAnyIssue, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.read(ctx, as, "i.notes_count", "i.id = ?", id)
}

// one reads an issue of a project with everything that hangs on it.
func (s *Service) one(ctx context.Context, as authz.Actor, p *project.Project, cond string, arg any) (*Issue, error) {
	sc := s.within(as, p.Place(), Filter{})
	return s.read(ctx, as, sc.notes, "i.project_id = ? AND "+cond, p.ID, arg)
}

func (s *Service) read(ctx context.Context, as authz.Actor, notes, cond string, args ...any) (*Issue, error) {
	rows, err := db.Select[Issue](ctx, s.DB, "SELECT "+columns+", "+notes+" AS user_notes_count FROM issues i WHERE "+cond, args...)
	if err == nil {
		err = s.fill(ctx, as, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("find issue: %w", err)
	}
	if len(rows) == 0 {
		return nil, errs.Missing("")
	}
	return &rows[0], nil
}

// Create makes an issue, gives it the project's next number and runs the quick actions of its description.
// One without a description that follows up threads lists them.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Issue, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateIssue, p.Subject()); err != nil {
		return nil, err
	}
	if err := s.Limits.Check(limit.IssuesCreate, as); err != nil {
		return nil, err
	}
	return s.open(ctx, as, p, in)
}

// open is Create for an actor who may, and was counted.
func (s *Service) open(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Issue, error) {
	if in.Description == nil && in.Resolves.Request != 0 {
		text, err := s.above.Discussions.FollowUp(ctx, as, p, in.Resolves)
		if err != nil {
			return nil, err
		}
		if text != "" {
			in.Description = &text
		}
		return s.create(ctx, as, p, in)
	}
	run := noteable.Cut(s.above.Commands, noteable.Issue, &in.Description)
	i, err := s.create(ctx, as, p, in)
	if err != nil || run == nil {
		return i, err
	}
	return s.command(ctx, as, p, i.IID, run)
}

// command runs the quick actions of a description on the issue that has it, and returns it as it is then.
func (s *Service) command(ctx context.Context, as authz.Actor, p *project.Project, iid IID, run noteable.Run) (*Issue, error) {
	if err := run.On(ctx, as, s, p.Place(), noteable.Key{Number: int64(iid)}); err != nil {
		return nil, err
	}
	return s.Find(ctx, as, p, iid)
}

// create makes an issue whose description has no quick actions.
func (s *Service) create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Issue, error) {
	owner, err := s.Policy.Can(ctx, as, authz.SetIssueNumber, p.Subject())
	if err != nil {
		return nil, err
	}
	if !owner {
		in.IID, in.CreatedAt = 0, nil
	}
	now := s.Now()
	i := newIssue(as, p, in, now)
	if err := i.validate(); err != nil {
		return nil, err
	}
	if i.Assignees, err = s.assignable(ctx, p, in.AssigneeIDs); err != nil {
		return nil, err
	}
	if i.MilestoneID, err = s.Milestones.Chosen(ctx, p, in.MilestoneID); err != nil {
		return nil, err
	}
	if i.MilestoneID != nil && *i.MilestoneID == 0 {
		i.MilestoneID = nil
	}
	if i.IterationID, err = s.Iterations.Chosen(ctx, p, in.IterationID); err != nil {
		return nil, err
	}
	if i.IterationID != nil && *i.IterationID == 0 {
		i.IterationID = nil
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		i.Epic = nil
		if err := s.number(ctx, p, i, in.IID); err != nil {
			return err
		}
		if err := s.insert(ctx, i); err != nil {
			return err
		}
		labels, err := s.Labels.EnsureByNames(ctx, as, p.Place(), in.Labels)
		if err != nil {
			return err
		}
		slices.SortFunc(labels, label.ByTitle)
		i.Labels = labels
		if err := s.Labels.Attach(ctx, i.Ref(), labels); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Created{Fact: Fact{change.Created(as, now, p.Place(), i), p}, Resolves: in.Resolves}); err != nil || in.Epic == (EpicChoice{}) {
			return err
		}
		return s.above.Epics.Assign(ctx, as, p, i, in.Epic)
	})
	if db.Duplicate(err, "issues") {
		return nil, errs.New(errs.Conflict, "Duplicated issue")
	}
	if err != nil {
		return nil, fmt.Errorf("create issue: %w", err)
	}
	return i, nil
}

// newIssue is the issue that an input describes, without what other tables have of it.
func newIssue(as authz.Actor, p *project.Project, in Input, now time.Time) *Issue {
	i := &Issue{
		ProjectID: p.ID, AuthorID: as.UserID, Title: in.Title, State: StateOpened, Type: Plain, Severity: SeverityUnknown,
		Position: positionAt(now), CreatedAt: db.At(now), UpdatedAt: db.At(now),
	}
	db.Assign(i, &in)
	if as.Agent != "" {
		i.UserAgent, i.UserAddress = &as.Agent, &as.Address
	}
	if in.CreatedAt != nil {
		i.CreatedAt = db.At(*in.CreatedAt)
	}
	return i
}

// number gives an issue the chosen number, or where that is 0 the next of the project.
func (s *Service) number(ctx context.Context, p *project.Project, i *Issue, chosen IID) error {
	if chosen > 0 {
		i.IID = chosen
		return namespace.RaiseIID(ctx, s.DB, p.NamespaceID, namespace.KindIssue, int64(chosen))
	}
	iid, err := namespace.NextIID(ctx, s.DB, p.NamespaceID, namespace.KindIssue)
	i.IID = IID(iid)
	return err
}

// Delete removes an issue with everything that hangs on it. It returns
// PreconditionFailed where the condition of the request does not hold.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, iid IID) error {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteIssue, i.subject(as, p)); err != nil {
		return err
	}
	return s.remove(ctx, as, i, p)
}

// remove deletes an issue of a project; only its number and path count.
func (s *Service) remove(ctx context.Context, as authz.Actor, i *Issue, p *project.Project) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		row := s.row(as, p, i.ID).Provided(as.UnmodifiedAt)
		row.Missing = errs.Missing("")
		_, err := db.Delete(ctx, s.DB, row, func(ctx context.Context, now *Issue) error { // handlers run while the row is there
			now.Labels, now.Assignees = i.Labels, i.Assignees
			if err := s.Bus.Publish(ctx, Deleted{Fact{change.Deleted(as, s.Now(), p.Place(), now), p}}); err != nil {
				return err
			}
			return s.Labels.Detach(ctx, i.Ref())
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("delete issue: %w", err)
	}
	return nil
}

// Ref names the issue for labels and notes.
func (i *Issue) Ref() noteable.Ref { return noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)} }
