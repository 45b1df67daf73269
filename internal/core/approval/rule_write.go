package approval

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

const (
	maxName     = 255
	maxRequired = 100 // approvals
	maxRules    = 100 // of a project, or of a merge request
	maxPeople   = 500 // users of a rule, and groups
)

// Ruling is what a rule is made of, or what changes of it; nil leaves alone.
type Ruling struct {
	Name         *string
	Required     *int64
	Type         RuleType // "" is that of the name and of who is named; of a new rule alone
	ReportType   *string
	Users        *[]authz.UserID // those who cannot be in the rule are left out
	Usernames    *[]string       // beside Users
	Groups       *[]authz.NamespaceID
	Branches     *[]protection.RuleID
	AllProtected *bool
	Source       RuleID // the project's rule that a merge request's is made of; 0 for none
	RemoveHidden bool   // drop groups that the actor may not see
}

// RuleCreated is published when a rule was made.
type RuleCreated struct{ change.Of[Rule] }

// RuleUpdated is published when a rule changed.
type RuleUpdated struct{ change.Of[Rule] }

// RuleDeleted is published when a rule was deleted.
type RuleDeleted struct{ change.Of[Rule] }

// scope is where rules stand: a project, or one of its merge requests.
type scope struct {
	p *project.Project
	m *mergerequest.MergeRequest // nil for the rules of the project
}

// of selects the rules of the scope.
func (o scope) of() db.Where {
	var w db.Where
	if o.m != nil {
		w.And("r.merge_request_id = ?", o.m.ID)
	} else {
		w.And("r.project_id = ?", o.p.ID)
	}
	return w
}

// Rules lists the rules of a project. It requires ReadApprovalRules.
func (s *Service) Rules(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[*Rule], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadApprovalRules, p.Subject()); err != nil {
		return page.Page[*Rule]{}, err
	}
	return s.listRules(ctx, scope{p: p}, r)
}

func (s *Service) listRules(ctx context.Context, o scope, r page.Range) (page.Page[*Rule], error) {
	q := page.Query{Columns: db.Columns[Rule]("r"), From: "approval_rules r", Where: o.of(), Order: page.Order{page.ID("r.id")}}
	list, err := page.Select[Rule](ctx, s.DB, q, r)
	if err != nil {
		return page.Page[*Rule]{}, fmt.Errorf("list approval rules: %w", err)
	}
	out := page.Map(list, func(r *Rule) *Rule { return r })
	if err := s.attach(ctx, out.Items); err != nil {
		return out, err
	}
	return out, s.readSources(ctx, out.Items)
}

// readSources reads the rules that rules of merge requests were made of.
func (s *Service) readSources(ctx context.Context, rules []*Rule) error {
	var ids []RuleID
	for _, r := range rules {
		if r.SourceID != nil {
			ids = append(ids, *r.SourceID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var w db.Where
	w.In("r.id", ids)
	sources, err := s.rules(ctx, w)
	if err != nil {
		return err
	}
	for _, r := range rules {
		for _, source := range sources {
			if r.SourceID != nil && *r.SourceID == source.ID {
				r.Source = source
			}
		}
	}
	return nil
}

// Rule returns one rule of a project. It requires ReadApprovalRules.
func (s *Service) Rule(ctx context.Context, as authz.Actor, p *project.Project, id RuleID) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadApprovalRules, p.Subject()); err != nil {
		return nil, err
	}
	return s.findRule(ctx, scope{p: p}, id)
}

func (s *Service) findRule(ctx context.Context, o scope, id RuleID) (*Rule, error) {
	w := o.of()
	w.And("r.id = ?", id)
	found, err := s.rules(ctx, w)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errs.Missing("")
	}
	return found[0], s.readSources(ctx, found)
}

// CreateRule makes a rule of a project. It requires AdminApprovalSettings.
func (s *Service) CreateRule(ctx context.Context, as authz.Actor, p *project.Project, in Ruling) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminApprovalSettings, p.Subject()); err != nil {
		return nil, err
	}
	return s.create(ctx, as, scope{p: p}, in)
}

// UpdateRule changes a rule of a project. It requires AdminApprovalSettings.
func (s *Service) UpdateRule(ctx context.Context, as authz.Actor, p *project.Project, id RuleID, in Ruling) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminApprovalSettings, p.Subject()); err != nil {
		return nil, err
	}
	return s.update(ctx, as, scope{p: p}, id, in)
}

// DeleteRule deletes a rule of a project. It requires AdminApprovalSettings.
func (s *Service) DeleteRule(ctx context.Context, as authz.Actor, p *project.Project, id RuleID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminApprovalSettings, p.Subject()); err != nil {
		return err
	}
	return s.remove(ctx, as, scope{p: p}, id)
}

