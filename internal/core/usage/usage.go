// Package usage says how much of everything the instance has, and how many people use it.
package usage

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Counts are how many rows of each kind there are.
type Counts struct {
	Forks         int64 `db:"forks"`
	Issues        int64 `db:"issues"`
	MergeRequests int64 `db:"merge_requests"`
	Notes         int64 `db:"notes"`
	Snippets      int64 `db:"snippets"`
	SSHKeys       int64 `db:"ssh_keys"`
	Milestones    int64 `db:"milestones"`
	Users         int64 `db:"users"`
	Groups        int64 `db:"groups"`
	Projects      int64 `db:"projects"`
	ActiveUsers   int64 `db:"active_users"`
}

// License is what the server grants to itself: everything, for any number of people.
type License struct {
	ID          int64   `db:"id"`
	CreatedAt   db.Time `db:"created_at"` // when the instance was made
	ActiveUsers int64   `db:"active_users"`
	Users       int64   `db:"users"` // people with an account, blocked ones too
}

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Queues Queues
	Now    func() time.Time
}

// Service reads the figures.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service { return &Service{Deps: d} }

const (
	people = "(SELECT COUNT(*) FROM users WHERE user_type = 'human')"
	active = "(SELECT COUNT(*) FROM users WHERE user_type = 'human' AND state = 'active')"
)

// Counts counts what there is, in one statement.
func (s *Service) Counts(ctx context.Context, as authz.Actor) (Counts, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUsage, authz.Subject{}); err != nil {
		return Counts{}, err
	}
	out, err := db.Get[Counts](ctx, s.DB, `SELECT (SELECT COUNT(*) FROM projects WHERE forked_from_id IS NOT NULL) AS forks,
		(SELECT COUNT(*) FROM issues) AS issues, (SELECT COUNT(*) FROM merge_requests) AS merge_requests, (SELECT COUNT(*) FROM notes) AS notes,
		(SELECT COUNT(*) FROM snippets) AS snippets, (SELECT COUNT(*) FROM ssh_keys) AS ssh_keys, (SELECT COUNT(*) FROM milestones) AS milestones,
		`+people+` AS users, (SELECT COUNT(*) FROM groups) AS groups, (SELECT COUNT(*) FROM projects) AS projects, `+active+" AS active_users")
	if err != nil {
		return out, fmt.Errorf("count what the instance has: %w", err)
	}
	return out, nil
}

// License is the license in force. There is no other.
func (s *Service) License(ctx context.Context, as authz.Actor) (*License, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadUsage, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.license(ctx)
}

// FindLicense finds a license by its id. It is NotFound for any but the one in force.
func (s *Service) FindLicense(ctx context.Context, as authz.Actor, id int64) (*License, error) {
	return s.find(ctx, as, authz.ReadUsage, id)
}

func (s *Service) find(ctx context.Context, as authz.Actor, ability authz.Ability, id int64) (*License, error) {
	if err := s.Policy.Require(ctx, as, ability, authz.Subject{}); err != nil {
		return nil, err
	}
	l, err := s.license(ctx)
	if err == nil && l.ID != id {
		return nil, errs.Missing("")
	}
	return l, err
}

func (s *Service) license(ctx context.Context) (*License, error) {
	out, err := db.Get[License](ctx, s.DB, "SELECT 1 AS id, created_at, "+active+" AS active_users, "+people+" AS users FROM instance")
	if err != nil {
		return nil, fmt.Errorf("read license: %w", err)
	}
	return &out, nil
}

// Nodes lists the Geo nodes: none, because the server is the only one of its instance.
func (s *Service) Nodes(ctx context.Context, as authz.Actor) ([]struct{}, error) {
	return []struct{}{}, s.Policy.Require(ctx, as, authz.ReadUsage, authz.Subject{})
}

// AddLicense refuses every license: the server has all that one could unlock.
func (s *Service) AddLicense(ctx context.Context, as authz.Actor, _ string) error {
	if err := s.Policy.Require(ctx, as, authz.AdminLicense, authz.Subject{}); err != nil {
		return err
	}
	return errs.Plain("The license key is invalid. Nothing is locked on this server: it needs none.")
}

// DeleteLicense refuses to delete the license in force. It is NotFound for any other.
func (s *Service) DeleteLicense(ctx context.Context, as authz.Actor, id int64) error {
	l, err := s.find(ctx, as, authz.AdminLicense, id)
	if err != nil {
		return err
	}
	return errs.Denied(fmt.Sprintf("License %d is that of the server itself and cannot be deleted", l.ID))
}

// RecountLicense finds the license whose users are counted; they always are.
func (s *Service) RecountLicense(ctx context.Context, as authz.Actor, id int64) error {
	_, err := s.find(ctx, as, authz.AdminLicense, id)
	return err
}
