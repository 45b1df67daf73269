package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// Verdict is what a user has decided of a deployment.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	Rejected Verdict = "rejected"
)

// Approval is one row.
type Approval struct {
	ID           int64        `db:"id"`
	DeploymentID ID           `db:"deployment_id"`
	UserID       authz.UserID `db:"user_id"`
	RuleID       *int64       `db:"rule_id"` // that the user has chosen, nil for all that name the user
	Status       Verdict      `db:"status"`
	Comment      *string      `db:"comment"`
	CreatedAt    db.Time      `db:"created_at"`
	UpdatedAt    db.Time      `db:"updated_at"`

	User *account.Summary `db:"-" change:"-"`
}

// About names it for events.
func (a Approval) About() change.Subject {
	return change.Subject{Type: "Deployments::Approval", ID: a.ID}
}

// DeploymentReviewed is published when a user approved or rejected a deployment.
type DeploymentReviewed struct{ change.Of[Approval] }

// Review is what a user decides of a deployment.
type Review struct {
	Status Verdict
	Comment,
	RepresentedAs string // name of a role, a user or a group of an approval rule; "" for all rules that name the user
}

// RuleView is an approval rule with those who approved by it.
type RuleView struct {
	protection.EnvironmentLevel

	Approvals []Approval
}

// ApprovalView is what a deployment waits for.
type ApprovalView struct {
	Pending   int64
	Approvals []Approval
	Rules     []RuleView
}

const maxComment = 255

var approvalColumns = db.Columns[Approval]("a")

// mayDeploy refuses actors who may not deploy by the protection of an environment.
func (s *Service) mayDeploy(ctx context.Context, as authz.Actor, p *project.Project, name string) error {
	may, err := s.Protections.MayDeploy(ctx, as, p, name, ci.EnvironmentTier(name))
	if err == nil && !may {
		err = errs.Denied("")
	}
	return err
}

// mayMove refuses actors who may not deploy to environments of a tier that an environment is to have.
func (s *Service) mayMove(ctx context.Context, as authz.Actor, p *project.Project, to Tier) error {
	rules, err := s.Protections.TierRules(ctx, p, string(to))
	if err != nil {
		return err
	}
	may, err := s.Protections.Lets(ctx, as, p, rules)
	if err == nil && !may {
		err = errs.Denied("")
	}
	return err
}

// mayDeployTo is mayDeploy for an environment by its id.
func (s *Service) mayDeployTo(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID) error {
	e, err := s.findEnvironment(ctx, p, id)
	if err != nil {
		return err
	}
	return s.mayDeploy(ctx, as, p, e.Name)
}

// rules are what protects an environment, with the approval rules of all, and the most approvals that one of them without approval rules requires.
func (s *Service) rules(ctx context.Context, p *project.Project, e *Environment) ([]protection.ProtectedEnvironment, []protection.EnvironmentLevel, int64, error) {
	list, err := s.Protections.EnvironmentRules(ctx, p, e.Name, string(e.Tier))
	var levels []protection.EnvironmentLevel
	required := int64(0)
	for i := range list {
		levels = append(levels, list[i].Approvals...)
		if len(list[i].Approvals) == 0 {
			required = max(required, list[i].RequiredApprovals)
		}
	}
	return list, levels, required, err
}

func (s *Service) approvals(ctx context.Context, id ID) ([]Approval, error) {
	return db.Select[Approval](ctx, s.DB, "SELECT "+approvalColumns+" FROM deployment_approvals a WHERE a.deployment_id = ? ORDER BY a.id", id)
}

