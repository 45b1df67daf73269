package payload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

const (
	maxCommits = 20   // of a push
	maxFiles   = 1000 // of a commit
)

// PushBody is the body about a branch or tag that was pushed.
type PushBody struct {
	Kind        string              `json:"object_kind"` // push or tag_push
	Event       string              `json:"event_name"`  // as Kind
	Before      string              `json:"before"`
	After       string              `json:"after"`
	Ref         string              `json:"ref"` // full name
	Protected   bool                `json:"ref_protected"`
	CheckoutSHA *string             `json:"checkout_sha"` // the commit; null where the reference was deleted
	Message     *string             `json:"message"`      // of an annotated tag
	UserID      *authz.UserID       `json:"user_id"`
	UserName    string              `json:"user_name"`
	Username    string              `json:"user_username"`
	UserEmail   string              `json:"user_email"` // "" unless the user shows it
	UserAvatar  *string             `json:"user_avatar"`
	ProjectID   project.ID          `json:"project_id"`
	Project     *ProjectBlock       `json:"project"`
	Commits     []PushedCommitBlock `json:"commits"` // the newest 20, the oldest first
	Total       int                 `json:"total_commits_count"`
	Options     map[string]any      `json:"push_options"`
	Repository  PushedRepository    `json:"repository"`
}

// PushedCommitBlock is a commit with its files.
type PushedCommitBlock struct {
	CommitBlock

	Added    []string `json:"added"`
	Modified []string `json:"modified"`
	Removed  []string `json:"removed"`
}

// PushedRepository is a project as older releases have it in bodies of pushes and jobs.
type PushedRepository struct {
	RepositoryBlock

	HTTP       string `json:"git_http_url"`
	SSH        string `json:"git_ssh_url"`
	Visibility int    `json:"visibility_level"`
}

// PushEvent is what happened to a branch or tag.
type PushEvent struct {
	By      authz.UserID // zero for the server itself
	Change  repo.RefChange
	Options []string
}

// RepositoryUpdateBody is the body for hooks of the instance about a push.
type RepositoryUpdateBody struct {
	Event      string        `json:"event_name"`
	UserID     *authz.UserID `json:"user_id"`
	UserName   string        `json:"user_name"`
	UserEmail  string        `json:"user_email"`
	UserAvatar *string       `json:"user_avatar"`
	ProjectID  project.ID    `json:"project_id"`
	Project    *ProjectBlock `json:"project"`
	Changes    []RefBlock    `json:"changes"`
	Refs       []string      `json:"refs"`
}

// RefBlock is a reference that was moved.
type RefBlock struct {
	Before string `json:"before"`
	After  string `json:"after"`
	Ref    string `json:"ref"`
}

