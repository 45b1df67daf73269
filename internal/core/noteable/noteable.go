// Package noteable names the noteables that people comment on, react to and label:
// issues, merge requests, snippets, commits and epics. Their packages stand below
// those of notes and awards, so what both sides need to know stands here.
package noteable

import "tenon/internal/core/authz"

// Kind is the type of a noteable, spelled as in the API and in the database.
type Kind string

// The kinds.
const (
	Issue        Kind = "Issue"
	MergeRequest Kind = "MergeRequest"
	Snippet      Kind = "Snippet"
	Commit       Kind = "Commit"
	Epic         Kind = "Epic"
	Note         Kind = "Note" // can be reacted to, not commented on
)

// Ref names one noteable: a commit by its project and hash, anything else by its id.
type Ref struct {
	Kind    Kind
	ID      int64  // of the database, not the number in the project; zero for commits
	Project int64  // of commits only
	Commit  string // hash in hex, of commits only
}

// IDs returns the ids of noteables of one kind.
func IDs(refs []Ref) []int64 {
	out := make([]int64, len(refs))
	for i, ref := range refs {
		out[i] = ref.ID
	}
	return out
}

// Key names a noteable in its place the way clients do.
type Key struct {
	Number int64  // iid of issues and merge requests, id of snippets and epics
	IID    int64  // of epics, which some endpoints name by it; Number is zero then
	Commit string // hash, branch or tag, of commits
}

// Target is a noteable that the actor it was located for may see, with what the rules of
// notes ask about it.
type Target struct {
	Ref
	IID         *int64 // nil for snippets, epics and commits
	ProjectID   int64  // zero for what belongs to a group
	ProjectPath string // "group/project"; "" for what belongs to a group
	GroupID     authz.NamespaceID
	GroupPath   string // full path; "" for what belongs to a project
	EpicIID     int64  // of an epic, which comments do not show as IID
	Title       string
	AuthorID    authz.UserID

	// Subject is the project or group, with Own and Confidential of the noteable itself.
	Subject authz.Subject

	Anonymous   bool // the actor has no account, and reads its public notes and reactions all the same
	System      bool // it is a note that the server wrote: there are no reactions to it
	Locked      bool // only members discuss it
	HasInternal bool // it may have notes for planners only
	Resolvable  bool // its threads can be resolved

	Notes       int64 // comments; system notes are not counted
	PublicNotes int64 // the same without internal ones
}

// Place returns what columns name the place of a noteable by: its project or its group, nil for
// the other one.
func (t *Target) Place() (projectID, groupID *int64) {
	switch {
	case t.ProjectID != 0:
		projectID = &t.ProjectID
	case t.GroupID != 0:
		group := int64(t.GroupID)
		groupID = &group
	}
	return projectID, groupID
}

// Cause is what closed an issue; the zero value stands for a user who did so by hand.
type Cause struct {
	ProjectID    int64  // of the commit or merge request
	Commit       string // hash of the commit whose message closes it
	MergeRequest int64  // id of the merge request that was merged
}

// Counts are the counters of a noteable, or by how much they change.
type Counts struct {
	Notes       int64 `db:"notes_count"` // comments; system notes are not counted
	PublicNotes int64 `db:"public_notes_count"`
	Threads     int64 `db:"resolvable_discussions_count"` // that can be resolved
	Unresolved  int64 `db:"unresolved_discussions_count"` // of these
}

// Less returns c without what d counts.
func (c Counts) Less(d Counts) Counts {
	return Counts{c.Notes - d.Notes, c.PublicNotes - d.PublicNotes, c.Threads - d.Threads, c.Unresolved - d.Unresolved}
}
