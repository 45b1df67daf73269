package payload

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// EmojiBody is the body about a reaction, with what it is to.
type EmojiBody struct {
	Kind         string                  `json:"object_kind"`
	Event        string                  `json:"event_type"` // award or revoke
	User         *UserBlock              `json:"user"`
	ProjectID    project.ID              `json:"project_id"`
	Project      *ProjectBlock           `json:"project"`
	Attributes   EmojiAttributes         `json:"object_attributes"`
	Note         *NoteAttributes         `json:"note,omitempty"`
	Issue        *IssueAttributes        `json:"issue,omitempty"`
	MergeRequest *MergeRequestAttributes `json:"merge_request,omitempty"`
	Snippet      *SnippetBlock           `json:"project_snippet,omitempty"`
	Commit       *CommitBlock            `json:"commit,omitempty"`
}

// EmojiAttributes are those of a reaction.
type EmojiAttributes struct {
	UserID     authz.UserID  `json:"user_id"`
	CreatedAt  string        `json:"created_at"`
	ID         award.ID      `json:"id"`
	Name       string        `json:"name"`
	TargetType noteable.Kind `json:"awardable_type"`
	TargetID   int64         `json:"awardable_id"`
	UpdatedAt  string        `json:"updated_at"`
	Action     string        `json:"action"` // award or revoke
	URL        string        `json:"awarded_on_url"`
}

// Emoji builds the body about a reaction to something of p. It is nil where that no longer exists or is confidential.
func (s *Service) Emoji(ctx context.Context, p *project.Project, a *award.Award, to noteable.Ref, action string) (*EmojiBody, error) {
	var n *note.Note
	if to.Kind == noteable.Note {
		found, err := s.Notes.Load(ctx, []note.ID{note.ID(to.ID)})
		if n = found[note.ID(to.ID)]; err != nil || n == nil || n.Internal {
			return nil, err
		}
		to = refOf(p, n)
	}
	on, err := s.Noted(ctx, p, to)
	if err != nil || on == nil || on.Hidden {
		return nil, err
	}
	u, err := s.actor(ctx, a.UserID)
	if err != nil {
		return nil, err
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &EmojiBody{
		Kind: "emoji", Event: action, User: s.user(u), ProjectID: p.ID, Project: block,
		Attributes: EmojiAttributes{
			UserID: a.UserID, CreatedAt: Stamp(a.CreatedAt), ID: a.ID, Name: a.Name, TargetType: a.Kind, TargetID: a.TargetID,
			UpdatedAt: Stamp(a.UpdatedAt), Action: action, URL: on.URL,
		},
		Issue: on.Issue, MergeRequest: on.MergeRequest, Snippet: on.Snippet, Commit: on.Commit,
	}
	if n != nil {
		if out.Note, err = s.note(ctx, p, n, on); err != nil {
			return nil, err
		}
		out.Attributes.URL = out.Note.URL
	}
	return out, nil
}
