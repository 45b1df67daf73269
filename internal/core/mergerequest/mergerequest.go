// Package mergerequest holds merge requests: what is asked to be merged where, the
// versions the source branch went through, whether it merges cleanly, and the merge.
package mergerequest

import (
	"slices"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
	"tenon/internal/core/tree"
)

// ID identifies a merge request on the whole instance.
type ID int64

// IID is a merge request's number inside its target project.
type IID int64

// VersionID identifies one version of a merge request.
type VersionID int64

// State is where a merge request stands.
type State string

// The states of a merge request. StateLocked lasts as long as a merge is under way.
const (
	StateOpened State = "opened"
	StateClosed State = "closed"
	StateLocked State = "locked"
	StateMerged State = "merged"
)

// MergeRequest is one merge request. It belongs to the project it asks to change.
type MergeRequest struct {
	ID              ID           `db:"id"`
	IID             IID          `db:"iid"`
	ProjectID       project.ID   `db:"target_project_id"`
	SourceProjectID *project.ID  `db:"source_project_id"` // nil where the fork is gone
	TargetBranch    string       `db:"target_branch"`
	SourceBranch    string       `db:"source_branch"`
	AuthorID        authz.UserID `db:"author_id"`
	Title           string       `db:"title" fold:"title_fold"`
	Description     *string      `db:"description" fold:"description_fold"`
	State           State        `db:"state"`
	Draft           bool         `db:"draft"`

	MergeUserID *authz.UserID `db:"merge_user_id"` // who merged it, or set it to merge
	MergedAt    *db.Time      `db:"merged_at"`
	ClosedByID  *authz.UserID `db:"closed_by_id"`
	ClosedAt    *db.Time      `db:"closed_at"`

	// The newest version; the ids are "" while neither branch could be compared.
	VersionID    *VersionID `db:"version_id"`
	BaseSHA      string     `db:"base_sha"`
	StartSHA     string     `db:"start_sha"`
	HeadSHA      string     `db:"head_sha"`
	CommitsCount int64      `db:"commits_count"`
	ChangesCount *int64     `db:"changes_count"` // changed files

	// The last trial merge and the two commits it was made for. See Status.
	TrialResult    MergeStatus `db:"trial_result"`
	TrialSourceSHA string      `db:"trial_source_sha"`
	TrialTargetSHA string      `db:"trial_target_sha"`

	// OwnersKey identifies what the rules of code owners were made of; see Approvals.
	OwnersKey string `db:"owners_key"`

	MergeCommitSHA  *string `db:"merge_commit_sha"`
	SquashCommitSHA *string `db:"squash_commit_sha"`
	MergeError      *string `db:"merge_error"`
	RebaseSHA       *string `db:"rebase_commit_sha"` // the head that the server's last rebase made

	Squash                    bool   `db:"squash"`
	DiscussionLocked          *bool  `db:"discussion_locked"`
	ShouldRemoveSource        *bool  `db:"should_remove_source_branch"` // what the merge call asked for
	ForceRemoveSource         *bool  `db:"force_remove_source_branch"`  // what the request itself says
	AllowCollaboration        bool   `db:"allow_collaboration"`
	MergeWhenPipelineSucceeds bool   `db:"merge_when_pipeline_succeeds"`
	ApprovalsBeforeMerge      *int64 `db:"approvals_before_merge"`

	MilestoneID *milestone.ID `db:"milestone_id"`

	Plan
	timelog.Totals

	NotesCount       int64 `db:"notes_count"`        // comments, system notes left out
	PublicNotesCount int64 `db:"public_notes_count"` // the same without internal ones

	Threads           int64 `db:"resolvable_discussions_count"` // discussions that can be resolved
	UnresolvedThreads int64 `db:"unresolved_discussions_count"` // of these

	Origin         tree.Origin   `db:"imported_from"`
	CreatedAt      db.Time       `db:"created_at"`
	UpdatedAt      db.Time       `db:"updated_at"`
	UpdatedByID    *authz.UserID `db:"updated_by_id"`     // who changed it last; nil before the first change
	LastEditedAt   *db.Time      `db:"last_edited_at"`    // when the title or description was changed last; nil before that
	LastEditedByID *authz.UserID `db:"last_edited_by_id"` // nil where LastEditedAt is, and where the account was deleted

	// What hangs on the request; Find, List and the writing methods fill it.
	Assignees []authz.UserID `db:"-" change:"assignees"`
	Reviewers []Reviewer     `db:"-" change:"reviewers"`
	Labels    []label.Label  `db:"-" change:"labels"` // sorted by title
	Upvotes   int64          `db:"-"`
	Downvotes int64          `db:"-"`

	// Status is how the merge would go as far as it is known; see MergeStatus.
	Status MergeStatus `db:"-"`
	// Pipeline is how the newest pipeline of the head stands, "" where there is none. It is
	// filled for requests that wait for it, or whose project wants it to have succeeded.
	Pipeline ci.State `db:"-"`
	// Obstacles are what outside of this package keeps an open request from being merged; see Requirement.
	Obstacles []Obstacle `db:"-"`
	// Blockers is how many merge requests have to be merged before this one.
	Blockers int64 `db:"-"`
	// Unruled says that no rule of approval, of the request or of its project, asked for anything when
	// what hangs on the request was read; where it is false there may be one.
	Unruled bool `db:"-"`
	// VisibleNotes counts the comments that the actor may read.
	VisibleNotes int64 `db:"-"`

	target        *project.Project // its project, where the status was read; nil otherwise
	conflicts     bool             // the last trial merge, made just now, met conflicts
	ownersChanged bool             // it came with other rules of code owners
}

