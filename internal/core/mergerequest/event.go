package mergerequest

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
)

// Fact is what every event of this package says. Handlers do not change what it points to.
type Fact struct {
	change.Of[MergeRequest] // with labels, assignees and reviewers

	Project *project.Project // the target project
}

// Created is published when a merge request was opened.
type Created struct{ Fact }

// Updated is published when something but the state of a merge request changed.
type Updated struct {
	Fact
	TargetDeleted bool           // the old target branch was deleted after it was merged
	DraftCommit   string         // the pushed commit that made the request a draft; "" where a user made it one
	Again         []authz.UserID // reviewers who were asked for another review
	Time          timelog.Diff   // what became of the entries of time
}

// Asked are the users who were asked for a review, also for another one, and those who are no reviewers any more.
func (e Updated) Asked() (asked, released []authz.UserID) {
	asked, released = e.Fact.Asked()
	return append(asked, e.Again...), released
}

// Assigned are the users who were added to the assignees and removed from them.
func (f Fact) Assigned() (added, removed []authz.UserID) {
	return change.Sets(change.Former(f.Before).Assignees, f.Row().Assignees)
}

// Asked are the users who were added to the reviewers and removed from them.
func (f Fact) Asked() (added, removed []authz.UserID) {
	return change.Sets(change.Former(f.Before).ReviewerIDs(), f.Row().ReviewerIDs())
}

// Closed is published when a merge request was closed without being merged.
type Closed struct{ Fact }

// Reopened is published when a closed merge request was opened again.
type Reopened struct{ Fact }

// Merged is published when the target branch holds the changes and the row says so.
type Merged struct {
	Fact
	TargetBranch    string
	MergeCommitSHA  string // "" where a fast-forward made none
	SquashCommitSHA string
	SourceRemoved   bool // the merge deletes the source branch
	// ClosesIssues are the issues that the request promised to close; empty where the target
	// is not the default branch.
	ClosesIssues []ClosedIssue
}

// Audit is what the audit trail records of it.
func (Merged) Audit() []change.Entry {
	return change.Record("merge_request_merged", "Merge request merged")
}

// AutoMergeEnabled is published when a request was set to merge once its pipeline succeeds, or
// was added to a merge train.
type AutoMergeEnabled struct {
	Fact
	SHA      string // the head that the pipeline runs for
	Strategy Strategy
	Position int // in the merge train, the first has 1; 0 where it is in none
}

// AutoMergeCanceled is published when a user took that back.
type AutoMergeCanceled struct {
	Fact
	Strategy Strategy // what it was
}

// AutoMergeAborted is published when something else than a user took it back.
type AutoMergeAborted struct {
	Fact
	Reason   string   // ends the sentence "aborted the automatic merge because ..."
	Strategy Strategy // what it was
}

// Deleted is published when a merge request was deleted.
type Deleted struct{ Fact }

// Noteable names it for those who clear what hangs on it.
func (e Deleted) Noteable() noteable.Ref { return e.Row().Ref() }

// NewVersion is published when the source branch of an open merge request has moved.
type NewVersion struct {
	Fact
	OldSHA, NewSHA string // OldSHA is "" for the first version
	VersionID      VersionID
	Commits        []CommitLine // the newest of those that were not there before, newest first
	CommitsCount   int          // how many there are in all

	// EarlierFirst and EarlierLast are the first and the last of those that are not in Commits,
	// "" where there are none.
	EarlierFirst, EarlierLast string
	FromTarget                int    // how many commits came from the target branch besides
	TargetSHA                 string // the last of these

	// Rebased says that the server's own rebase moved the branch: the commits are those that were there before.
	Rebased bool

	draft string // the newest commit that makes the request a draft, "" for none
}

// Tried is published when the result of a trial merge was stored.
type Tried struct {
	authz.Stamp
	ID ID
}

// Unmergeable is published when an open merge request that could be merged has conflicts. No
// user did it.
type Unmergeable struct{ Fact }

// PipelineFailed is published when the newest pipeline of the head of an open merge request has failed. No user did it.
type PipelineFailed struct{ Fact }

// PipelineRecovered is published when that pipeline runs again, or the newest one has succeeded.
type PipelineRecovered struct{ Fact }

// Concerned returns the users whose work is held up when something keeps the merge request from being merged: the author, and who set
// it to merge by itself.
func (f Fact) Concerned() []authz.UserID {
	out := []authz.UserID{f.Row().AuthorID}
	if by := f.Row().MergeUserID; f.Row().MergeWhenPipelineSucceeds && by != nil && *by != out[0] {
		out = append(out, *by)
	}
	return out
}

// DependencyAdded is published when a merge request waits for another one to be merged. The
// merge request itself is as before.
type DependencyAdded struct {
	Fact
	Blocking MergeRequest
}

// DependencyRemoved is published when it no longer waits for that one.
type DependencyRemoved struct {
	Fact
	Blocking MergeRequest
}

// SourceBranchDeleted is published when the source branch of an open merge request was deleted.
type SourceBranchDeleted struct{ Fact }

// SourceBranchRestored is published when it was pushed again.
type SourceBranchRestored struct{ Fact }

// CommitLine is what a list of commits shows of one.
type CommitLine struct {
	SHA   string
	Title string
}
