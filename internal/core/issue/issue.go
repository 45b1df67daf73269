// Package issue holds the issues of projects.
package issue

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
	"tenon/internal/core/tree"
)

// ID identifies an issue among all.
type ID int64

// IID numbers an issue within its project.
type IID int64

// State says whether work on an issue goes on.
type State string

// The states.
const (
	StateOpened State = "opened"
	StateClosed State = "closed"
)

// Type tells plain issues from their relatives, which share their numbers.
type Type string

// The types of the contract.
const (
	Plain    Type = "issue"
	Incident Type = "incident"
	TestCase Type = "test_case"
	Task     Type = "task"
)

// Severity says how grave an incident is.
type Severity string

// The severities. Issues that are no incidents keep theirs, and show SeverityUnknown.
const (
	SeverityUnknown  Severity = "unknown"
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
)

// Health says whether an issue will be done in time.
type Health string

// The health statuses.
const (
	OnTrack        Health = "on_track"
	NeedsAttention Health = "needs_attention"
	AtRisk         Health = "at_risk"
)

const (
	maxTitle       = 255
	maxDescription = 1_048_576
	maxAssignees   = 200
)

// Issue is one issue as the actor who read it sees it.
type Issue struct {
	ID               ID            `db:"id"`
	IID              IID           `db:"iid"`
	ProjectID        project.ID    `db:"project_id"`
	AuthorID         authz.UserID  `db:"author_id"`
	Title            string        `db:"title" fold:"title_fold"`
	Description      *string       `db:"description" fold:"description_fold"`
	State            State         `db:"state"`
	Type             Type          `db:"issue_type"`
	Confidential     bool          `db:"confidential"`
	DiscussionLocked *bool         `db:"discussion_locked"`
	DueDate          *string       `db:"due_date"` // YYYY-MM-DD
	Weight           *int64        `db:"weight"`
	Severity         Severity      `db:"severity"` // as stored; see ShownSeverity
	Health           *Health       `db:"health_status"`
	Position         int64         `db:"relative_position"`             // orders issues by hand
	UserAgent        *string       `db:"user_agent" change:",secret"`   // of the client that made the issue, for administrators
	UserAddress      *string       `db:"user_address" change:",secret"` // as UserAgent
	MilestoneID      *milestone.ID `db:"milestone_id"`
	IterationID      *iteration.ID `db:"iteration_id"`
	timelog.Totals
	MovedToID        *ID           `db:"moved_to_id"`
	DuplicatedToID   *ID           `db:"duplicated_to_id"`
	ClosedAt         *db.Time      `db:"closed_at"`
	ClosedByID       *authz.UserID `db:"closed_by_id"`
	UpdatedByID      *authz.UserID `db:"updated_by_id"`      // who changed it last; nil before the first change
	LastEditedAt     *db.Time      `db:"last_edited_at"`     // when the title or description was changed last; nil before that
	LastEditedByID   *authz.UserID `db:"last_edited_by_id"`  // nil where LastEditedAt is, and where the account was deleted
	NotesCount       int64         `db:"notes_count"`        // comments of all readers
	PublicNotesCount int64         `db:"public_notes_count"` // the same without internal ones
	Origin           tree.Origin   `db:"imported_from"`
	CreatedAt        db.Time       `db:"created_at"`
	UpdatedAt        db.Time       `db:"updated_at"`

	UserNotes int64          `db:"user_notes_count,readonly"` // comments that the actor may read
	Labels    []label.Label  `db:"-" change:"labels"`         // by title
	Assignees []authz.UserID `db:"-" change:"assignees"`      // in the order of their ids
	Related   Related        `db:"-"`
	Epic      *Epic          `db:"-"` // nil where it is in none that the actor may read
}

// Related is what an issue has to do with others that the actor may read, and its votes.
type Related struct {
	Upvotes       int64
	Downvotes     int64
	Blocking      int64    // open issues that it blocks
	MergeRequests int64    // merge requests that close it
	MovedTo       *ID      // the issue that stands for it in another project
	DuplicateOf   *Address // the issue that it was closed as a duplicate of
}

// Address says where an issue is.
type Address struct {
	ID        ID
	ProjectID project.ID
	IID       IID
}

// Threads are open threads of a merge request of the project: all of them, or one.
type Threads struct {
	Request    int64  // its iid; 0 for none
	Discussion string // "" for all
}

