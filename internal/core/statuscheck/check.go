package statuscheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

const (
	maxText     = 255 // characters of a name, of a URL and of a secret
	maxChecks   = 50  // of a project
	maxBranches = 500 // of a check
)

// Input is what a check is made of.
type Input struct {
	Name     string
	URL      string
	Secret   string              // "" signs nothing
	Branches []protection.RuleID // those of other projects are left out
}

// Changes are what Update does to a check; nil leaves alone.
type Changes struct {
	Name     *string
	URL      *string
	Secret   *string // "" removes it; where nil, another URL removes it
	Branches *[]protection.RuleID
}

var order = page.Order{page.ID("c.id")}

// List lists the checks of a project. It requires ReadExternalStatusChecks.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[*Check], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadExternalStatusChecks, p.Subject()); err != nil {
		return page.Page[*Check]{}, err
	}
	var w db.Where
	w.And("c.project_id = ?", p.ID)
	list, err := page.Select[Check](ctx, s.DB, page.Query{Columns: db.Columns[Check]("c"), From: "external_status_checks c", Where: w, Order: order}, r)
	if err != nil {
		return page.Page[*Check]{}, fmt.Errorf("list external status checks: %w", err)
	}
	out := page.Map(list, func(c *Check) *Check { return c })
	return out, s.attach(ctx, out.Items)
}

// read returns the checks that a condition on c selects, with their branches.
func (s *Service) read(ctx context.Context, w db.Where) ([]*Check, error) {
	rows, err := db.Select[Check](ctx, s.DB, "SELECT "+db.Columns[Check]("c")+" FROM external_status_checks c"+w.SQL()+" ORDER BY c.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read external status checks: %w", err)
	}
	out := make([]*Check, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out, s.attach(ctx, out)
}

// attach reads the protected branches of checks.
func (s *Service) attach(ctx context.Context, checks []*Check) error {
	if len(checks) == 0 {
		return nil
	}
	ids, byID := make([]ID, len(checks)), make(map[ID]*Check, len(checks))
	for i, c := range checks {
		c.Branches = nil
		ids[i], byID[c.ID] = c.ID, c
	}
	var w db.Where
	w.In("x.check_id", ids)
	branches, err := db.Select[Branch](ctx, s.DB, `SELECT x.check_id, b.id, b.project_id, b.name, b.code_owner_approval_required, b.created_at, b.updated_at
		FROM external_status_check_branches x JOIN protected_branches b ON b.id = x.protected_branch_id`+w.SQL()+" ORDER BY x.check_id, b.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("read branches of external status checks: %w", err)
	}
	for _, b := range branches {
		byID[b.CheckID].Branches = append(byID[b.CheckID].Branches, b)
	}
	return nil
}

// find returns one check of a project.
func (s *Service) find(ctx context.Context, id project.ID, check ID) (*Check, error) {
	var w db.Where
	w.And("c.project_id = ?", id)
	w.And("c.id = ?", check)
	found, err := s.read(ctx, w)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errs.Missing("")
	}
	return found[0], nil
}

// Create makes a check of a project. It requires AdminExternalStatusChecks; what breaks a rule,
// and a URL that may not be called, is Unprocessable.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Check, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminExternalStatusChecks, p.Subject()); err != nil {
		return nil, err
	}
	c := &Check{ProjectID: p.ID, Name: strings.TrimSpace(in.Name), URL: strings.TrimSpace(in.URL), CreatedAt: db.At(s.Now()), UpdatedAt: db.At(s.Now())}
	if err := s.validate(c, in.Secret, in.Branches); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.room(ctx, c); err != nil {
			return err
		}
		c.Sealed = nil
		if err := db.Create(ctx, s.DB, "external_status_checks", c); err != nil {
			return err
		}
		if c.Sealed = s.seal(c.ID, in.Secret); c.Sealed != nil {
			if _, err := s.DB.Exec(ctx, "UPDATE external_status_checks SET sealed_secret = ? WHERE id = ?", c.Sealed, c.ID); err != nil {
				return err
			}
		}
		if err := s.storeBranches(ctx, c, in.Branches); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), p.Place(), c)})
	})
	return c, errs.Wrap(err, "create external status check")
}

// validate refuses texts that break a rule and URLs that may not be called.
func (s *Service) validate(c *Check, secret string, branches []protection.RuleID) error {
	var bad []string
	for _, f := range []struct{ name, text string }{{"Name", c.Name}, {"External url", c.URL}} {
		switch n := utf8.RuneCountInString(f.text); {
		case n == 0:
			bad = append(bad, f.name+" can't be blank")
		case n > maxText:
			bad = append(bad, fmt.Sprintf("%s is too long (maximum is %d characters)", f.name, maxText))
		}
	}
	if utf8.RuneCountInString(secret) > maxText {
		bad = append(bad, fmt.Sprintf("Shared secret is too long (maximum is %d characters)", maxText))
	}
	if len(branches) > maxBranches {
		bad = append(bad, fmt.Sprintf("Protected branches total must be less than or equal to %d", maxBranches))
	}
	if c.URL != "" {
		u, err := s.Outbound.CheckURL(c.URL)
		blocked, ok := errors.AsType[*safehttp.BlockedError](err)
		switch {
		case ok:
			bad = append(bad, "External url "+blocked.Error())
		case err != nil:
			return fmt.Errorf("check external url: %w", err)
		case u.User != nil:
			bad = append(bad, "External url must not contain a user name or password") // readers of merge requests see it
		}
	}
	if len(bad) > 0 {
		return errs.Sentences(errs.Unprocessable, bad...)
	}
	return nil
}