// Fork reports whether the source branch is in another project.
func (m *MergeRequest) Fork() bool {
	return m.SourceProjectID == nil || *m.SourceProjectID != m.ProjectID
}

// Text returns the description, "" for none.
func (m *MergeRequest) Text() string {
	if m.Description == nil {
		return ""
	}
	return *m.Description
}

// Subject is what permissions on this request of project p are asked about.
func (m *MergeRequest) Subject(as authz.Actor, p *project.Project) authz.Subject {
	s := p.Subject()
	s.Feature = authz.MergeRequests
	s.Own = m.concerns(as)
	return s
}

// concerns reports whether the actor wrote the merge request or works on it.
func (m *MergeRequest) concerns(as authz.Actor) bool {
	return as.Is(m.AuthorID) || slices.ContainsFunc(m.Assignees, as.Is)
}

// About names the merge request.
func (m MergeRequest) About() change.Subject {
	return change.Subject{Type: string(noteable.MergeRequest), ID: int64(m.ID), IID: int64(m.IID), Title: m.Title}
}

// Reviewer is a user asked to review.
type Reviewer struct {
	UserID    authz.UserID `db:"user_id"`
	State     string       `db:"state"` // unreviewed, reviewed, approved, ...
	CreatedAt db.Time      `db:"created_at"`
}

// Version is one state that the source branch had, and what it is compared with.
type Version struct {
	ID             VersionID `db:"id"`
	MergeRequestID ID        `db:"merge_request_id"`
	BaseSHA        string    `db:"base_sha"`  // merge base of source and target
	StartSHA       string    `db:"start_sha"` // tip of the target branch at that time
	HeadSHA        string    `db:"head_sha"`
	CommitsCount   int64     `db:"commits_count"`
	ChangesCount   int64     `db:"changes_count"`
	PatchID        *string   `db:"patch_id_sha"` // stable patch id of the diff, "" where it is empty; nil where it is not known
	CreatedAt      db.Time   `db:"created_at"`
}

// Reference is how the request is named inside its project, "!1".
func (i IID) Reference() string { return "!" + decimal(int64(i)) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
