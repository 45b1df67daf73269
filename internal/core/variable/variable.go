// Package variable keeps the CI/CD variables of projects, groups and the instance.
package variable

import (
	"fmt"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/pattern"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies a variable.
type ID int64

// Type says how a job gets the value.
type Type string

// The types.
const (
	EnvVar Type = "env_var"
	File   Type = "file" // the value is in a file, whose path the job gets
)

// AnyScope is the environment scope of variables for all jobs.
const AnyScope = "*"

// Variable is one row.
type Variable struct {
	ID          ID                 `db:"id"`
	NamespaceID *authz.NamespaceID `db:"namespace_id"` // of the project or group; nil for the instance
	Type        Type               `db:"variable_type"`
	Key         string             `db:"name"`
	Sealed      string             `db:"sealed"` // "" in events and in what is shown
	Description *string            `db:"description"`
	Scope       string             `db:"environment_scope"`
	Protected   bool               `db:"protected"` // for jobs of protected refs only
	Masked      bool               `db:"masked"`    // left out of logs
	Hidden      bool               `db:"hidden"`    // shown no more
	Raw         bool               `db:"raw"`       // the value names no other variables
	CreatedAt   db.Time            `db:"created_at"`
	UpdatedAt   db.Time            `db:"updated_at"`

	Value *string `db:"-"` // nil in events and where it is hidden
}

func read(at authz.Place) authz.Ability {
	return ability(at, authz.ReadInstanceVariables, authz.ReadGroupVariables, authz.ReadProjectVariables)
}

func admin(at authz.Place) authz.Ability {
	return ability(at, authz.AdminInstanceVariables, authz.AdminGroupVariables, authz.AdminProjectVariables)
}

func ability(at authz.Place, instance, group, project authz.Ability) authz.Ability {
	if at.IsInstance() {
		return instance
	}
	return at.Ability(project, group)
}

// thing is the public name of a variable of the place.
func thing(at authz.Place) string {
	switch {
	case at.IsInstance():
		return "InstanceVariable"
	case at.Group:
		return "GroupVariable"
	}
	return "Variable"
}

// How many variables one project and one group have at most.
const (
	MaxOfProject = 8000
	MaxOfGroup   = 30_000
)

// most is how many variables a place has.
func most(at authz.Place) (n int, noun string) {
	switch {
	case at.IsInstance():
		return 25, "instance ci variables"
	case at.Group:
		return MaxOfGroup, "group ci variables"
	}
	return MaxOfProject, "project ci variables"
}

// Fact is what events say of a variable, without its value. Handlers do not change it.
type Fact struct {
	change.Of[Variable]
}

// Created is published when a place has a new variable.
type Created struct{ Fact }

// Updated is published when a variable changed.
type Updated struct {
	Fact
	ValueChanged bool
}

// Deleted is published when a variable is gone.
type Deleted struct{ Fact }

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Box    *secret.Box
	Now    func() time.Time
}

// Service keeps variables. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// seal keeps the value in the row, which has its id.
func (s *Service) seal(v *Variable, value string) { v.Sealed = s.Box.Seal(sealedAt(v.ID), value) }

func (s *Service) open(v *Variable) (string, error) {
	value, err := s.Box.Open(sealedAt(v.ID), v.Sealed)
	if err != nil {
		return "", fmt.Errorf("open variable %d: %w", v.ID, err)
	}
	return value, nil
}

func sealedAt(id ID) string { return fmt.Sprintf("ci_variables.sealed:%d", id) }

// shown is the variable as those who administrate the place see it. A value that was sealed with another key is nil, until it is set again.
func (s *Service) shown(v *Variable) {
	if !v.Hidden {
		if value, ok := s.Box.Try(sealedAt(v.ID), v.Sealed); ok {
			v.Value = &value
		}
	}
	v.Sealed = ""
}

// unvalued is the variable as events have it.
func unvalued(v *Variable) *Variable {
	if v == nil {
		return nil
	}
	out := *v
	out.Sealed, out.Value = "", nil
	return &out
}

const (
	maxKey         = 255
	maxDescription = 255
	maxScope       = 255
	maxValue       = 65_536 // bytes, of projects and groups
	maxOfInstance  = 10_000
)

var (
	keyText   = pattern.New(`\A[a-zA-Z0-9_]+\z`)
	scopeText = pattern.New(`\A[a-zA-Z0-9_/\\${}. *-]+\z`)
	maskText  = pattern.New(`\A[a-zA-Z0-9_+=/@:.~-]{8,}\z`)
	rawMask   = pattern.New(`\A\S{8,}\z`)
)

// check says what is wrong with a variable and its value.
func (v *Variable) check(at authz.Place, value string) error {
	var f errs.Fields
	f.Check(v.Key != "", "key", "can't be blank")
	f.Check(utf8.RuneCountInString(v.Key) <= maxKey, "key", fmt.Sprintf("is too long (maximum is %d characters)", maxKey))
	f.Check(keyText().MatchString(v.Key), "key", "can contain only letters, digits and '_'.")
	f.Check(v.Scope != "", "environment_scope", "can't be blank")
	f.Check(v.Scope == "" || scopeText().MatchString(v.Scope), "environment_scope",
		"can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces")
	f.Check(utf8.RuneCountInString(v.Scope) <= maxScope, "environment_scope", fmt.Sprintf("is too long (maximum is %d characters)", maxScope))
	f.Length("description", v.Description, maxDescription)
	most := maxValue
	if at.IsInstance() {
		most = maxOfInstance
	}
	f.Check(len(value) <= most, "value", fmt.Sprintf("is too long (maximum is %d characters)", most))
	mask := maskText
	if v.Raw {
		mask = rawMask
	}
	f.Check(!v.Masked || mask().MatchString(value), "value", "is invalid")
	return f.Err()
}

// About names it for events.
func (v Variable) About() change.Subject {
	return change.Subject{Type: "Ci::Variable", ID: int64(v.ID), Title: v.Key}
}

// Changed is the event in its generic form.
func (f Fact) Changed() change.Fact {
	out := f.Of.Changed()
	switch {
	case f.Place.IsInstance():
		out.Subject.Type = "Ci::InstanceVariable"
	case f.Place.Group:
		out.Subject.Type = "Ci::GroupVariable"
	}
	return out
}