// create makes a rule for an actor who may.
func (s *Service) create(ctx context.Context, as authz.Actor, o scope, in Ruling) (*Rule, error) {
	now := db.At(s.Now())
	r := &Rule{Type: Regular, CreatedAt: now, UpdatedAt: now}
	if o.m != nil {
		r.RequestID = &o.m.ID
		if in.Source != 0 {
			source, err := s.findRule(ctx, scope{p: o.p}, in.Source)
			if err != nil {
				return nil, err
			}
			r.SourceID, r.Type, r.Name, r.Required = &source.ID, source.Type, source.Name, source.Required
			r.Users, r.Groups = source.Users, source.Groups
		}
	} else {
		r.ProjectID = &o.p.ID
	}
	if in.Type != "" {
		r.Type = in.Type
	}
	if r.Type == ReportApprover {
		r.ReportType = in.ReportType
	}
	if err := s.apply(ctx, as, o, r, in); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.lockScope(ctx, o); err != nil {
			return err
		}
		if err := s.room(ctx, o, r); err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "approval_rules", r); err != nil {
			return err
		}
		if err := s.storeParts(ctx, r); err != nil {
			return err
		}
		if err := s.attach(ctx, []*Rule{r}); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, RuleCreated{change.Created(as, s.Now(), o.p.Place(), r)})
	})
	if db.Duplicate(err, "approval_rules") {
		err = errTaken
	}
	if err := known("create approval rule", err); err != nil {
		return nil, err
	}
	return r, s.readSources(ctx, []*Rule{r})
}

// errTaken refuses a second rule of one name and type.
var errTaken = errs.Broken("", "name", "has already been taken")

// lockScope makes rules of a project or of a merge request be written one after the other.
func (s *Service) lockScope(ctx context.Context, o scope) error {
	name := fmt.Sprintf("approval rules of project %d", o.p.ID)
	if o.m != nil {
		name = fmt.Sprintf("approval rules of merge request %d", o.m.ID)
	}
	return s.DB.Lock(ctx, name)
}

// room refuses one rule more than there may be, and a second one for any approver.
func (s *Service) room(ctx context.Context, o scope, r *Rule) error {
	type row struct {
		All int64 `db:"n"`
		Any int64 `db:"any_rules"`
	}
	w := o.of()
	w.And("r.rule_type <> ?", CodeOwner)
	has, err := db.Get[row](ctx, s.DB, "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN r.rule_type = 'any_approver' THEN 1 ELSE 0 END), 0) AS any_rules FROM approval_rules r"+w.SQL(), w.Args()...)
	switch {
	case err != nil:
		return fmt.Errorf("count approval rules: %w", err)
	case has.All >= maxRules:
		return errs.Broken("", "base", fmt.Sprintf("there are already %d approval rules", maxRules))
	case r.Type == AnyApprover && has.Any > 0:
		return errs.Broken("", "rule_type", "any-approver for the "+o.noun()+" already exists")
	}
	return nil
}

func (o scope) noun() string {
	if o.m != nil {
		return "merge request"
	}
	return "project"
}

// update changes a rule for an actor who may.
func (s *Service) update(ctx context.Context, as authz.Actor, o scope, id RuleID, in Ruling) (*Rule, error) {
	var out *Rule
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.lockScope(ctx, o); err != nil {
			return err
		}
		before, err := s.findRule(ctx, o, id)
		if err != nil {
			return err
		}
		if !before.userDefined() && before.Type != ReportApprover {
			return errs.New(errs.Forbidden, "") // CODEOWNERS says what it is
		}
		after := *before
		if err := s.apply(ctx, as, o, &after, in); err != nil {
			return err
		}
		_, err = db.Update(ctx, s.DB, db.Row{Table: "approval_rules", ID: id, If: as.UnmodifiedAt}, func(_ context.Context, row *Rule) error {
			row.Name, row.Required, row.AllProtected, row.UpdatedAt = after.Name, after.Required, after.AllProtected, db.At(s.Now())
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.storeParts(ctx, &after); err != nil {
			return err
		}
		if out, err = s.findRule(ctx, o, id); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, RuleUpdated{change.Updated(as, s.Now(), o.p.Place(), &db.Change[Rule]{Before: *before, After: *out})}); err != nil {
			return err
		}
		return s.unblock(ctx, o)
	})
	if db.Duplicate(err, "approval_rules") {
		err = errTaken
	}
	return out, known("update approval rule", err)
}

// unblock has a merge request merged that may have waited for a rule that changed.
func (s *Service) unblock(ctx context.Context, o scope) error {
	if o.m == nil {
		return nil
	}
	return s.MergeRequests.Unblock(ctx, o.m.ID)
}

// remove deletes a rule for an actor who may.
func (s *Service) remove(ctx context.Context, as authz.Actor, o scope, id RuleID) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.lockScope(ctx, o); err != nil {
			return err
		}
		before, err := s.findRule(ctx, o, id)
		if err != nil {
			return err
		}
		if before.Type == CodeOwner {
			return errs.New(errs.Forbidden, "")
		}
		if _, err := db.Delete[Rule](ctx, s.DB, db.Row{Table: "approval_rules", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}, nil); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, RuleDeleted{change.Deleted(as, s.Now(), o.p.Place(), before)}); err != nil {
			return err
		}
		return s.unblock(ctx, o)
	})
	return known("delete approval rule", err)
}

// About names it for events.
func (r Rule) About() change.Subject {
	return change.Subject{Type: "ApprovalRule", ID: int64(r.ID), Title: r.Name}
}
