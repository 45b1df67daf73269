package serviceaccount

import (
	"context"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// GroupDeleted asks for the service accounts of a deleted group to be deleted. They are blocked since the group is gone.
type GroupDeleted struct {
	Group authz.NamespaceID `json:"group_id"`
	By    authz.UserID      `json:"by"`
}

// Kind names the job.
func (GroupDeleted) Kind() string { return "delete_service_accounts_of_group" }

// Subscribe registers what happens with service accounts when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "service accounts", func(ctx context.Context, e namespace.GroupDeleted) error {
		barred, err := s.Accounts.BarServiceAccounts(ctx, e.Row().ID)
		if err != nil || !barred {
			return err
		}
		return s.Jobs.Enqueue(ctx, GroupDeleted{Group: e.Row().ID, By: e.By.UserID})
	})
}

// RegisterJobs says how the service accounts of a deleted group go.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Clear, job.On(job.Maintenance), job.Unique(), job.Low())
}

// Clear does the job. It is safe to do twice: an account that is on its way stays on it.
func (s *Service) Clear(ctx context.Context, gone GroupDeleted) error {
	as := authz.Actor{UserID: gone.By, Admin: true}
	list, err := s.Accounts.ServiceAccounts(ctx, gone.Group, account.ServiceFilter{Asc: true})
	if err != nil {
		return err
	}
	for _, u := range list.Items {
		err := s.Accounts.RemoveServiceAccount(ctx, as, gone.Group, u.ID, account.Removal{})
		if err != nil && !errs.Is(err, errs.NotFound) {
			return fmt.Errorf("delete service account %d: %w", u.ID, err)
		}
	}
	return nil
}
