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

	event.On(b, "audit", a.audit.SettingChanged)

	event.On(b, "audit", a.audit.UserCreated)
	event.On(b, "audit", a.audit.UserStateChanged)
	event.On(b, "audit", a.audit.AccessLocked)
	event.On(b, "audit", a.audit.AccessUnlocked)
	event.On(b, "audit", a.audit.UserRemoved)
	event.On(b, "audit", a.audit.TokenCreated)
	event.On(b, "audit", a.audit.TokenRevoked)
	event.On(b, "audit", a.audit.KeyAdded)
	event.On(b, "audit", a.audit.KeyRemoved)
	event.On(b, "audit", a.audit.GPGKeyAdded)
	event.On(b, "audit", a.audit.GPGKeyRemoved)

	event.On(b, "audit", a.audit.DeployTokenCreated)
	event.On(b, "audit", a.audit.DeployTokenDestroyed)
	event.On(b, "audit", a.audit.DeployKeyAdded)
	event.On(b, "audit", a.audit.DeployKeyUpdated)
	event.On(b, "audit", a.audit.DeployKeyRemoved)
	event.On(b, "audit", a.audit.PublicDeployKeyAdded)
	event.On(b, "protection rules", a.repos.DropDeployKey)
	event.On(b, "deploy keys", func(ctx context.Context, e project.Deleted) error {
		return a.deployKeys.Clear(ctx, e.ProjectID)
	})

	event.On(b, "access tokens", func(ctx context.Context, e project.Deleted) error {
		return a.botTokens.Clear(ctx, e.By, namespace.Place{ID: int64(e.ProjectID)})
	})
	event.On(b, "access tokens", func(ctx context.Context, e namespace.GroupDeleted) error {
		return a.botTokens.Clear(ctx, e.By, namespace.Place{ID: int64(e.GroupID), Group: true})
	})

	event.On(b, "audit", a.audit.GroupCreated)
	event.On(b, "audit", a.audit.GroupMarked)
	event.On(b, "audit", a.audit.GroupArchived)
	event.On(b, "audit", a.audit.GroupDeleted)
	event.On(b, "audit", a.audit.MemberAdded)
	event.On(b, "audit", a.audit.MemberChanged)
	event.On(b, "audit", a.audit.MemberRemoved)
	event.On(b, "audit", a.audit.AccessDenied)
	event.On(b, "audit", a.audit.Invited)
	event.On(b, "audit", a.audit.InvitationRemoved)
	event.On(b, "invitations", func(ctx context.Context, e account.UserCreated) error {
		return a.namespaces.AcceptInvitations(ctx, e.UserID)
	})
	event.On(b, "invitations", func(ctx context.Context, e account.UserUpdated) error {
		return a.namespaces.AcceptInvitations(ctx, e.UserID)
	})
	event.On(b, "invitations", func(ctx context.Context, e account.AddressAdded) error {
		if !e.Confirmed {
			return nil
		}
		return a.namespaces.AcceptInvitations(ctx, e.UserID)
	})
	event.On(b, "audit", a.audit.GroupShared)
	event.On(b, "audit", a.audit.GroupUnshared)
	event.On(b, "activity", a.activity.MemberAdded)
	event.On(b, "activity", a.activity.MemberRemoved)

	event.On(b, "audit", a.audit.ProjectCreated)
	event.On(b, "audit", a.audit.ProjectUpdated)
	event.On(b, "audit", a.audit.ProjectArchived)
	event.On(b, "audit", a.audit.ProjectMarked)
	event.On(b, "audit", a.audit.ProjectDeleted)
	event.On(b, "audit", a.audit.UploadDeleted)
	event.On(b, "audit", a.audit.BotTokenCreated)
	event.On(b, "audit", a.audit.BotTokenRevoked)
	event.On(b, "audit", a.audit.ProjectTransferred)
	event.On(b, "audit", a.audit.GroupTransferred)
	event.On(b, "visibility of forks", a.projects.GroupTransferred)
	event.On(b, "activity", a.activity.ProjectCreated)
	event.On(b, "audit", a.audit.ProjectForked)
	event.On(b, "audit", a.audit.ForkLinked)
	event.On(b, "audit", a.audit.ProjectUnforked)
	event.On(b, "copy of the repository", func(ctx context.Context, e project.Forked) error {
		return a.jobs.Enqueue(ctx, repo.CopyFork{ProjectID: e.ProjectID, SourceID: e.SourceID, Branch: e.Branch})
	})
	event.On(b, "large objects of forks", func(ctx context.Context, e repo.ForkCopied) error {
		return a.lfs.LinkAll(ctx, e.SourceID, e.ProjectID)
	})
	event.On(b, "merge requests between forks", a.requests.OnUnforked)
	event.On(b, "copy of the repository", func(ctx context.Context, e project.Templated) error {
		return a.jobs.Enqueue(ctx, repo.CopyFork{ProjectID: e.ProjectID, SourceID: e.SourceID})
	})
	event.On(b, "objects of its own", func(ctx context.Context, e project.Unforked) error {
		if e.Deleted {
			return nil // its repository goes as a whole
		}
		return a.jobs.Enqueue(ctx, repo.PoolLeaving{ProjectID: e.ProjectID})
	})
	event.On(b, "push rule of the group", a.repos.PushRules.OnProjectCreated)
	event.On(b, "audit", a.audit.PushRuleCreated)
	event.On(b, "audit", a.audit.PushRuleUpdated)
	event.On(b, "audit", a.audit.PushRuleDeleted)

	event.On(b, "audit", a.audit.BranchProtected)
	event.On(b, "audit", a.audit.BranchProtectionUpdated)
	event.On(b, "audit", a.audit.BranchUnprotected)
	event.On(b, "audit", a.audit.TagProtected)
	event.On(b, "audit", a.audit.TagUnprotected)
	event.On(b, "activity", a.activity.Pushed)
	event.On(b, "merge requests", a.requests.OnPushed)
	event.On(b, "housekeeping", func(ctx context.Context, e repo.Pushed) error {
		if !a.repos.Due(e.ProjectID) {
			return nil
		}
		return a.jobs.Enqueue(ctx, repo.Housekeeping{ProjectID: e.ProjectID})
	})

	event.On(b, "measures of the project", func(ctx context.Context, e repo.Pushed) error {
		return a.repos.Enqueue(ctx, repo.Measuring{ProjectID: e.ProjectID}, job.At(a.now().Add(measureAfter)))
	})
	event.On(b, "measures of the project", func(ctx context.Context, e project.Updated) error {
		if !slices.Contains(e.Changed, "default_branch") {
			return nil
		}
		return a.repos.Enqueue(ctx, repo.Measuring{ProjectID: e.ProjectID})
	})

	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Created) error {
		return a.projects.CountIssues(ctx, e.Issue.ProjectID, 1)
	})
	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Reopened) error {
		return a.projects.CountIssues(ctx, e.Issue.ProjectID, 1)
	})
	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Closed) error {
		return a.projects.CountIssues(ctx, e.Issue.ProjectID, -1)
	})
	event.On(b, "open issues of the project", func(ctx context.Context, e issue.Deleted) error {
		if !e.Open {
			return nil
		}
		return a.projects.CountIssues(ctx, e.Issue.ProjectID, -1)
	})
	event.On(b, "system notes", a.systemNotes.IssueCreated)
	event.On(b, "system notes", a.systemNotes.IssueUpdated)
	event.On(b, "notes", func(ctx context.Context, e issue.Deleted) error {
		return a.notes.Clear(ctx, noteable.Ref{Kind: noteable.Issue, ID: int64(e.Issue.ID)})
	})
	event.On(b, "activity", a.activity.IssueCreated)
	event.On(b, "activity", a.activity.IssueClosed)
	event.On(b, "activity", a.activity.IssueReopened)
	event.On(b, "activity", a.activity.NoteCreated)
	event.On(b, "last activity of the project", func(ctx context.Context, e note.Created) error {
		if e.Note.ProjectID == nil {
			return nil
		}
		return a.jobs.Enqueue(ctx, touchProject{ProjectID: *e.Note.ProjectID})
	})

	event.On(b, "notes", func(ctx context.Context, e mergerequest.Deleted) error {
		return a.notes.Clear(ctx, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(e.ID)})
	})
	event.On(b, "system notes", a.systemNotes.RequestCreated)
	event.On(b, "system notes", a.systemNotes.RequestUpdated)
	event.On(b, "system notes", a.systemNotes.RequestPushed)
	event.On(b, "system notes", a.systemNotes.AutoMergeEnabled)
	event.On(b, "system notes", a.systemNotes.AutoMergeCanceled)
	event.On(b, "system notes", a.systemNotes.AutoMergeAborted)
	event.On(b, "automatic merges", func(ctx context.Context, e ci.StatusReported) error {
		return a.requests.OnPipeline(ctx, e.Pipeline.ProjectID, e.Pipeline.Ref, e.Pipeline.State)
	})
	event.On(b, "activity", a.activity.RequestCreated)
	event.On(b, "activity", a.activity.RequestClosed)
	event.On(b, "activity", a.activity.RequestReopened)
	event.On(b, "activity", a.activity.RequestMerged)
	event.On(b, "audit", a.audit.RequestMerged)
	event.On(b, "issues it closes", a.closeIssues)
}

// closeIssues closes what a merge request promised to close, as the one who merged it;
// what that person may not close stays open.
func (a *App) closeIssues(ctx context.Context, e mergerequest.Merged) error {
	if len(e.ClosesIssues) == 0 {
		return nil
	}
	p, err := a.projects.FindByID(ctx, e.By, e.ProjectID)
	if errs.Is(err, errs.NotFound) {
		return nil // gone or hidden since: that must not keep the merge from being recorded
	}
	if err != nil {
		return err //nolint:wrapcheck // the sentence stands
	}
	for _, iid := range e.ClosesIssues {
		_, err := a.issues.Update(ctx, e.By, p, issue.IID(iid), issue.Changes{StateEvent: "close"})
		if err != nil && !errs.Is(err, errs.NotFound) && !errs.Is(err, errs.Forbidden) {
			return err //nolint:wrapcheck // the sentence stands
		}
	}
	return nil
}
