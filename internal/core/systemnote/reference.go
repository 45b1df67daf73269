package systemnote

import (
	"context"
	"strconv"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	parsed "tenon/internal/core/reference"
)

// maxMentioned is how many issues and merge requests one text is mentioned on.
const maxMentioned = 100

// References reads what texts refer to.
type References interface {
	Parse(text string) []parsed.Reference
	Words(text string) []parsed.Reference
	Resolve(ctx context.Context, as authz.Actor, in parsed.Place, refs []parsed.Reference) ([]*parsed.Target, error)
}

// origin is an issue or a merge request whose text, or a note on which, mentions others, or a commit
// whose message does.
type origin struct {
	authz.Stamp

	ref     noteable.Ref
	number  int64
	project *project.Project
}

// said gives the line for something in the project with this id.
func (o origin) said(in project.ID) string {
	if o.ref.Kind == noteable.Commit {
		hash := o.ref.Commit[:shownHash]
		if in != o.project.ID {
			hash = o.project.FullPath + "@" + hash
		}
		return "mentioned in commit " + hash
	}
	name, mark := "issue ", "#"
	if o.ref.Kind == noteable.MergeRequest {
		name, mark = "merge request ", "!"
	}
	if in != o.project.ID {
		name += o.project.FullPath
	}
	return "mentioned in " + name + mark + strconv.FormatInt(o.number, 10)
}

// mention writes where it is mentioned on each issue and merge request that a title or a text
// in Markdown refers to and that who wrote it may read.
func (s *Service) mention(ctx context.Context, from origin, title, text string) error {
	var refs []parsed.Reference
	for _, list := range [][]parsed.Reference{s.parse(title, s.references.Words), s.parse(text, s.references.Parse)} {
		for i := range list {
			if k := list[i].Kind; (k == parsed.Issue || k == parsed.MergeRequest) && len(refs) < maxMentioned {
				refs = append(refs, list[i])
			}
		}
	}
	if len(refs) == 0 {
		return nil
	}
	targets, err := s.references.Resolve(ctx, from.By, parsed.Of(from.project), refs)
	if err != nil {
		return err
	}
	var to []note.CrossReference
	seen := map[noteable.Ref]bool{from.ref: true}
	for _, t := range targets {
		if t == nil {
			continue
		}
		on := noteable.Ref{Kind: noteable.Issue, ID: t.ID}
		if t.Kind == parsed.MergeRequest {
			on.Kind = noteable.MergeRequest
		}
		if !seen[on] {
			seen[on] = true
			to = append(to, note.CrossReference{On: on, ProjectID: t.ProjectID, Body: from.said(t.ProjectID)})
		}
	}
	return s.notes.Refer(ctx, note.Source{Ref: from.ref, ProjectID: from.project.ID, AuthorID: from.By.UserID, At: from.At}, to...)
}

// parse reads a text that may refer to something.
func (s *Service) parse(text string, read func(string) []parsed.Reference) []parsed.Reference {
	if !strings.ContainsAny(text, "#!/") {
		return nil
	}
	return read(text)
}

func ofIssue(f issue.Fact) origin {
	return origin{Stamp: f.Stamp, ref: noteable.Ref{Kind: noteable.Issue, ID: int64(f.Issue.ID)}, number: int64(f.Issue.IID), project: f.Project}
}

func ofRequest(f mergerequest.Fact) origin {
	return origin{
		Stamp: f.Stamp, ref: noteable.Ref{Kind: noteable.MergeRequest, ID: int64(f.MergeRequest.ID)},
		number: int64(f.MergeRequest.IID), project: f.Project,
	}
}

// IssueMentions tells what a new issue mentions.
func (s *Service) IssueMentions(ctx context.Context, e issue.Created) error {
	return s.mention(ctx, ofIssue(e.Fact), e.Issue.Title, text(e.Issue.Description))
}

// IssueMentionsMore tells what an issue mentions whose text was changed.
func (s *Service) IssueMentionsMore(ctx context.Context, e issue.Updated) error {
	if e.Diff.OldTitle == nil && !e.Diff.Description {
		return nil
	}
	return s.mention(ctx, ofIssue(e.Fact), e.Issue.Title, text(e.Issue.Description))
}

// RequestMentions tells what a new merge request mentions.
func (s *Service) RequestMentions(ctx context.Context, e mergerequest.Created) error {
	return s.mention(ctx, ofRequest(e.Fact), e.MergeRequest.Title, e.MergeRequest.Text())
}

// RequestMentionsMore tells what a merge request mentions whose text was changed.
func (s *Service) RequestMentionsMore(ctx context.Context, e mergerequest.Updated) error {
	if e.Diff.OldTitle == nil && !e.Diff.Description {
		return nil
	}
	return s.mention(ctx, ofRequest(e.Fact), e.MergeRequest.Title, e.MergeRequest.Text())
}

// NoteMentions tells what a new comment mentions.
func (s *Service) NoteMentions(ctx context.Context, e note.Created) error {
	return s.noteMentions(ctx, e.Fact)
}

// NoteMentionsMore tells what a comment mentions whose text was changed.
func (s *Service) NoteMentionsMore(ctx context.Context, e note.Updated) error {
	return s.noteMentions(ctx, e.Fact)
}

// noteMentions leaves internal notes out: others would learn of them by what they mention.
func (s *Service) noteMentions(ctx context.Context, f note.Fact) error {
	if f.Note.Internal || f.Target.IID == nil || f.Project == nil {
		return nil
	}
	return s.mention(ctx, origin{Stamp: f.Stamp, ref: f.Target.Ref, number: *f.Target.IID, project: f.Project}, "", f.Note.Body)
}

func text(t *string) string {
	if t == nil {
		return ""
	}
	return *t
}
