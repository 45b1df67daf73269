package live

import (
	"strconv"

	"tenon/internal/core/ci"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// Part is what of a thing has changed.
type Part string

// The parts. All others are Other.
const (
	Title       Part = "title"
	Description Part = "description"
	Dates       Part = "dates"
	Assignees   Part = "assignees"
	Reviewers   Part = "reviewers"
	Labels      Part = "labels"
	Milestone   Part = "milestone"
	Iteration   Part = "iteration"
	Epic        Part = "epic"
	Health      Part = "health"
	Weight      Part = "weight"
	Approvals   Part = "approvals"
	MergeStatus Part = "merge_status"
	Other       Part = "other"

	NoteCreated Part = "note_created"
	NoteUpdated Part = "note_updated"
	NoteDeleted Part = "note_deleted"
)

// AllParts are the parts that are not notes.
var AllParts = []Part{Title, Description, Dates, Assignees, Reviewers, Labels, Milestone, Iteration, Epic, Health, Weight, Approvals, MergeStatus, Other}

// Pipeline is the kind of what streams are of that has no notes.
const Pipeline noteable.Kind = "Ci::Pipeline"

// Status is the part of a pipeline that says how it goes.
const Status Part = "status"

// JobStatus is the part of a pipeline that says how one of its jobs goes.
func JobStatus(id ci.StatusID) Part { return Part("status of job " + strconv.FormatInt(int64(id), 10)) }

// Change says that parts of an issue, a merge request, an epic or a pipeline have changed, or its notes.
type Change struct {
	Kind    noteable.Kind `json:"kind"`
	ID      int64         `json:"id"` // of the database
	Parts   []Part        `json:"parts"`
	Deleted bool          `json:"gone,omitempty"` // it was deleted: every stream is told
	Note    *Note         `json:"note,omitempty"` // nil where no note has changed
}

// Note is the note that a change is about.
type Note struct {
	ID         note.ID `json:"id"`
	Discussion string  `json:"discussion"`
	Type       *string `json:"type,omitempty"` // as in package note
	Internal   bool    `json:"internal,omitempty"`
}
