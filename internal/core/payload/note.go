package payload

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
)

// NoteBody is the body about a comment, with what it is on.
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

// NotedBlocks are what people comment on and react to, one of them.
type NotedBlocks struct {
	Issue        *IssueAttributes        `json:"issue,omitempty"`
	MergeRequest *MergeRequestAttributes `json:"merge_request,omitempty"`
	Commit       *CommitBlock            `json:"commit,omitempty"`
	Snippet      *SnippetBlock           `json:"snippet,omitempty"`
}

// NoteAttributes are those of a comment.
type NoteAttributes struct {
	Attachment   *string        `json:"attachment"` // null: only notes of long ago have one
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
	ByPush       *bool          `json:"resolved_by_push"` // null: who has pushed is who has resolved
	Diff         *DiffBlock     `json:"st_diff"`          // of the file that a comment on a commit is about; null elsewhere
	System       bool           `json:"system"`
	Type         *string        `json:"type"`
	UpdatedAt    string         `json:"updated_at"`
	UpdatedByID  *authz.UserID  `json:"updated_by_id"`
	Description  string         `json:"description"` // the note with whole addresses of images
	URL          string         `json:"url"`
	Action       string         `json:"action,omitempty"` // create or update, of an event about the note itself
}

// DiffBlock is what a commit did to a file.
type DiffBlock struct {
	Diff    string `json:"diff"` // from the first @@ on; "" where it is too large
	NewPath string `json:"new_path"`
	OldPath string `json:"old_path"`
	OldMode string `json:"a_mode"`
	NewMode string `json:"b_mode"`
	New     bool   `json:"new_file"`
	Renamed bool   `json:"renamed_file"`
	Deleted bool   `json:"deleted_file"`
}

// SnippetBlock is a snippet of a project.
type SnippetBlock struct {
	ID          snippet.ID   `json:"id"`
	Title       string       `json:"title"`
	Description *string      `json:"description"`
	Content     *string      `json:"content"` // of the first file; null where there is none, or it is too large
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
	Hidden bool // it is confidential
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
	attributes, err := s.note(ctx, p, n, on)
	if err != nil {
		return nil, err
	}
	out := &NoteBody{
		Kind: "note", Event: "note", User: s.user(u), ProjectID: p.ID, Project: block, Attributes: *attributes, Repository: repository(p, block),
		NotedBlocks: on.NotedBlocks,
	}
	out.Attributes.Action = action
	if n.Internal || on.Hidden {
		out.Event = "confidential_note"
	}
	return out, nil
}

func (s *Service) note(ctx context.Context, p *project.Project, n *note.Note, on *Noted) (*NoteAttributes, error) {
	original := n.Original
	if original == nil {
		original = n.Position
	}
	out := &NoteAttributes{
		AuthorID: n.AuthorID, Changed: n.Changed, CommitID: n.CommitID, CreatedAt: Stamp(n.CreatedAt), DiscussionID: n.DiscussionID, ID: n.ID,
		Internal: n.Internal, LineCode: n.LineCode, Note: n.Body, TargetType: n.Kind, Original: original, Position: n.Position, ProjectID: p.ID,
		ResolvedAt: stampOf(n.ResolvedAt), ResolvedByID: n.ResolvedByID, System: n.System, Type: n.Type, UpdatedAt: Stamp(n.UpdatedAt),
		UpdatedByID: n.LastEditedByID, Description: *s.images(s.URLs.Project(p.FullPath), &n.Body), URL: fmt.Sprintf("%s#note_%d", on.URL, n.ID),
	}
	if n.Kind != noteable.Commit {
		out.TargetID = &n.TargetID
		return out, nil
	}
	var err error
	out.Diff, err = s.diff(ctx, p, n)
	return out, err
}

// diff is what the commit that a comment is on did to the file that the comment is about, nil where it is about none, or that was not changed.
func (s *Service) diff(ctx context.Context, p *project.Project, n *note.Note) (*DiffBlock, error) {
	if n.Position == nil || n.CommitID == nil {
		return nil, nil
	}
	id, err := gitstore.ParseObjectID(*n.CommitID)
	if err != nil {
		return nil, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := r.Commit(ctx, id)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil // pushed over, and swept away
	}
	if err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	var parent gitstore.ObjectID
	if len(c.Parents) > 0 {
		parent = c.Parents[0]
	}
	found, err := r.Diff(ctx, parent, id, gitcmd.DiffOptions{MaxFiles: maxFiles})
	if err != nil {
		return nil, fmt.Errorf("compare commit: %w", err)
	}
	for i := range found.Files {
		f := &found.Files[i]
		if text(f.NewPath) == n.Position.NewPath || text(f.OldPath) == n.Position.OldPath {
			return &DiffBlock{f.Text(), text(f.NewPath), text(f.OldPath), f.OldMode.String(), f.NewMode.String(), f.New(), f.Renamed(), f.Deleted()}, nil
		}
	}
	return nil, nil
}

// Noted reads something of p that people comment on. It is nil where it no longer exists, and for kinds that are in no body.
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
		out.Issue, out.URL, out.Hidden = &a, a.URL, i.Confidential
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
		out.MergeRequest, out.URL = a, a.URL
	case noteable.Snippet:
		found, err := s.Snippets.ByIDs(ctx, authz.System(), []snippet.ID{snippet.ID(ref.ID)})
		n := found[snippet.ID(ref.ID)]
		if err != nil || n == nil {
			return nil, err
		}
		if out.Snippet, err = s.snippet(ctx, p, n); err != nil {
			return nil, err
		}
		out.URL = out.Snippet.URL
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

// maxContent bounds the content of a snippet in a body, in bytes.
const maxContent = 1 << 20

func (s *Service) snippet(ctx context.Context, p *project.Project, n *snippet.Snippet) (*SnippetBlock, error) {
	out := &SnippetBlock{
		ID: n.ID, Title: n.Title, Description: s.images(s.URLs.Project(p.FullPath), n.Description), AuthorID: n.AuthorID, ProjectID: n.ProjectID, CreatedAt: Stamp(n.CreatedAt),
		UpdatedAt: Stamp(n.UpdatedAt), Type: "ProjectSnippet", Visibility: int(n.Visibility), URL: s.URLs.Snippet(p.FullPath, int64(n.ID)),
	}
	files := n.Files()
	if len(files) == 0 {
		return out, nil
	}
	out.FileName = new(text(files[0]))
	name := snippet.Name{ID: n.ID, Path: files[0]}
	found, err := s.Snippets.Files(ctx, authz.System(), []snippet.Name{name}, func(size int64) bool { return size <= maxContent })
	if c := found[name]; c != nil && c.Data != nil {
		out.Content = new(text(string(c.Data)))
	}
	return out, err
}
