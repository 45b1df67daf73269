package quickaction

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/mergerequest"
)

// merging are the commands of merge requests alone.
func (s *Service) merging() []Action {
	return []Action{
		update(merges, drafts, "draft", "wip"),
		update(merges, readies, "ready"),
		update(merges, s.retarget, "target_branch"),
		{Names: []string{"rebase"}, Kinds: merges, Run: s.rebase},
		{Names: []string{"merge"}, Kinds: merges, Run: s.merge},
	}
}

func drafts(ctx context.Context, c *Call) error {
	if c.title() != mergerequest.WithoutDraft(c.title()) {
		return readies(ctx, c)
	}
	title := mergerequest.Drafted(c.title(), true)
	c.Request.Title = &title
	c.Set("wip_event", "draft")
	c.Say("Marked this merge request as a draft.")
	return nil
}

func readies(_ context.Context, c *Call) error {
	if !mergerequest.IsDraft(c.title()) {
		return nil
	}
	title := mergerequest.WithoutDraft(c.title())
	c.Request.Title = &title
	c.Set("wip_event", "ready")
	c.Say("Marked this merge request as ready.")
	return nil
}

// title is the one that the merge request has once the commands so far are done.
func (c *Call) title() string {
	if c.Request.Title != nil {
		return *c.Request.Title
	}
	return c.WasRequest.Title
}

func (s *Service) retarget(ctx context.Context, c *Call) error {
	if c.Argument == "" || c.WasRequest.State != mergerequest.StateOpened || c.Argument == c.WasRequest.TargetBranch {
		return nil
	}
	if _, err := s.Repos.FindBranch(ctx, c.As, c.Project, c.Argument); err != nil {
		if errs.Is(err, errs.NotFound) {
			return nil
		}
		return err
	}
	branch := c.Argument
	c.Request.TargetBranch = &branch
	c.Set("target_branch", branch)
	c.Say("Set target branch to %s.", branch)
	return nil
}

func (s *Service) rebase(_ context.Context, c *Call) error {
	if c.WasRequest.State != mergerequest.StateOpened {
		return nil
	}
	c.After(func(ctx context.Context) error {
		return s.MergeRequests.Rebase(ctx, c.As, c.Project, c.WasRequest.IID, mergerequest.RebaseOptions{})
	})
	c.Set("rebase", c.WasRequest.HeadSHA)
	c.Say("Scheduled a rebase of branch %s.", c.WasRequest.SourceBranch)
	return nil
}

func (s *Service) merge(_ context.Context, c *Call) error {
	switch {
	case c.WasRequest.State != mergerequest.StateOpened:
		return nil
	case c.HeadSHA == "":
		c.Say("The `/merge` quick action requires the SHA of the head of the branch.")
		return nil
	case c.HeadSHA != c.WasRequest.HeadSHA:
		c.Say("Branch has been updated since the merge was requested.")
		return nil
	}
	c.After(func(ctx context.Context) error {
		_, err := s.MergeRequests.Merge(ctx, c.As, c.Project, c.WasRequest.IID, mergerequest.MergeInput{SHA: c.HeadSHA})
		return err
	})
	c.Set("merge", c.HeadSHA)
	c.Say("Merged this merge request.")
	return nil
}
