package live

import (
	"slices"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// TestService_Subscribe publishes every event that streams are told of, each about the thing
// with the id 7, and looks at what a stream of all parts is told, on every server of the database.
func TestService_Subscribe(t *testing.T) {
	t.Parallel()
	p := &project.Project{}
	ofIssue := issue.Fact{Project: p, Of: change.Of[issue.Issue]{Before: &issue.Issue{ID: 7, Title: "old"}, After: &issue.Issue{ID: 7, Title: "new", Weight: new(int64(1))}}}
	ofEpic := epic.Fact{Group: &namespace.Group{}, Of: change.Of[epic.Epic]{Before: &epic.Epic{ID: 7, Title: "old"}, After: &epic.Epic{ID: 7, Title: "new"}}}
	ofRequest := mergerequest.Fact{
		Project: p, Of: change.Of[mergerequest.MergeRequest]{
			Before: &mergerequest.MergeRequest{ID: 7, Labels: []label.Label{{ID: 1, Title: "a"}, {ID: 2}}},
			After:  &mergerequest.MergeRequest{ID: 7, Labels: []label.Label{{ID: 1, Title: "b"}}, Reviewers: []mergerequest.Reviewer{{UserID: 1}}},
		},
	}
	of := ci.Pipeline{ID: 7}
	approved := approval.Fact{Fact: ofRequest}
	noted := note.Fact{Of: change.Of[note.Note]{After: &note.Note{ID: 9, Kind: noteable.Issue, TargetID: 7, DiscussionID: "d", Internal: true}}}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		here, bus := server(t, d)
		servers := []*Service{here}
		if d.Shared() {
			there, _ := server(t, d)
			servers = append(servers, there)
		}
		for _, c := range []struct {
			event event.Event
			kind  noteable.Kind
			parts []Part // none where the thing is gone
		}{
			{issue.Updated{Fact: ofIssue}, noteable.Issue, []Part{Title, Weight}},
			{issue.Closed{Fact: ofIssue}, noteable.Issue, []Part{Other}},
			{issue.Reopened{Fact: ofIssue}, noteable.Issue, []Part{Other}},
			{issue.Deleted{Fact: ofIssue}, noteable.Issue, nil},
			{epic.IssueAdded{Issue: *ofIssue.Row()}, noteable.Issue, []Part{Epic}},
			{epic.IssueRemoved{Issue: *ofIssue.Row()}, noteable.Issue, []Part{Epic}},
			{epic.Updated{Fact: ofEpic}, noteable.Epic, []Part{Title}},
			{epic.Closed{Fact: ofEpic}, noteable.Epic, []Part{Other}},
			{epic.Reopened{Fact: ofEpic}, noteable.Epic, []Part{Other}},
			{epic.Deleted{Fact: ofEpic}, noteable.Epic, nil},
			{note.Created{Fact: noted}, noteable.Issue, []Part{NoteCreated}},
			{note.Updated{Fact: noted}, noteable.Issue, []Part{NoteUpdated}},
			{note.Deleted{Fact: noted}, noteable.Issue, []Part{NoteDeleted}},
			{note.ThreadChanged{Target: noteable.Target{Ref: noteable.Ref{Kind: noteable.MergeRequest, ID: 7}}}, noteable.MergeRequest, []Part{Other}},
			{note.ThreadsResolved{Target: noteable.Target{Ref: noteable.Ref{Kind: noteable.MergeRequest, ID: 7}}}, noteable.MergeRequest, []Part{MergeStatus}},
			{mergerequest.Updated{Fact: ofRequest}, noteable.MergeRequest, []Part{Reviewers, Labels}},
			{mergerequest.Closed{Fact: ofRequest}, noteable.MergeRequest, []Part{MergeStatus, Other}},
			{mergerequest.Reopened{Fact: ofRequest}, noteable.MergeRequest, []Part{MergeStatus, Other}},
			{mergerequest.Merged{Fact: ofRequest}, noteable.MergeRequest, []Part{MergeStatus, Other}},
			{mergerequest.NewVersion{Fact: ofRequest}, noteable.MergeRequest, []Part{MergeStatus, Other}},
			{mergerequest.ReviewerStateChanged{Fact: ofRequest}, noteable.MergeRequest, []Part{Reviewers}},
			{mergerequest.Tried{ID: 7}, noteable.MergeRequest, []Part{MergeStatus}},
			{mergerequest.Deleted{Fact: ofRequest}, noteable.MergeRequest, nil},
			{approval.Approved{Fact: approved}, noteable.MergeRequest, []Part{Approvals, MergeStatus}},
			{approval.Unapproved{Fact: approved}, noteable.MergeRequest, []Part{Approvals, MergeStatus}},
			{approval.Reset{Fact: approved}, noteable.MergeRequest, []Part{Approvals, MergeStatus}},
			{ci.PipelineChanged{Of: change.Of[ci.Pipeline]{After: &of}, Project: p}, Pipeline, []Part{Status}},
			{ci.PipelineDeleted{Of: change.Of[ci.Pipeline]{Before: &of}, Project: p}, Pipeline, nil},
			{ci.JobChanged{Pipeline: of, Of: change.Of[ci.Job]{After: &ci.Job{Status: ci.Status{ID: 5}}}}, Pipeline, []Part{JobStatus(5)}},
			{ci.StatusReported{Pipeline: of, Of: change.Of[ci.Status]{After: &ci.Status{ID: 5}}}, Pipeline, []Part{JobStatus(5)}},
		} {
			streams := make([]*Stream, len(servers))
			for i, s := range servers {
				st, err := s.Open(t.Context(), authz.Actor{UserID: 1}, c.kind, 7, append([]Part{NoteCreated, NoteUpdated, NoteDeleted, Status, JobStatus(5)}, AllParts...)...)
				if err != nil {
					t.Fatal(err)
				}
				streams[i] = st
			}
			if err := bus.Publish(t.Context(), c.event); err != nil {
				t.Fatal(err)
			}
			for i, st := range streams {
				got, _ := next(t, st)
				st.Close()
				if !slices.Equal(got.Parts, c.parts) || got.Deleted != (c.parts == nil) {
					t.Errorf("%T: server %d is told %+v, want %v", c.event, i, got, c.parts)
				}
				if isNote := c.parts != nil && slices.Contains([]Part{NoteCreated, NoteUpdated, NoteDeleted}, c.parts[0]); isNote != (got.Note != nil) || isNote && (*got.Note != Note{9, "d", nil, true}) {
					t.Errorf("%T: server %d is told of the note %+v", c.event, i, got.Note)
				}
			}
		}
	})
}
