package systemnote

import (
	"context"
	"slices"
	"time"

	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/timelog"
)

// Names finds users by id.
type Names interface {
	ByIDs(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*account.Summary, error)
}

// Deps is what a Service is made of.
type Deps struct {
	Notes      *note.Service
	Kinds      *noteable.Kinds
	Users      Names
	References References
	Code       Code
	Times      *timelog.Service
	Now        func() time.Time
}

// Service reacts to events.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Subscribe registers all that is told.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "system notes"
	event.On(b, name, s.IssueCreated)
	event.On(b, name, s.IssueUpdated)
	event.On(b, name, s.IssueMoved)
	event.On(b, name, s.IssueCloned)
	event.On(b, name, s.IssueDuplicated)
	event.On(b, name, s.IssuesLinked)
	event.On(b, name, s.IssuesUnlinked)
	event.On(b, name, s.IssueAddressed)
	event.On(b, name, s.RequestCreated)
	event.On(b, name, s.RequestUpdated)
	event.On(b, name, s.RequestPushed)
	event.On(b, name, s.SourceBranchDeleted)
	event.On(b, name, s.SourceBranchRestored)
	event.On(b, name, s.Approved)
	event.On(b, name, s.Unapproved)
	event.On(b, name, s.AutoMergeEnabled)
	event.On(b, name, s.AutoMergeCanceled)
	event.On(b, name, s.AutoMergeAborted)
	event.On(b, name, s.ThreadsResolved)
	event.On(b, name, s.LinesChanged)
	event.On(b, name, s.EpicUpdated)
	event.On(b, name, s.EpicIssueAdded)
	event.On(b, name, s.EpicIssueRemoved)
	event.On(b, name, s.EpicChildAdded)
	event.On(b, name, s.EpicChildRemoved)
	event.On(b, name, s.EpicsLinked)
	event.On(b, name, s.EpicsUnlinked)
	event.On(b, name, s.IssuePromoted)
	const references = "cross-references"
	event.On(b, references, s.IssueMentions)
	event.On(b, references, s.IssueMentionsMore)
	event.On(b, references, s.RequestMentions)
	event.On(b, references, s.RequestMentionsMore)
	event.On(b, references, s.EpicMentions)
	event.On(b, references, s.EpicMentionsMore)
	event.On(b, references, s.NoteMentions)
	event.On(b, references, s.NoteMentionsMore)
	event.On(b, references, s.Pushed)
}

// IssueCreated tells what a new issue was made with.
func (s *Service) IssueCreated(ctx context.Context, e issue.Created) error {
	if e.CopyOf != 0 {
		return nil // it says where it comes from
	}
	var lines []string
	lines, err := s.people(ctx, lines, e.Assigned, Assigned)
	if err != nil {
		return err
	}
	if e.Row().DueDate != nil {
		lines = append(lines, DueDate(nil, e.Row().DueDate))
	}
	return s.record(ctx, e.Fact, lines)
}

// IssueUpdated tells what changed on an issue.
func (s *Service) IssueUpdated(ctx context.Context, e issue.Updated) error {
	var lines []string
	was, is := e.Before, e.Row()
	if was.Title != is.Title {
		lines = append(lines, Title(was.Title, is.Title))
	}
	if e.Has("description") {
		lines = append(lines, Description(text(was.Description), text(is.Description))...)
	}
	if was.Type != is.Type {
		lines = append(lines, Type(string(was.Type), string(is.Type)))
	}
	lines, err := s.people(ctx, lines, e.Assigned, Assigned)
	if err != nil {
		return err
	}
	if was.Confidential != is.Confidential {
		lines = append(lines, Confidential(is.Confidential))
	}
	if was.Locked() != is.Locked() {
		lines = append(lines, Locked(is.Locked(), "issue"))
	}
	if e.Has("due_date") {
		lines = append(lines, DueDate(was.DueDate, is.DueDate))
	}
	lines = append(lines, s.time(e.Time, is.Estimate)...)
	return s.record(ctx, e.Fact, lines)
}

func (s *Service) record(ctx context.Context, f issue.Fact, lines []string) error {
	return s.Notes.Record(ctx, note.System{
		On: noteable.Ref{Kind: noteable.Issue, ID: int64(f.Row().ID)}, ProjectID: f.Row().ProjectID, AuthorID: f.By.UserID, At: f.At,
	}, lines...)
}

// people adds to lines the one about users who were added and removed, if any were.
func (s *Service) people(ctx context.Context, lines []string, who func() (added, removed []authz.UserID), line func(added, removed []string) string) ([]string, error) {
	added, removed := who()
	if len(added)+len(removed) == 0 {
		return lines, nil
	}
	names, err := s.names(ctx, added, removed)
	if err != nil {
		return nil, err
	}
	return append(lines, line(names[:len(added)], names[len(added):])), nil
}

// names returns the usernames of all the ids in order.
func (s *Service) names(ctx context.Context, added, removed []authz.UserID) ([]string, error) {
	ids := slices.Concat(added, removed)
	users, err := s.Users.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		if u := users[id]; u != nil {
			out[i] = u.Username
		}
	}
	return out, nil
}
