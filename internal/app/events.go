package app

import (
	"context"
	"slices"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/ci"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// measureAfter is how long a repository is left alone after a push before it is measured,
// so that many pushes in a row cost one look.
const measureAfter = 2 * time.Second

// react lists what follows from what: every handler writes rows in the transaction of
// the event, and what leaves the process is a job enqueued there.
func (a *App) react() {
	b := a.bus

	event.On(b, "audit", a.core.Audit.SettingChanged)

	event.On(b, "audit", a.core.Audit.UserCreated)
	event.On(b, "audit", a.core.Audit.UserStateChanged)
	event.On(b, "audit", a.core.Audit.AccessLocked)
	event.On(b, "audit", a.core.Audit.AccessUnlocked)
	event.On(b, "audit", a.core.Audit.UserRemoved)
	event.On(b, "audit", a.core.Audit.TokenCreated)
	event.On(b, "audit", a.core.Audit.TokenRevoked)
	event.On(b, "audit", a.core.Audit.KeyAdded)
	event.On(b, "audit", a.core.Audit.KeyRemoved)
	event.On(b, "audit", a.core.Audit.GPGKeyAdded)
	event.On(b, "audit", a.core.Audit.GPGKeyRemoved)

	event.On(b, "audit", a.core.Audit.DeployTokenCreated)
	event.On(b, "audit", a.core.Audit.DeployTokenDestroyed)
	event.On(b, "audit", a.core.Audit.DeployKeyAdded)
	event.On(b, "audit", a.core.Audit.DeployKeyUpdated)
	event.On(b, "audit", a.core.Audit.DeployKeyRemoved)
	event.On(b, "audit", a.core.Audit.PublicDeployKeyAdded)
	event.On(b, "protection rules", a.core.Repos.DropDeployKey)
	event.On(b, "running imports", func(ctx context.Context, e project.Deleted) error {
		return a.core.Repos.CancelImport(ctx, e.ProjectID)
	})
	event.On(b, "running imports", func(ctx context.Context, e project.Marked) error {
		if e.Restored {
			return nil
		}
		return a.core.Repos.CancelImport(ctx, e.ProjectID)
	})
	event.On(b, "deploy keys", func(ctx context.Context, e project.Deleted) error {
		return a.core.DeployKeys.Clear(ctx, e.ProjectID)
	})

	event.On(b, "access tokens", func(ctx context.Context, e project.Deleted) error {
		return a.core.BotTokens.Clear(ctx, e.By.Unconditional(), namespace.Place{ID: int64(e.ProjectID)})
	})
	event.On(b, "access tokens", func(ctx context.Context, e namespace.GroupDeleted) error {
		return a.core.BotTokens.Clear(ctx, e.By.Unconditional(), namespace.Place{ID: int64(e.GroupID), Group: true})
	})

	event.On(b, "audit", a.core.Audit.GroupCreated)
	event.On(b, "audit", a.core.Audit.GroupMarked)
	event.On(b, "audit", a.core.Audit.GroupArchived)
	event.On(b, "audit", a.core.Audit.GroupDeleted)
	event.On(b, "audit", a.core.Audit.MemberAdded)
	event.On(b, "audit", a.core.Audit.MemberChanged)
	event.On(b, "audit", a.core.Audit.MemberRemoved)
	event.On(b, "audit", a.core.Audit.AccessDenied)
	event.On(b, "audit", a.core.Audit.Invited)
	event.On(b, "audit", a.core.Audit.InvitationRemoved)
	event.On(b, "invitations", func(ctx context.Context, e account.UserCreated) error {
		return a.core.Namespaces.AcceptInvitations(ctx, e.UserID)
	})
	event.On(b, "invitations", func(ctx context.Context, e account.UserUpdated) error {
		return a.core.Namespaces.AcceptInvitations(ctx, e.UserID)
	})
	event.On(b, "invitations", func(ctx context.Context, e account.AddressAdded) error {
		if !e.Confirmed {
			return nil
		}
		return a.core.Namespaces.AcceptInvitations(ctx, e.UserID)
	})
	event.On(b, "audit", a.core.Audit.GroupShared)
	event.On(b, "audit", a.core.Audit.GroupUnshared)
	event.On(b, "activity", a.core.Activity.MemberAdded)
	event.On(b, "activity", a.core.Activity.MemberRemoved)

	event.On(b, "audit", a.core.Audit.ProjectCreated)
	event.On(b, "audit", a.core.Audit.ProjectUpdated)
	event.On(b, "audit", a.core.Audit.ProjectArchived)
	event.On(b, "audit", a.core.Audit.ProjectMarked)
	event.On(b, "audit", a.core.Audit.ProjectDeleted)
	event.On(b, "audit", a.core.Audit.UploadDeleted)
	event.On(b, "audit", a.core.Audit.BotTokenCreated)
	event.On(b, "audit", a.core.Audit.BotTokenRevoked)
	event.On(b, "audit", a.core.Audit.ProjectTransferred)
	event.On(b, "audit", a.core.Audit.GroupTransferred)
	event.On(b, "visibility of forks", a.core.Projects.GroupTransferred)
	event.On(b, "activity", a.core.Activity.ProjectCreated)
	event.On(b, "audit", a.core.Audit.ProjectForked)
	event.On(b, "audit", a.core.Audit.ForkLinked)
	event.On(b, "audit", a.core.Audit.ProjectUnforked)
	event.On(b, "copy of the repository", func(ctx context.Context, e project.Forked) error {
		return a.jobs.Enqueue(ctx, repo.CopyFork{ProjectID: e.ProjectID, SourceID: e.SourceID, Branch: e.Branch})
	})
	event.On(b, "large objects of forks", func(ctx context.Context, e repo.ForkCopied) error {
		return a.core.LFS.LinkAll(ctx, e.SourceID, e.ProjectID)
	})
	event.On(b, "merge requests between forks", a.core.Requests.OnUnforked)
	event.On(b, "copy of the repository", func(ctx context.Context, e project.Templated) error {
		return a.jobs.Enqueue(ctx, repo.CopyFork{ProjectID: e.ProjectID, SourceID: e.SourceID})
	})
	event.On(b, "objects of its own", func(ctx context.Context, e project.Unforked) error {
		if e.Deleted {
			return nil // its repository goes as a whole
		}
		return a.jobs.Enqueue(ctx, repo.PoolLeaving{ProjectID: e.ProjectID})
	})
	event.On(b, "push rule of the group", a.core.PushRules.OnProjectCreated)
	event.On(b, "audit", a.core.Audit.PushRuleCreated)
	event.On(b, "audit", a.core.Audit.PushRuleUpdated)
	event.On(b, "audit", a.core.Audit.PushRuleDeleted)

	event.On(b, "audit", a.core.Audit.BranchProtected)
	event.On(b, "audit", a.core.Audit.BranchProtectionUpdated)
	event.On(b, "audit", a.core.Audit.BranchUnprotected)
	event.On(b, "audit", a.core.Audit.TagProtected)
	event.On(b, "audit", a.core.Audit.TagUnprotected)
	event.On(b, "activity", a.core.Activity.Pushed)
	event.On(b, "merge requests", a.core.Requests.OnPushed)
	event.On(b, "housekeeping", func(ctx context.Context, e repo.Pushed) error {
		if !a.core.Repos.Due(e.ProjectID) {
			return nil
		}
		return a.jobs.Enqueue(ctx, repo.Housekeeping{ProjectID: e.ProjectID})
	})

	event.On(b, "measures of the project", func(ctx context.Context, e repo.Pushed) error {
		return a.jobs.Enqueue(ctx, repo.Measuring{ProjectID: e.ProjectID}, job.At(a.now().Add(measureAfter)))
	})
	event.On(b, "measures of the project", func(ctx context.Context, e project.Updated) error {
		if !slices.Contains(e.Changed, "default_branch") {
			return nil
		}
		return a.jobs.Enqueue(ctx, repo.Measuring{ProjectID: e.ProjectID})
	})

	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Created) error {
		return a.countIssues(ctx, e.Issue, 1)
	})
	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Reopened) error {
		return a.countIssues(ctx, e.Issue, 1)
	})
	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Closed) error {
		return a.countIssues(ctx, e.Issue, -1)
	})
	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Deleted) error {
		if !e.Open {
			return nil
		}
		return a.countIssues(ctx, e.Issue, -1)
	})
	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Updated) error {
		switch {
		case !e.Open || !e.Diff.Confidential:
			return nil
		case e.Issue.Confidential:
			return a.core.Projects.CountIssues(ctx, e.Issue.ProjectID, 0, -1)
		}
		return a.core.Projects.CountIssues(ctx, e.Issue.ProjectID, 0, 1)
	})
	event.On(b, "system notes", a.core.SystemNotes.IssueCreated)
	event.On(b, "system notes", a.core.SystemNotes.IssueUpdated)
	event.On(b, "notes", func(ctx context.Context, e issue.Deleted) error {
		return a.core.Notes.Clear(ctx, noteable.Ref{Kind: noteable.Issue, ID: int64(e.Issue.ID)})
	})
	event.On(b, "activity", a.core.Activity.IssueCreated)
	event.On(b, "activity", a.core.Activity.IssueClosed)
	event.On(b, "activity", a.core.Activity.IssueReopened)
	event.On(b, "activity", a.core.Activity.NoteCreated)
	event.On(b, "last activity of the project", func(ctx context.Context, e note.Created) error {
		if e.Note.ProjectID == nil {
			return nil
		}
		return a.jobs.Enqueue(ctx, touchProject{ProjectID: *e.Note.ProjectID})
	})

	event.On(b, "notes", func(ctx context.Context, e mergerequest.Deleted) error {
		return a.core.Notes.Clear(ctx, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(e.ID)})
	})
	event.On(b, "system notes", a.core.SystemNotes.RequestCreated)
	event.On(b, "system notes", a.core.SystemNotes.RequestUpdated)
	event.On(b, "system notes", a.core.SystemNotes.RequestPushed)
	event.On(b, "system notes", a.core.SystemNotes.AutoMergeEnabled)
	event.On(b, "system notes", a.core.SystemNotes.AutoMergeCanceled)
	event.On(b, "system notes", a.core.SystemNotes.AutoMergeAborted)
	event.On(b, "automatic merges", func(ctx context.Context, e ci.StatusReported) error {
		return a.core.Requests.OnPipeline(ctx, e.Pipeline.ProjectID, e.Pipeline.Ref, e.Pipeline.State)
	})
	event.On(b, "activity", a.core.Activity.RequestCreated)
	event.On(b, "activity", a.core.Activity.RequestClosed)
	event.On(b, "activity", a.core.Activity.RequestReopened)
	event.On(b, "activity", a.core.Activity.RequestMerged)
	event.On(b, "audit", a.core.Audit.RequestMerged)
	event.On(b, "issues it closes", a.closeIssues)
}

// countIssues notes in its project that an issue was opened (by 1) or is no longer open
// (by -1).
func (a *App) countIssues(ctx context.Context, i issue.Ref, by int64) error {
	public := by
	if i.Confidential {
		public = 0
	}
	return a.core.Projects.CountIssues(ctx, i.ProjectID, by, public)
}

// closeIssues closes what a merge request promised to close, as the one who merged it;
// what that person may not close stays open.
func (a *App) closeIssues(ctx context.Context, e mergerequest.Merged) error {
	if len(e.ClosesIssues) == 0 {
		return nil
	}
	p, err := a.core.Projects.FindByID(ctx, e.By, e.ProjectID)
	if errs.Is(err, errs.NotFound) {
		return nil // gone or hidden since: that must not keep the merge from being recorded
	}
	if err != nil {
		return err //nolint:wrapcheck // the sentence stands
	}
	for _, iid := range e.ClosesIssues {
		_, err := a.core.Issues.Update(ctx, e.By.Unconditional(), p, issue.IID(iid), issue.Changes{StateEvent: "close"})
		if err != nil && !errs.Is(err, errs.NotFound) && !errs.Is(err, errs.Forbidden) {
			return err //nolint:wrapcheck // the sentence stands
		}
	}
	return nil
}
