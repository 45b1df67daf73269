package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
)

// Changes are those of Update; nil leaves alone. What has a tag is stored in its column.
type Changes struct {
	Title              *string `db:"title"`
	Description        *string `db:"description"`
	TargetBranch       *string `db:"target_branch"`
	Assignees          *[]authz.UserID
	Reviewers          *[]authz.UserID
	Labels             label.Assignment
	MilestoneID        *milestone.ID `db:"milestone_id" empty:"null"` // one that the project cannot use is left out
	DiscussionLocked   *bool         `db:"discussion_locked"`
	RemoveSource       *bool         `db:"force_remove_source_branch"`
	Squash             *bool         `db:"squash"`
	AllowCollaboration *bool         `db:"allow_collaboration"` // of a fork
	Time               timelog.Change
	Event              Event // "" for none

	// Strict refuses what the actor may not change, in place of leaving it alone.
	Strict bool

	targetDeleted bool // TargetBranch replaces a branch that was deleted
}

// metadata reports whether something is asked for that needs SetMergeRequestMetadata.
func (c *Changes) metadata() bool {
	return c.Assignees != nil || c.Reviewers != nil || c.DiscussionLocked != nil || !c.Labels.Empty() || c.MilestoneID != nil || c.Time != (timelog.Change{})
}

// Event asks for a change of state.
type Event string

// The events of state_event.
const (
	Close  Event = "close"
	Reopen Event = "reopen"
)

// Update changes a request. It requires UpdateMergeRequest; labels, milestone, people and the lock
// on discussions change only for those with SetMergeRequestMetadata and are left alone
// for others, unless c.Strict says otherwise. A change of state that is impossible is left out as well.
// The quick actions of a new description run at the end.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, iid IID, c Changes) (*MergeRequest, error) {
	run := noteable.Cut(s.above.Commands, noteable.MergeRequest, &c.Description)
	m, err := s.update(ctx, as, p, iid, c)
	if err != nil || run == nil {
		return m, err
	}
	return s.command(ctx, as, p, iid, run)
}

// update is Update for a description without quick actions.
func (s *Service) update(ctx context.Context, as authz.Actor, p *project.Project, iid IID, c Changes) (*MergeRequest, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.requireOn(ctx, as, authz.UpdateMergeRequest, p, m); err != nil {
		return nil, err
	}
	if c.Strict && c.metadata() {
		if err := s.Policy.Require(ctx, as, authz.SetMergeRequestMetadata, p.Subject()); err != nil {
			return nil, err
		}
	}
	if err := s.checkUpdate(ctx, p, m, &c); err != nil {
		return nil, err
	}
	if err := s.checkFork(ctx, as, p, m, &c); err != nil {
		return nil, err
	}
	may, err := s.Policy.Can(ctx, as, authz.SetMergeRequestMetadata, p.Subject())
	if err != nil {
		return nil, err
	}
	if !may {
		c.Assignees, c.Reviewers, c.DiscussionLocked, c.Labels, c.MilestoneID = nil, nil, nil, label.Assignment{}, nil
		c.Time = timelog.Change{}
	}
	if c.MilestoneID, err = s.Milestones.Chosen(ctx, p, c.MilestoneID); err != nil {
		return nil, err
	}
	for _, people := range []*[]authz.UserID{c.Assignees, c.Reviewers} {
		if people == nil {
			continue
		}
		if *people, err = s.readers(ctx, p, *people); err != nil {
			return nil, err
		}
	}
	if err := s.store(ctx, as, p, m, c); err != nil {
		return nil, err
	}
	// Branches may have moved while the request was closed, or are others now.
	return s.Read(ctx, as, p, iid)
}

// checkUpdate judges the changes before anything is written.
func (s *Service) checkUpdate(ctx context.Context, p *project.Project, m *MergeRequest, c *Changes) error {
	if c.TargetBranch != nil && !m.Fork() && *c.TargetBranch == m.SourceBranch {
		return errSameBranch
	}
	var bad errs.Fields
	if c.Title != nil {
		c.Title = new(strings.TrimSpace(*c.Title))
	}
	checkText(&bad, c.Title, c.Description)
	if c.TargetBranch != nil {
		_, err := gitstore.BranchRef(*c.TargetBranch)
		bad.Check(err == nil, "target_branch", "is invalid")
	}
	for name, people := range map[string]*[]authz.UserID{"assignees": c.Assignees, "reviewers": c.Reviewers} {
		bad.Check(people == nil || len(*people) <= maxPeople, name, "total must be less than or equal to 200")
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if m.SourceProjectID == nil {
		return nil
	}
	target := c.target(m)
	reopens := c.Event == Reopen && m.State == StateClosed
	if reopens || (m.State == StateOpened && target != m.TargetBranch) {
		return s.checkTwin(ctx, *m.SourceProjectID, m.SourceBranch, p.ID, target)
	}
	return nil
}

// target is the branch that m is to go to once the changes are made.
func (c *Changes) target(m *MergeRequest) string {
	if c.TargetBranch != nil {
		return *c.TargetBranch
	}
	return m.TargetBranch
}

// checkFork refuses to reopen a request whose fork or source branch is gone, and lets only who
// may push to a fork's branch open it to others.
func (s *Service) checkFork(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, c *Changes) error {
	reopens, opens := c.Event == Reopen && m.State == StateClosed, c.AllowCollaboration != nil && *c.AllowCollaboration
	if !reopens && !opens {
		return nil
	}
	source, err := s.source(ctx, p, m)
	if err != nil {
		return err
	}
	if reopens {
		if err := requireRelated(source, p); err != nil {
			return err
		}
		if tip, err := s.tip(ctx, source, m.SourceBranch); err != nil {
			return err
		} else if tip.IsZero() {
			return errNoSource(m.SourceBranch)
		}
	}
	if opens {
		may, err := s.collaborates(ctx, as, source, p, m.SourceBranch)
		if err != nil {
			return err
		}
		if !may {
			c.AllowCollaboration = nil
		}
	}
	return nil
}

// store writes the changes over the row as it is inside the transaction, so that two
// updates at once keep both their changes.
func (s *Service) store(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, c Changes) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var u updated
		out, err := db.Update(ctx, s.DB, s.row(m.ID).Provided(as.UnmodifiedAt), func(ctx context.Context, m *MergeRequest) error {
			u = updated{}
			return s.apply(ctx, as, p, m, c, &u)
		})
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		}
		if err != nil || u.nothing() {
			return err
		}
		return s.announce(ctx, as, p, &out.After, &u, c.targetDeleted)
	})
	if db.Duplicate(err, "merge_requests", "source_project_id", "source_branch", "target_project_id", "target_branch") {
		err = s.twin(ctx, *m.SourceProjectID, m.SourceBranch, p.ID, c.target(m), err)
	}
	var known *errs.Error
	switch {
	case errors.As(err, &known):
		return err
	case err != nil:
		return fmt.Errorf("update merge request: %w", err)
	}
	return nil
}