// state compares approvals with what rules ask for.
func (s *Service) state(ctx context.Context, p *project.Project, list []Approval, levels []protection.EnvironmentLevel, required int64) (*ApprovalView, error) {
	out := &ApprovalView{Approvals: list, Rules: make([]RuleView, len(levels))}
	approved := int64(0)
	for i, l := range levels {
		out.Rules[i].EnvironmentLevel = l
	}
	ids := make([]authz.UserID, len(list))
	for i := range list {
		ids[i] = list[i].UserID
	}
	admins := map[authz.UserID]bool{}
	if len(levels) > 0 && len(ids) > 0 {
		marks, args := db.Marks(ids)
		found, err := db.Select[authz.UserID](ctx, s.DB, "SELECT u.id FROM users u WHERE u.admin AND u.id IN ("+marks+") ORDER BY u.id", args...)
		if err != nil {
			return nil, fmt.Errorf("administrators among approvers: %w", err)
		}
		for _, id := range found {
			admins[id] = true
		}
	}
	for _, a := range list {
		if a.Status == Approved {
			approved++
		}
		matched, err := s.Protections.Matched(ctx, authz.Actor{UserID: a.UserID, Admin: admins[a.UserID]}, p, levels)
		if err != nil {
			return nil, err
		}
		for i := range out.Rules {
			r := &out.Rules[i]
			if slices.ContainsFunc(matched, func(l protection.EnvironmentLevel) bool { return l.ID == r.ID }) && (a.RuleID == nil || *a.RuleID == r.ID) {
				r.Approvals = append(r.Approvals, a)
			}
		}
	}
	out.Pending = max(required-approved, 0)
	for _, r := range out.Rules {
		has := int64(0)
		for _, a := range r.Approvals {
			if a.Status == Approved {
				has++
			}
		}
		out.Pending += max(*r.EnvironmentLevel.Approvals-has, 0)
	}
	return out, nil
}

// ApprovalsOf returns what a deployment that was read for the caller waits for.
func (s *Service) ApprovalsOf(ctx context.Context, as authz.Actor, p *project.Project, d *Deployment) (*ApprovalView, error) {
	if err := s.readable(ctx, as, p); err != nil {
		return nil, err
	}
	e, err := s.findEnvironment(ctx, p, d.EnvironmentID)
	if err != nil {
		return nil, err
	}
	_, levels, required, err := s.rules(ctx, p, e)
	if err != nil {
		return nil, err
	}
	list, err := s.approvals(ctx, d.ID)
	if err != nil {
		return nil, fmt.Errorf("approvals of deployment: %w", err)
	}
	ids := make([]authz.UserID, len(list))
	for i := range list {
		ids[i] = list[i].UserID
	}
	if len(ids) > 0 {
		people, err := s.Accounts.ByIDs(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].User = people[list[i].UserID]
		}
	}
	out, err := s.state(ctx, p, list, levels, required)
	if err != nil {
		return nil, err
	}
	if d.Approved || d.State.Complete() {
		out.Pending = 0
	}
	return out, nil
}

// chosen is the rule that a review names, nil where it names none.
func (s *Service) chosen(ctx context.Context, as string, matched []protection.EnvironmentLevel) (*int64, error) {
	if as == "" {
		return nil, nil
	}
	for _, l := range matched {
		name := ""
		switch {
		case l.Level != nil:
			name = protection.LevelWords(*l.Level)
		case l.GroupID != nil:
			names, err := s.Namespaces.Names(ctx, []authz.NamespaceID{*l.GroupID})
			if err != nil {
				return nil, err
			}
			name = names[*l.GroupID]
		case l.UserID != nil:
			people, err := s.Accounts.ByIDs(ctx, []authz.UserID{*l.UserID})
			if err != nil {
				return nil, err
			}
			if u := people[*l.UserID]; u != nil {
				name = u.Name
			}
		}
		if strings.EqualFold(name, as) {
			return new(l.ID), nil
		}
	}
	return nil, errNotApprover
}

var (
	errNotProtected = errs.Plain("This environment is not protected")
	errNotApprover  = errs.Plain("You do not have permission to approve or reject this deployment")
	errNotWaiting   = errs.Plain("This deployment job is not waiting for approvals")
	errSameUser     = errs.Plain("The same user can not approve")
)

