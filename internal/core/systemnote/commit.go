package systemnote

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// Bounds of one push: how many branches, and commits of each, are read for what they mention.
const (
	maxBranches = 10
	maxCommits  = 100
)

// shownHash is how many digits of a commit's hash stand in a text.
const shownHash = 8

// Accounts finds users to act for.
type Accounts interface {
	Load(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*account.User, error)
}

// Code is where commits are read.
type Code struct {
	Accounts Accounts
	Projects *project.Service
	Repos    *repo.Service
	Jobs     job.Enqueuer
}

// PushedMentions is the job that tells what the commits of a push mention.
type PushedMentions struct {
	ProjectID project.ID    `json:"project_id"`
	UserID    authz.UserID  `json:"user_id"`
	Branches  []pushedRange `json:"branches"`
}

// pushedRange is what a push did to a branch; Old is zero for a new one.
type pushedRange struct {
	Name string            `json:"name"`
	Old  gitstore.ObjectID `json:"old"`
	New  gitstore.ObjectID `json:"new"`
}

// Kind names the job.
func (PushedMentions) Kind() string { return "mentions_of_push" }

// Pushed asks for a look at the commits of a push.
func (s *Service) Pushed(ctx context.Context, e repo.Pushed) error {
	if e.Project == nil || !e.By.SignedIn() {
		return nil
	}
	work := PushedMentions{ProjectID: e.ProjectID, UserID: e.By.UserID}
	for _, c := range e.Changes {
		if c.Ref.IsBranch() && !c.New.IsZero() && len(work.Branches) < maxBranches {
			work.Branches = append(work.Branches, pushedRange{c.Ref.Short(), c.Old, c.New})
		}
	}
	if len(work.Branches) == 0 {
		return nil
	}
	return s.Code.Jobs.Enqueue(ctx, work)
}

// RegisterJobs says how the mentions in pushed commits are noted.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.MentionPushed, job.Low())
}

// MentionPushed tells issues and merge requests which commits of a push mention them, as far as
// the account that pushed may read them, without being an administrator. Each commit is told once.
func (s *Service) MentionPushed(ctx context.Context, work PushedMentions) error {
	users, err := s.Code.Accounts.Load(ctx, []authz.UserID{work.UserID})
	if err != nil {
		return fmt.Errorf("who pushed: %w", err)
	}
	projects, err := s.Code.Projects.Load(ctx, []project.ID{work.ProjectID})
	if err != nil {
		return err
	}
	u, p := users[work.UserID], projects[work.ProjectID]
	if p == nil || u == nil || u.State != account.Active {
		return nil
	}
	as := u.Actor()
	as.Admin = false
	r, err := s.Code.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	for _, b := range work.Branches {
		from := gitcmd.LogOptions{From: []gitstore.ObjectID{b.New}, Limit: maxCommits}
		switch {
		case !b.Old.IsZero():
			from.Not = []gitstore.ObjectID{b.Old}
		case p.DefaultBranch != nil && *p.DefaultBranch != b.Name:
			tip, err := r.Branch(ctx, *p.DefaultBranch)
			if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
				return fmt.Errorf("default branch: %w", err)
			}
			if err == nil {
				from.Not = []gitstore.ObjectID{tip}
			}
		}
		commits, err := r.LogCommits(ctx, from)
		if err != nil {
			return fmt.Errorf("commits of push: %w", err)
		}
		for _, c := range commits {
			o := origin{ref: noteable.Ref{Kind: noteable.Commit, Project: int64(p.ID), Commit: c.ID.String()}, project: p}
			o.By, o.At = as, s.Now()
			if err := s.mention(ctx, o, c.Message, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