// Push builds the body about a branch or tag of p that was pushed.
func (s *Service) Push(ctx context.Context, p *project.Project, e PushEvent) (*PushBody, error) {
	by, err := s.actor(ctx, e.By)
	if err != nil {
		return nil, err
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	c := e.Change
	out := &PushBody{
		Kind: "push", Before: c.Old.String(), After: c.New.String(), Ref: string(c.Ref), ProjectID: p.ID, Project: block,
		Options: options(e.Options), Repository: pushedRepository(p, block), Commits: []PushedCommitBlock{},
	}
	if by != nil {
		out.UserID, out.UserName, out.Username, out.UserEmail, out.UserAvatar = &by.ID, by.Name, by.Username, by.PublicEmail, s.Accounts.AvatarURL(by)
	}
	rules := s.Protections.Branches
	if c.Ref.IsTag() {
		out.Kind, rules = "tag_push", s.Protections.Tags
	}
	out.Event = out.Kind
	standing, err := rules(ctx, authz.System(), p)
	if err != nil {
		return nil, err
	}
	out.Protected = standing.Protects(c.Ref.Short())
	if c.Deleted() {
		return out, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.pushed(ctx, r, p, c, out); err != nil && !errors.Is(err, gitstore.ErrNotFound) { // pushed over, and swept away
		return nil, fmt.Errorf("read push: %w", err)
	}
	return out, nil
}

// pushed reads what a reference leads to now.
func (s *Service) pushed(ctx context.Context, r *gitcmd.Repo, p *project.Project, c repo.RefChange, out *PushBody) error {
	tip, err := r.Peel(ctx, c.New)
	if err != nil {
		return err
	}
	sha := tip.ID.String()
	out.CheckoutSHA = &sha
	if tip.Kind != gitstore.KindCommit {
		return nil
	}
	ids := []gitstore.ObjectID{tip.ID}
	if c.Ref.IsTag() {
		out.Total = 1
		if tip.ID != c.New {
			tag, err := r.ShortTag(ctx, c.New)
			if err != nil {
				return err
			}
			text := strings.TrimSuffix(tag.Message, "\n")
			out.Message = &text
		}
	} else if ids, out.Total, err = s.arrived(ctx, r, p, c); err != nil {
		return err
	}
	commits, err := r.Commits(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(commits) {
		block, err := s.pushedCommit(ctx, r, p, c)
		if err != nil {
			return err
		}
		out.Commits = append(out.Commits, *block)
	}
	return nil
}

// arrived returns the newest commits that a push has brought to a branch, newest first, and how many there are. A new branch brings
// those that the default branch does not have.
func (s *Service) arrived(ctx context.Context, r *gitcmd.Repo, p *project.Project, c repo.RefChange) ([]gitstore.ObjectID, int, error) {
	o := gitcmd.LogOptions{From: []gitstore.ObjectID{c.New}}
	since := c.Old
	if since.IsZero() && p.DefaultBranch != nil && *p.DefaultBranch != c.Ref.Short() {
		tip, err := r.Branch(ctx, *p.DefaultBranch)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return nil, 0, err
		}
		since = tip
	}
	if !since.IsZero() {
		o.Not = []gitstore.ObjectID{since}
	}
	total, err := r.Count(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	o.Limit = maxCommits
	ids, err := r.Log(ctx, o)
	return ids, total, err
}

func (s *Service) pushedCommit(ctx context.Context, r *gitcmd.Repo, p *project.Project, c *gitstore.Commit) (*PushedCommitBlock, error) {
	out := &PushedCommitBlock{CommitBlock: *s.commitBlock(p, c), Added: []string{}, Modified: []string{}, Removed: []string{}}
	var parent gitstore.ObjectID
	if len(c.Parents) > 0 {
		parent = c.Parents[0]
	}
	diff, err := r.Diff(ctx, parent, c.ID, gitcmd.DiffOptions{NoPatch: true, NoRenames: true, MaxFiles: maxFiles})
	if err != nil {
		return nil, err
	}
	for i := range diff.Files {
		f := &diff.Files[i]
		switch {
		case f.New():
			out.Added = append(out.Added, text(f.NewPath))
		case f.Deleted():
			out.Removed = append(out.Removed, text(f.OldPath))
		default:
			out.Modified = append(out.Modified, text(f.NewPath))
		}
	}
	return out, nil
}

// text is a path without bytes that are no UTF-8.
func text(path string) string { return strings.ToValidUTF8(path, "�") }

// RepositoryUpdate builds the body about a whole push to p.
func (s *Service) RepositoryUpdate(ctx context.Context, p *project.Project, by authz.UserID, changes []repo.RefChange) (*RepositoryUpdateBody, error) {
	u, err := s.actor(ctx, by)
	if err != nil {
		return nil, err
	}
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &RepositoryUpdateBody{Event: "repository_update", ProjectID: p.ID, Project: block, Changes: make([]RefBlock, len(changes)), Refs: make([]string, len(changes))}
	if u != nil {
		out.UserID, out.UserName, out.UserEmail, out.UserAvatar = &u.ID, u.Name, u.PublicEmail, s.Accounts.AvatarURL(u)
	}
	for i, c := range changes {
		out.Changes[i], out.Refs[i] = RefBlock{c.Old.String(), c.New.String(), string(c.Ref)}, string(c.Ref)
	}
	return out, nil
}

// actor reads a user, nil for the server itself and for one who no longer exists.
func (s *Service) actor(ctx context.Context, id authz.UserID) (*account.User, error) {
	if id == 0 {
		return nil, nil
	}
	found, err := s.Accounts.Load(ctx, []authz.UserID{id})
	return found[id], err
}

// projectBlock reads the namespace of a project for its block.
func (s *Service) projectBlock(ctx context.Context, p *project.Project) (*ProjectBlock, error) {
	parents, err := s.namesOf(ctx, []authz.NamespaceID{p.ParentID})
	if err != nil {
		return nil, err
	}
	return s.project(p, parents), nil
}

func pushedRepository(p *project.Project, of *ProjectBlock) PushedRepository {
	return PushedRepository{repository(p, of), of.HTTP, of.SSH, of.Visibility}
}

// options sorts those of git push by what they are for: ci.skip is {"ci":{"skip":true}}. A value that is there
// more than once, as ci.variable, is an object of how often each was given.
func options(given []string) map[string]any {
	out := map[string]any{}
	for _, option := range given {
		name, value, valued := strings.Cut(option, "=")
		namespace, key, ok := strings.Cut(name, ".")
		if !ok || !slices.Contains([]string{"ci", "merge_request"}, namespace) {
			continue
		}
		all, _ := out[namespace].(map[string]any)
		if all == nil {
			all = map[string]any{}
			out[namespace] = all
		}
		switch {
		case !valued:
			all[key] = true
		case slices.Contains([]string{"variable", "input", "label", "unlabel", "assign", "unassign"}, key):
			many, _ := all[key].(map[string]int)
			if many == nil {
				many = map[string]int{}
				all[key] = many
			}
			many[value]++
		default:
			all[key] = value
		}
	}
	return out
}

// at formats a time as commits have it.
func at(t time.Time) string { return t.Format(time.RFC3339) }

// atOf is at for a time that may be missing.
func atOf(t *db.Time) *string {
	if t == nil {
		return nil
	}
	return new(at(t.Time))
}

// atTime is atOf for a time of no row.
func atTime(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(at(*t))
}