// Review approves or rejects a deployment that waits for it: the last approval lets its job run, a rejection ends it. A user who decides again changes
// the decision. It requires ApproveDeployment, and that an approval rule names the actor, or where approvals without a rule are required that the actor may deploy.
func (s *Service) Review(ctx context.Context, as authz.Actor, p *project.Project, id ID, r Review) (*Approval, error) {
	if err := s.Policy.Require(ctx, as, authz.ApproveDeployment, subject(p)); err != nil {
		return nil, err
	}
	d, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if r.Status != Approved && r.Status != Rejected {
		return nil, errs.Broken("", "status", "is invalid")
	}
	var f errs.Fields
	f.Length("comment", &r.Comment, maxComment)
	if err := f.Err(); err != nil {
		return nil, err
	}
	e, err := s.findEnvironment(ctx, p, d.EnvironmentID)
	if err != nil {
		return nil, err
	}
	list, levels, required, err := s.rules(ctx, p, e)
	if err != nil {
		return nil, err
	}
	if !protection.NeedsApproval(list) {
		return nil, errNotProtected
	}
	matched, err := s.Protections.Matched(ctx, as, p, levels)
	if err != nil {
		return nil, err
	}
	if len(matched) == 0 {
		may := false
		if required > 0 {
			if may, err = s.Protections.Lets(ctx, as, p, list); err != nil {
				return nil, err
			}
		}
		if !may {
			return nil, errNotApprover
		}
	}
	rule, err := s.chosen(ctx, r.RepresentedAs, matched)
	if err != nil {
		return nil, err
	}
	if r.Status == Approved && d.UserID != nil && *d.UserID == as.UserID && !p.Settings().AllowPipelineTriggerApproveDeploy {
		return nil, errSameUser
	}
	var out *Approval
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err = s.review(ctx, as, p, d, &Approval{UserID: as.UserID, RuleID: rule, Status: r.Status, Comment: text(r.Comment)}, asked{levels, required})
		return err
	})
	if err != nil {
		return nil, errs.Wrap(err, "review deployment")
	}
	people, err := s.Accounts.ByIDs(ctx, []authz.UserID{as.UserID})
	if err != nil {
		return nil, err
	}
	out.User = people[as.UserID]
	return out, nil
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// asked is what an environment asks for before a deployment.
type asked struct {
	levels   []protection.EnvironmentLevel // approval rules
	required int64                         // of anyone who may deploy
}

// review writes a decision, and lets the job of the deployment go on or end. The pipeline is locked before the deployment, as by whatever changes a job.
func (s *Service) review(ctx context.Context, as authz.Actor, p *project.Project, d *Deployment, a *Approval, of asked) (*Approval, error) {
	if d.JobID != nil {
		if err := s.CI.Gate().LockJob(ctx, *d.JobID); err != nil {
			return nil, err
		}
	}
	now, err := db.ForUpdate[Deployment](ctx, s.DB, s.row(p, d.ID))
	if err != nil {
		return nil, err
	}
	if now.State != Blocked || now.Approved || now.JobID == nil {
		return nil, errNotWaiting
	}
	list, err := s.approvals(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	at := db.At(s.Now())
	if i := slices.IndexFunc(list, func(b Approval) bool { return b.UserID == a.UserID }); i >= 0 {
		out, err := db.Update(ctx, s.DB, db.Row{Table: "deployment_approvals", ID: list[i].ID, Now: s.Now}, func(_ context.Context, row *Approval) error {
			row.RuleID, row.Status, row.Comment = a.RuleID, a.Status, a.Comment
			return nil
		})
		if err != nil {
			return nil, err
		}
		list[i] = out.After
		if !out.Any() {
			return &list[i], nil // the same again
		}
		*a = out.After
	} else {
		a.DeploymentID, a.CreatedAt, a.UpdatedAt = d.ID, at, at
		if err := db.Create(ctx, s.DB, "deployment_approvals", a); err != nil {
			return nil, err
		}
		list = append(list, *a)
	}
	if err := s.Bus.Publish(ctx, DeploymentReviewed{change.Created(as, s.Now(), p.Place(), a)}); err != nil {
		return nil, err
	}
	if a.Status == Rejected {
		return a, s.CI.Gate().Reject(ctx, as, p, *now.JobID)
	}
	view, err := s.state(ctx, p, list, of.levels, of.required)
	if err != nil || view.Pending > 0 {
		return a, err
	}
	if _, err := s.change(ctx, as, p, s.row(p, d.ID), func(d *Deployment) error {
		d.Approved = true
		return nil
	}); err != nil {
		return nil, err
	}
	return a, s.CI.Gate().Approve(ctx, as, p, *now.JobID)
}