// updated is what an update has changed of a row.
type updated struct {
	before MergeRequest // with labels and people
	spent  timelog.Diff
	other  bool  // something but the state
	state  Event // "" where the state is the same
}

func (u *updated) nothing() bool { return !u.other && u.state == "" }

// apply makes the changes in the locked row m, and in the tables of what hangs on it.
func (s *Service) apply(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, c Changes, u *updated) error {
	if err := s.attach(ctx, []*MergeRequest{m}); err != nil {
		return err
	}
	u.before = *m
	if err := s.assign(ctx, as, p, m, c); err != nil {
		return err
	}
	m.set(c)
	var err error
	if u.spent, err = s.Times.Apply(ctx, as, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}, &m.Totals, c.Time); err != nil {
		return err
	}
	u.other = change.HasOther(&u.before, m) || !u.spent.Empty()
	if u.state = m.move(c.Event, as); u.nothing() {
		return nil
	}
	m.UpdatedAt = s.stamp()
	if as.SignedIn() {
		m.UpdatedByID = &as.UserID
		if change.Has(&u.before, m, "title", "description") {
			m.LastEditedAt, m.LastEditedByID = &m.UpdatedAt, &as.UserID
		}
	}
	if m.State == StateClosed && m.ClosedAt == nil {
		m.ClosedAt = &m.UpdatedAt
	}
	return nil
}

// announce publishes what an update has made of m, in its transaction.
func (s *Service) announce(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, u *updated, targetDeleted bool) error {
	f := s.changed(as, p, &u.before, m)
	if f.Has("title", "description", "target_branch") {
		if err := s.noteIssues(ctx, as, p, m); err != nil {
			return err
		}
	}
	if u.other {
		if err := s.Bus.Publish(ctx, Updated{Fact: f, TargetDeleted: targetDeleted && f.Has("target_branch"), Time: u.spent}); err != nil {
			return err
		}
	}
	if err := s.publishState(ctx, f, u.state); err != nil {
		return err
	}
	if reason := u.stops(m); reason != "" {
		return s.abort(ctx, as, p, m, reason)
	}
	return nil
}

// stops says why an update ends the wish to merge m by itself, "" where it does not.
func (u *updated) stops(m *MergeRequest) string {
	switch {
	case !m.MergeWhenPipelineSucceeds:
		return ""
	case u.state == Close:
		return abortClosed
	case m.TargetBranch != u.before.TargetBranch:
		return abortTarget
	case m.Draft && !u.before.Draft:
		return abortDraft
	}
	return ""
}

// set applies the changes of columns to m.
func (m *MergeRequest) set(c Changes) {
	if c.Description != nil && *c.Description == m.Text() {
		c.Description = nil
	}
	if m.State == StateMerged || m.State == StateLocked {
		c.TargetBranch = nil
	}
	if !m.Fork() {
		c.AllowCollaboration = nil
	}
	before := *m
	db.Assign(m, &c)
	if m.Title != before.Title {
		m.Draft = IsDraft(m.Title)
	}
	if m.TargetBranch != before.TargetBranch {
		// The newest version compares with another branch: the next look makes a new one.
		m.BaseSHA, m.StartSHA, m.TrialResult = "", "", ""
	}
}

// Locked reports whether only members may discuss the merge request.
func (m *MergeRequest) Locked() bool { return m.DiscussionLocked != nil && *m.DiscussionLocked }

// move applies a change of state where it is possible and returns it.
func (m *MergeRequest) move(e Event, as authz.Actor) Event {
	switch {
	case e == Close && m.State == StateOpened:
		m.State = StateClosed
		m.ClosedByID = &as.UserID
		if !as.SignedIn() {
			m.ClosedByID = nil
		}
		return Close
	case e == Reopen && m.State == StateClosed:
		m.State, m.ClosedByID, m.ClosedAt = StateOpened, nil, nil
		return Reopen
	}
	return ""
}

func (s *Service) publishState(ctx context.Context, f Fact, state Event) error {
	switch state {
	case Close:
		return s.Bus.Publish(ctx, Closed{f})
	case Reopen:
		return s.Bus.Publish(ctx, Reopened{f})
	}
	return nil
}

// prefix is where the references of one request live.
func (m *MergeRequest) prefix() string {
	return strings.Join([]string{"refs/merge-requests", decimal(int64(m.IID)), ""}, "/")
}