// Attributes are the part of Input and Changes that calls send as it is: each is stored in the column of its tag, is a parameter of
// REST by its tags, and an argument of a mutation of GraphQL that has one of its name. nil leaves alone.
type Attributes struct {
	Description      *string   `db:"description" param:"description" chars:"1048576" doc:"Description in Markdown"`
	Confidential     *bool     `db:"confidential" param:"confidential" doc:"Confidential: visible to Planner and above, the author and assignees"`
	DiscussionLocked *bool     `json:"locked" db:"discussion_locked" param:"discussion_locked" doc:"Lock the discussion: only members may add or edit comments"`
	Type             *Type     `db:"issue_type" param:"issue_type" values:"issue,incident,test_case,task" doc:"Issue type"` // Plain at first
	Severity         *Severity `db:"severity" param:"severity" values:"unknown,low,medium,high,critical" doc:"Severity of an incident"`
}

// Input is what a new issue is made of. What has a tag is stored in its column.
type Input struct {
	Title string
	Attributes
	DueDate     *string       `db:"due_date"` // YYYY-MM-DD
	Weight      *int64        `db:"weight"`
	MilestoneID *milestone.ID // 0 is none; one that the project cannot use is left out
	IterationID *iteration.ID // as MilestoneID
	Epic        EpicChoice
	Health      *Health        `db:"health_status"`
	Labels      []string       // titles; unknown ones are made where the actor may manage labels
	AssigneeIDs []authz.UserID // those who may not read the project's issues are left out

	// Resolves names threads that the issue follows up: those that the actor may resolve are
	// resolved.
	Resolves Threads

	// IID and CreatedAt are taken from owners only and ignored from others.
	IID       IID
	CreatedAt *time.Time
}

// Changes are those of Update; nil leaves alone. What has a tag is stored in its column.
type Changes struct {
	Title      *string `db:"title"`
	StateEvent string  // close, reopen, or "" for none
	Attributes
	DueDate     *string `db:"due_date" empty:"null"`
	Weight      *int64  `db:"weight"`
	ClearWeight bool
	MilestoneID *milestone.ID `db:"milestone_id" empty:"null"` // one that the project cannot use is left out
	IterationID *iteration.ID `db:"iteration_id" empty:"null"` // as MilestoneID
	Epic        *EpicChoice   // the zero value clears
	Health      *Health       `db:"health_status" empty:"null"`
	Time        timelog.Change
	Labels      label.Assignment
	AssigneeIDs *[]authz.UserID // empty clears

	UpdatedAt *time.Time // taken from owners only

	// Strict returns Forbidden where the actor may not change one of these, which is left alone otherwise.
	Strict bool

	cause noteable.Cause // what closes the issue
}

// ShownSeverity is the severity of an incident, and SeverityUnknown of everything else.
func (i *Issue) ShownSeverity() Severity {
	if i.Type != Incident {
		return SeverityUnknown
	}
	return i.Severity
}

// Reference is how the issue is named inside its project, "#1".
func (i IID) Reference() string { return "#" + strconv.FormatInt(int64(i), 10) }

// About names the issue.
func (i Issue) About() change.Subject {
	return change.Subject{Type: string(noteable.Issue), ID: int64(i.ID), IID: int64(i.IID), Title: i.Title}
}

// Locked reports whether only members may discuss the issue.
func (i *Issue) Locked() bool { return i.DiscussionLocked != nil && *i.DiscussionLocked }

// concerns reports whether the user wrote the issue or works on it.
func (i *Issue) concerns(as authz.Actor) bool {
	return as.Is(i.AuthorID) || slices.ContainsFunc(i.Assignees, as.Is)
}

// subject is what permissions on the issue are asked about.
func (i *Issue) subject(as authz.Actor, p *project.Project) authz.Subject {
	s := p.Subject()
	s.Feature = authz.Issues
	s.Own, s.Confidential = i.concerns(as), i.Confidential
	return s
}

// validate checks an issue as it will be stored.
func (i *Issue) validate() error {
	var bad errs.Fields
	i.Title = strings.TrimSpace(i.Title)
	bad.Check(i.Title != "", "title", "can't be blank")
	bad.Check(utf8.RuneCountInString(i.Title) <= maxTitle, "title", "is too long (maximum is 255 characters)")
	if i.Description != nil {
		bad.Check(utf8.RuneCountInString(*i.Description) <= maxDescription, "description", "is too long (maximum is 1048576 characters)")
	}
	if i.DueDate != nil {
		_, err := time.Parse(time.DateOnly, *i.DueDate)
		bad.Check(err == nil, "due_date", "is invalid")
	}
	switch i.Severity {
	case SeverityUnknown, SeverityLow, SeverityMedium, SeverityHigh, SeverityCritical:
	default:
		bad.Add("severity", "is not included in the list")
	}
	if i.Health != nil {
		switch *i.Health {
		case OnTrack, NeedsAttention, AtRisk:
		default:
			bad.Add("health_status", "is not included in the list")
		}
	}
	bad.Check(i.Weight == nil || *i.Weight >= 0, "weight", "must be greater than or equal to 0")
	return bad.Err()
}
