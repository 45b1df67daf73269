package systemnote

import (
	"context"
	"strconv"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	parsed "tenon/internal/core/reference"
)

// maxMentioned is how many issues, merge requests and epics one text is mentioned on.
const maxMentioned = 100

// References reads what texts refer to.
type References interface {
	Parse(text string) []parsed.Reference
	Words(text string) []parsed.Reference
	Resolve(ctx context.Context, as authz.Actor, in parsed.Scope, refs []parsed.Reference) ([]*parsed.Target, error)
}

// origin is an issue, a merge request or an epic whose text, or a note on which, mentions others, or
// a commit whose message does.
type origin struct {
	authz.Stamp

	ref     noteable.Ref
	number  int64
	project *project.Project  // nil of an epic
	group   authz.NamespaceID // of an epic
	path    string            // full, of the group
}

// place is where the texts of the origin stand.
func (o *origin) place() parsed.Scope {
	if o.project == nil {
		return parsed.Scope{Group: o.group, GroupPath: o.path}
	}
	return parsed.Of(o.project)
}

// said returns the line for something that the origin mentions.
func (s *Service) said(o *origin, on *parsed.Target) string {
	kind, path := s.Kinds.Of(o.ref.Kind), o.path
	mark := kind.Mark
	if o.project != nil {
		path = o.project.FullPath
	}
	number := strconv.FormatInt(o.number, 10)
	near := o.project != nil && on.ProjectID == o.project.ID || o.project == nil && on.ProjectID == 0 && on.GroupID == o.group
	if o.ref.Kind == noteable.Commit {
		if number = o.ref.Commit[:shownHash]; near {
			mark = ""
		}
	}
	if near {
		path = ""
	}
	return "mentioned in " + kind.Noun + " " + path + mark + number
}

// mentioned is the kind of things that cross-references are written on where a reference leads to one, "" for none.
func (s *Service) mentioned(kind parsed.Kind) noteable.Kind {
	for _, k := range s.Kinds.All() {
		if k.History && k.Reference == string(kind) {
			return k.Kind
		}
	}
	return ""
}

// mention writes where it is mentioned on each issue, merge request and epic that a title or a text
// in Markdown refers to and that who wrote it may read.
func (s *Service) mention(ctx context.Context, from origin, title, text string) error {
	var refs []parsed.Reference
	for _, list := range [][]parsed.Reference{s.parse(title, s.References.Words), s.parse(text, s.References.Parse)} {
		for i := range list {
			if s.mentioned(list[i].Kind) != "" && len(refs) < maxMentioned {
				refs = append(refs, list[i])
			}
		}
	}
	if len(refs) == 0 {
		return nil
	}
	targets, err := s.References.Resolve(ctx, from.By, from.place(), refs)
	if err != nil {
		return err
	}
	var to []note.CrossReference
	seen := map[noteable.Ref]bool{from.ref: true}
	for _, t := range targets {
		if t == nil {
			continue
		}
		on := noteable.Ref{Kind: s.mentioned(t.Kind), ID: t.ID}
		if !seen[on] {
			seen[on] = true
			to = append(to, note.CrossReference{On: on, ProjectID: t.ProjectID, GroupID: t.GroupID, Body: s.said(&from, t)})
		}
	}
	source := note.Source{Ref: from.ref, AuthorID: from.By.UserID, At: from.At}
	if from.project != nil {
		source.ProjectID = from.project.ID
	}
	return s.Notes.Refer(ctx, source, to...)
}

// parse reads a text that may refer to something.
func (s *Service) parse(text string, read func(string) []parsed.Reference) []parsed.Reference {
	if !strings.ContainsAny(text, "#!&/") {
		return nil
	}
	return read(text)
}

func ofIssue(f issue.Fact) origin {
	return origin{Stamp: f.Stamp, ref: f.Row().Ref(), number: int64(f.Row().IID), project: f.Project}
}

func ofRequest(f mergerequest.Fact) origin {
	return origin{
		Stamp: f.Stamp, ref: f.Row().Ref(),
		number: int64(f.Row().IID), project: f.Project,
	}
}

// IssueMentions tells what a new issue mentions.
func (s *Service) IssueMentions(ctx context.Context, e issue.Created) error {
	return s.mention(ctx, ofIssue(e.Fact), e.Row().Title, text(e.Row().Description))
}

// IssueMentionsMore tells what an issue mentions whose text was changed.
func (s *Service) IssueMentionsMore(ctx context.Context, e issue.Updated) error {
	if !e.Has("title", "description") {
		return nil
	}
	return s.mention(ctx, ofIssue(e.Fact), e.Row().Title, text(e.Row().Description))
}

// RequestMentions tells what a new merge request mentions.
func (s *Service) RequestMentions(ctx context.Context, e mergerequest.Created) error {
	return s.mention(ctx, ofRequest(e.Fact), e.Row().Title, e.Row().Text())
}

// RequestMentionsMore tells what a merge request mentions whose text was changed.
func (s *Service) RequestMentionsMore(ctx context.Context, e mergerequest.Updated) error {
	if !e.Has("title", "description") {
		return nil
	}
	return s.mention(ctx, ofRequest(e.Fact), e.Row().Title, e.Row().Text())
}

func ofEpic(f epic.Fact) origin {
	e := f.Row()
	return origin{Stamp: f.Stamp, ref: e.Ref(), number: int64(e.IID), group: e.GroupID, path: e.Path}
}

// EpicMentions tells what a new epic mentions.
func (s *Service) EpicMentions(ctx context.Context, e epic.Created) error {
	return s.mention(ctx, ofEpic(e.Fact), e.Row().Title, text(e.Row().Description))
}

// EpicMentionsMore tells what an epic mentions whose text was changed.
func (s *Service) EpicMentionsMore(ctx context.Context, e epic.Updated) error {
	if !e.Has("title", "description") {
		return nil
	}
	return s.mention(ctx, ofEpic(e.Fact), e.Row().Title, text(e.Row().Description))
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
	from := origin{Stamp: f.Stamp, ref: f.Target.Ref, project: f.Project, group: f.Target.GroupID, path: f.Target.GroupPath}
	switch {
	case f.Row().Internal:
		return nil
	case f.Target.Kind == noteable.Epic:
		from.number = f.Target.EpicIID
	case f.Target.IID != nil && f.Project != nil:
		from.number = *f.Target.IID
	default:
		return nil
	}
	return s.mention(ctx, from, "", f.Row().Body)
}

func text(t *string) string {
	if t == nil {
		return ""
	}
	return *t
}