// room makes checks of a project be written one after the other, and refuses one too many and
// one whose name or URL another check has.
func (s *Service) room(ctx context.Context, c *Check) error {
	if err := s.DB.Lock(ctx, fmt.Sprintf("external status checks of project %d", c.ProjectID)); err != nil {
		return err
	}
	var w db.Where
	w.And("c.project_id = ?", c.ProjectID)
	all, err := s.read(ctx, w)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o *Check) bool { return o.ID == c.ID })
	var bad []string
	if slices.ContainsFunc(all, func(o *Check) bool { return o.Name == c.Name }) {
		bad = append(bad, "Name has already been taken")
	}
	if slices.ContainsFunc(all, func(o *Check) bool { return o.URL == c.URL }) {
		bad = append(bad, "External url has already been taken")
	}
	if len(all) >= maxChecks {
		bad = append(bad, fmt.Sprintf("Project has already %d external status checks", maxChecks))
	}
	if len(bad) > 0 {
		return errs.Sentences(errs.Unprocessable, bad...)
	}
	return nil
}

// place is what the secret of a check is sealed for.
func place(id ID) string { return fmt.Sprintf("external_status_checks.secret:%d", id) }

func (s *Service) seal(id ID, secret string) *string {
	if secret == "" {
		return nil
	}
	sealed := s.Box.Seal(place(id), secret)
	return &sealed
}

// storeBranches writes the protected branches of a check in place of those it had.
func (s *Service) storeBranches(ctx context.Context, c *Check, ids []protection.RuleID) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM external_status_check_branches WHERE check_id = ?", c.ID); err != nil {
		return err
	}
	if len(ids) > 0 {
		var w db.Where
		w.And("b.project_id = ?", c.ProjectID)
		w.In("b.id", ids)
		_, err := s.DB.Exec(ctx, "INSERT INTO external_status_check_branches (check_id, protected_branch_id) SELECT CAST(? AS BIGINT), b.id FROM protected_branches b"+w.SQL(),
			append([]any{c.ID}, w.Args()...)...)
		if err != nil {
			return err
		}
	}
	return s.attach(ctx, []*Check{c})
}

// Update changes a check. It requires AdminExternalStatusChecks and refuses what Create refuses.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, id ID, c Changes) (*Check, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminExternalStatusChecks, p.Subject()); err != nil {
		return nil, err
	}
	var out *Check
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var before *Check
		var branches []protection.RuleID
		if c.Branches != nil {
			branches = *c.Branches
		}
		_, err := db.Update(ctx, s.DB, db.Row{Table: "external_status_checks", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}, func(ctx context.Context, row *Check) error {
			var err error
			if before, err = s.find(ctx, p.ID, id); err != nil { // the row is locked by now
				return err
			}
			after := before.with(c)
			if c.Secret != nil {
				after.Sealed = s.seal(id, *c.Secret)
			}
			if err := s.validate(&after, deref(c.Secret), branches); err != nil {
				return err
			}
			if err := s.room(ctx, &after); err != nil {
				return err
			}
			row.Name, row.URL, row.Sealed, row.UpdatedAt = after.Name, after.URL, after.Sealed, db.At(s.Now())
			return nil
		})
		if err != nil {
			return err
		}
		if c.Branches != nil {
			held := *before // which gets the new ones
			if err := s.storeBranches(ctx, &held, branches); err != nil {
				return err
			}
		}
		if out, err = s.find(ctx, p.ID, id); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), p.Place(), &db.Change[Check]{Before: *before, After: *out})}); err != nil {
			return err
		}
		return s.MergeRequests.UnblockAll(ctx, p.ID)
	})
	return out, errs.Wrap(err, "update external status check")
}

// with returns the check with changes. A secret that was meant for one URL is not sent to another.
func (c *Check) with(changes Changes) Check {
	out := *c
	if changes.Name != nil {
		out.Name = strings.TrimSpace(*changes.Name)
	}
	if changes.URL != nil {
		out.URL = strings.TrimSpace(*changes.URL)
		if out.URL != c.URL {
			out.Sealed = nil
		}
	}
	return out
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Delete deletes a check with what its service answered. It requires AdminExternalStatusChecks.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminExternalStatusChecks, p.Subject()); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		before, err := s.find(ctx, p.ID, id)
		if err != nil {
			return err
		}
		row := db.Row{Table: "external_status_checks", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}
		if _, err := db.Delete[Check](ctx, s.DB, row, nil); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), p.Place(), before)}); err != nil {
			return err
		}
		return s.MergeRequests.UnblockAll(ctx, p.ID)
	})
	return errs.Wrap(err, "delete external status check")
}
