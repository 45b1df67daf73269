package featureflag

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// Changes are the attributes of a flag that a call sets; nil leaves one alone.
type Changes struct {
	Name        *string
	Description *string
	Active      *bool
	Version     *string // Version, the only one
	Strategies  []StrategyInput
}

// Version is the version of all flags.
const Version = "new_version_flag"

// flagName is what names consist of.
var flagName = pattern.New(`\A[a-z]([a-z0-9_-]*[a-z0-9])?\z`)

// apply changes a flag and returns what is wrong with it.
func (c Changes) apply(f *Flag) []string {
	if c.Name != nil {
		f.Name = *c.Name
	}
	if c.Description != nil {
		f.Description = c.Description
	}
	if c.Active != nil {
		f.Active = *c.Active
	}
	var out []string
	switch n := utf8.RuneCountInString(f.Name); {
	case strings.TrimSpace(f.Name) == "":
		out = append(out, "Name can't be blank")
	case n < 2:
		out = append(out, "Name is too short (minimum is 2 characters)")
	case n > 63:
		out = append(out, "Name is too long (maximum is 63 characters)")
	}
	if f.Name != "" && !flagName().MatchString(f.Name) {
		out = append(out, "Name can contain only lowercase letters, digits, '_' and '-'. Must start with a letter, and cannot end with '-' or '_'")
	}
	if f.Description != nil && utf8.RuneCountInString(*f.Description) > 255 {
		out = append(out, "Description is too long (maximum is 255 characters)")
	}
	return out
}

// Create adds a flag to a project.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, c Changes) (*Flag, error) {
	if err := s.require(ctx, as, authz.AdminFeatureFlag, p); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	f := Flag{ProjectID: p.ID, Active: true, CreatedAt: now, UpdatedAt: now}
	if c.Version != nil && *c.Version != Version {
		return nil, errs.Plain("Version is invalid")
	}
	problems := c.apply(&f)
	more, err := s.strategies(ctx, p, &f, c.Strategies)
	if err == nil {
		err = broken(append(problems, more...))
	}
	if err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		most := db.Bound{Table: "feature_flags", Most: MaxFlags, Full: errs.Sentences(errs.Invalid, fmt.Sprintf("Maximum number of feature flags (%d) exceeded", MaxFlags))}
		most.Of.And("project_id = ?", p.ID)
		if err := db.Create(ctx, s.DB, "feature_flags", &f, most); err != nil {
			return err
		}
		if err := s.write(ctx, &Flag{}, &f); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), p.Place(), &f)})
	})
	if err != nil {
		return nil, flagErr(err, "create feature flag")
	}
	return &f, nil
}

func flagErr(err error, words string) error {
	if db.Duplicate(err, "feature_flags") {
		return errNameTaken
	}
	return errs.Wrap(err, words)
}

func (s *Service) row(as authz.Actor, f *Flag) db.Row {
	return db.Row{Table: "feature_flags", ID: f.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
}

// Update changes a flag and its strategies.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, name string, c Changes) (*Flag, error) {
	if err := s.require(ctx, as, authz.AdminFeatureFlag, p); err != nil {
		return nil, err
	}
	found, err := s.find(ctx, p, name)
	if err != nil {
		return nil, err
	}
	var before, after Flag
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		changed := false
		out, err := db.Update(ctx, s.DB, s.row(as, found), func(ctx context.Context, f *Flag) error {
			list := []Flag{*f}
			if err := s.fill(ctx, list); err != nil {
				return err
			}
			before = list[0]
			f.Strategies = before.Strategies
			problems := c.apply(f)
			more, err := s.strategies(ctx, p, f, c.Strategies)
			if err == nil {
				err = broken(append(problems, more...))
			}
			if changed = f.words(&before) != "" || len(f.Strategies) < len(before.Strategies); changed {
				f.UpdatedAt = db.At(s.Now())
			}
			return err
		})
		if err != nil {
			return err
		}
		if after = out.After; !out.Any() && !changed {
			return nil
		}
		if err := s.write(ctx, &before, &after); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Between(as, s.Now(), p.Place(), &before, &after)})
	})
	if err != nil {
		return nil, flagErr(err, "update feature flag")
	}
	return &after, nil
}

// Delete deletes a flag and returns it as it was.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Flag, error) {
	if err := s.require(ctx, as, authz.AdminFeatureFlag, p); err != nil {
		return nil, err
	}
	f, err := s.find(ctx, p, name)
	if err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.Delete[Flag](ctx, s.DB, s.row(as, f), nil); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), p.Place(), f)})
	})
	return f, errs.Wrap(err, "delete feature flag")
}
