package payload

import (
	"context"
	"fmt"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
)

// NoteBody is what is told of a comment, with what it is on.
type NoteBody struct {
	Kind       string          `json:"object_kind"`
	Event      string          `json:"event_type"` // note or confidential_note
	User       *UserBlock      `json:"user"`
	ProjectID  project.ID      `json:"project_id"`
	Project    *ProjectBlock   `json:"project"`
	Attributes NoteAttributes  `json:"object_attributes"`
	Repository RepositoryBlock `json:"repository"`
	NotedBlocks
}

// NotedBlocks are the things that people comment on and react to, one of them.
type NotedBlocks struct {
	Issue        *IssueAttributes        `json:"issue,omitempty"`
	MergeRequest *MergeRequestAttributes `json:"merge_request,omitempty"`
	Commit       *CommitBlock            `json:"commit,omitempty"`
	Snippet      *SnippetBlock           `json:"snippet,omitempty"`
}

// NoteAttributes are those of a comment.
type NoteAttributes struct {
	AuthorID     authz.UserID   `json:"author_id"`
	Changed      *note.Position `json:"change_position"`
	CommitID     *string        `json:"commit_id"`
	CreatedAt    string         `json:"created_at"`
	DiscussionID string         `json:"discussion_id"`
	ID           note.ID        `json:"id"`
	Internal     bool           `json:"internal"`
	LineCode     *string        `json:"line_code"`
	Note         string         `json:"note"`
	TargetID     *int64         `json:"noteable_id"` // null for a commit
	TargetType   noteable.Kind  `json:"noteable_type"`
	Original     *note.Position `json:"original_position"`
	Position     *note.Position `json:"position"`
	ProjectID    project.ID     `json:"project_id"`
	ResolvedAt   *string        `json:"resolved_at"`
	ResolvedByID *authz.UserID  `json:"resolved_by_id"`
	System       bool           `json:"system"`
	Type         *string        `json:"type"`
	UpdatedAt    string         `json:"updated_at"`
	UpdatedByID  *authz.UserID  `json:"updated_by_id"`
	Description  string         `json:"description"` // the note with whole addresses of images
	URL          string         `json:"url"`
	Action       string         `json:"action,omitempty"` // create or update, of an event about the note itself
}

// SnippetBlock is a snippet of a project.
type SnippetBlock struct {
	ID          snippet.ID   `json:"id"`
	Title       string       `json:"title"`
	Description *string      `json:"description"`
	AuthorID    authz.UserID `json:"author_id"`
	ProjectID   *project.ID  `json:"project_id"`
	CreatedAt   string       `json:"created_at"`
	UpdatedAt   string       `json:"updated_at"`
	FileName    *string      `json:"file_name"` // the first file; null for none
	Type        string       `json:"type"`
	Visibility  int          `json:"visibility_level"`
	URL         string       `json:"url"`
}

// Noted is what a comment or reaction is on.
type Noted struct {
	NotedBlocks

	URL    string
	Labels []string // titles
	Hidden bool     // it is confidential
}

// Note builds the body about a comment on something of p.
func (s *Service) Note(ctx context.Context, p *project.Project, n *note.Note, on *Noted, by authz.UserID, action string) (*NoteBody, error) {
	if by == 0 {
		by = n.AuthorID
	}
	u, err := s.actor(ctx, by)
	if err != nil {
		return nil, err
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &NoteBody{
		Kind: "note", Event: "note", User: s.user(u), ProjectID: p.ID, Project: block, Attributes: s.note(p, n, on), Repository: repository(p, block),
		NotedBlocks: on.NotedBlocks,
	}
	out.Attributes.Action = action
	if n.Internal || on.Hidden {
		out.Event = "confidential_note"
	}
	return out, nil
}

func (s *Service) note(p *project.Project, n *note.Note, on *Noted) NoteAttributes {
	original := n.Original
	if original == nil {
		original = n.Position
	}
	out := NoteAttributes{
		AuthorID: n.AuthorID, Changed: n.Changed, CommitID: n.CommitID, CreatedAt: Stamp(n.CreatedAt), DiscussionID: n.DiscussionID, ID: n.ID,
		Internal: n.Internal, LineCode: n.LineCode, Note: n.Body, TargetType: n.Kind, Original: original, Position: n.Position, ProjectID: p.ID,
		ResolvedAt: stampOf(n.ResolvedAt), ResolvedByID: n.ResolvedByID, System: n.System, Type: n.Type, UpdatedAt: Stamp(n.UpdatedAt),
		UpdatedByID: n.LastEditedByID, Description: *s.images(p, &n.Body), URL: fmt.Sprintf("%s#note_%d", on.URL, n.ID),
	}
	if n.Kind != noteable.Commit {
		out.TargetID = &n.TargetID
	}
	return out
}

// Noted reads something of p that people comment on. It is nil where it is gone, and for kinds that are in no body.
func (s *Service) Noted(ctx context.Context, p *project.Project, ref noteable.Ref) (*Noted, error) {
	out := &Noted{}
	switch ref.Kind {
	case noteable.Issue:
		found, err := s.Issues.ByIDs(ctx, authz.System(), []issue.ID{issue.ID(ref.ID)})
		i := found[issue.ID(ref.ID)]
		if err != nil || i == nil {
			return nil, err
		}
		a := s.issue(p, i)
		out.Issue, out.URL, out.Hidden, out.Labels = &a, a.URL, i.Confidential, titles(a.Labels)
	case noteable.MergeRequest:
		found, err := s.MergeRequests.ByIDs(ctx, authz.System(), []mergerequest.ID{mergerequest.ID(ref.ID)})
		m := found[mergerequest.ID(ref.ID)]
		if err != nil || m == nil {
			return nil, err
		}
		a, err := s.mergeRequest(ctx, p, m)
		if err != nil {
			return nil, err
		}
		out.MergeRequest, out.URL, out.Labels = a, a.URL, titles(a.Labels)
	case noteable.Snippet:
		found, err := s.Snippets.ByIDs(ctx, authz.System(), []snippet.ID{snippet.ID(ref.ID)})
		n := found[snippet.ID(ref.ID)]
		if err != nil || n == nil {
			return nil, err
		}
		out.Snippet, out.URL = s.snippet(p, n), s.URLs.Snippet(p.FullPath, int64(n.ID))
	case noteable.Commit:
		c, err := s.commit(ctx, p, ref.Commit)
		if err != nil || c == nil {
			return nil, err
		}
		out.Commit, out.URL = c, c.URL
	default:
		return nil, nil
	}
	return out, nil
}

func (s *Service) snippet(p *project.Project, n *snippet.Snippet) *SnippetBlock {
	out := &SnippetBlock{
		ID: n.ID, Title: n.Title, Description: s.images(p, n.Description), AuthorID: n.AuthorID, ProjectID: n.ProjectID, CreatedAt: Stamp(n.CreatedAt),
		UpdatedAt: Stamp(n.UpdatedAt), Type: "ProjectSnippet", Visibility: int(n.Visibility), URL: s.URLs.Snippet(p.FullPath, int64(n.ID)),
	}
	if files := n.Files(); len(files) > 0 {
		name := text(files[0])
		out.FileName = &name
	}
	return out
}

func titles(of []LabelBlock) []string {
	out := make([]string, len(of))
	for i := range of {
		out[i] = of[i].Title
	}
	return out
}
