package payload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/ci"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/wiki"
)

// sampled bounds how many of the newest notes are looked at for one that may be shown.
const sampled = 50

// Sample returns what a test of a hook of a project or group sends: the newest event of the kind that the actor may read, or one that
// is made up. It is Unprocessable where there is none. That the actor may change the hook has been asked before.
func (s *Service) Sample(ctx context.Context, as authz.Actor, at authz.Place, t Trigger) (*Message, error) {
	p, err := s.sampleProject(ctx, as, at)
	if err != nil {
		return nil, err
	}
	m := &Message{Trigger: t, At: s.Now(), By: as.UserID, Chain: uuid.NewString(), Namespace: at.Namespace, Project: p}
	build := map[Trigger]func(context.Context, authz.Actor, *project.Project, *Message) error{
		Push: s.samplePush, TagPush: s.samplePush, Issue: s.sampleIssue, ConfidentialIssue: s.sampleIssue, Note: s.sampleNote, ConfidentialNote: s.sampleNote,
		MergeRequest: s.sampleRequest, Pipeline: s.samplePipeline, Job: s.sampleJob, WikiPage: s.samplePage, Emoji: s.sampleEmoji,
		Deployment: s.sampleDeployment, Release: s.sampleRelease, FeatureFlag: s.sampleFlag,
	}[t]
	switch {
	case t == ResourceAccessToken:
		err = s.sampleToken(ctx, as, at, m)
	case t == Member && at.Group:
		err = s.sampleMember(ctx, as, at, m)
	case build == nil:
		err = errs.New(errs.Unprocessable, "Testing not available for this event.")
	case p == nil:
		err = errs.New(errs.Unprocessable, "Ensure the group has a project with commits.")
	default:
		err = build(ctx, as, p, m)
	}
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		err = errs.New(errs.Unprocessable, "Ensure that you may read what the event is about.")
	}
	if err != nil {
		return nil, err
	}
	if m.JSON, err = json.Marshal(m.Body); err != nil {
		return nil, fmt.Errorf("write sample: %w", err)
	}
	return m, nil
}

// missing refuses a sample of something that the project does not have.
func missing(what string) error {
	return errs.New(errs.Unprocessable, "Ensure the project has "+what+".")
}

// sampleProject is the project of the place, or the first in a group that has commits and that the actor may read; nil for none.
func (s *Service) sampleProject(ctx context.Context, as authz.Actor, at authz.Place) (*project.Project, error) {
	if at.IsProject() {
		return s.Projects.FindByID(ctx, as, project.ID(at.ID))
	}
	id, err := db.Get[project.ID](ctx, s.DB, `SELECT p.id FROM projects p JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id
		WHERE a.ancestor_id = ? AND p.default_branch IS NOT NULL ORDER BY p.id LIMIT 1`, at.Namespace)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find project of sample: %w", err)
	}
	return s.Projects.FindByID(ctx, as, id)
}

func (s *Service) samplePush(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	if p.DefaultBranch == nil {
		return errs.New(errs.Unprocessable, "Ensure the project has at least one commit.")
	}
	c, err := s.Repos.FindCommit(ctx, as, p, *p.DefaultBranch)
	if err != nil {
		return err
	}
	change := repo.RefChange{New: c.ID}
	if len(c.Parents) > 0 {
		change.Old = c.Parents[0]
	}
	if change.Ref, err = gitstore.BranchRef(*p.DefaultBranch); err != nil {
		return fmt.Errorf("sample of push: %w", err)
	}
	if m.Trigger == TagPush {
		change.Ref, change.Old = "refs/tags/v1.0.0", gitstore.ObjectID{}
	}
	body, err := s.Push(ctx, p, PushEvent{By: as.UserID, Change: change})
	m.Ref, m.Body = string(change.Ref), body
	return err
}

func (s *Service) sampleIssue(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	f := issue.Filter{Range: page.Range{Limit: 1}}
	if m.Trigger == Issue {
		f.Confidential = new(bool)
	}
	list, err := s.Issues.List(ctx, as, p.Place(), f)
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return missing("issues")
	}
	body, err := s.Issue(ctx, p, &list.Items[0], IssueEvent{By: as.UserID, Action: "open"})
	if err != nil {
		return err
	}
	m.Body = body
	return nil
}

func (s *Service) sampleRequest(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	list, err := s.MergeRequests.List(ctx, as, p.Place(), mergerequest.Filter{Range: page.Range{Limit: 1}})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return missing("merge requests")
	}
	body, err := s.MergeRequest(ctx, p, list.Items[0], MergeRequestEvent{By: as.UserID, Action: "open"})
	if err != nil {
		return err
	}
	m.Body = body
	return nil
}

// newestNote returns the newest comment that may be shown, nil for none.
func (s *Service) newestNote(ctx context.Context, as authz.Actor, p *project.Project, hidden bool) (*note.Note, *Noted, error) {
	ids, err := db.Select[note.ID](ctx, s.DB, "SELECT n.id FROM notes n WHERE n.project_id = ? AND NOT n.system ORDER BY n.id DESC LIMIT ?", p.ID, sampled)
	if err != nil {
		return nil, nil, fmt.Errorf("list notes for sample: %w", err)
	}
	found, err := s.Notes.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		n := found[id]
		if n == nil || n.Internal && !hidden {
			continue
		}
		on, err := s.Noted(ctx, p, refOf(p, n))
		if err != nil {
			return nil, nil, err
		}
		if on != nil && (hidden || !on.Hidden) {
			return n, on, nil
		}
	}
	return nil, nil, missing("notes")
}

// refOf names what a comment is on.
func refOf(p *project.Project, n *note.Note) noteable.Ref {
	if n.Kind == noteable.Commit && n.CommitID != nil {
		return noteable.Ref{Kind: n.Kind, Project: int64(p.ID), Commit: *n.CommitID}
	}
	return noteable.Ref{Kind: n.Kind, ID: n.TargetID}
}

func (s *Service) sampleNote(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	n, on, err := s.newestNote(ctx, as, p, m.Trigger == ConfidentialNote)
	if err != nil {
		return err
	}
	body, err := s.Note(ctx, p, n, on, as.UserID, "create")
	m.Body = body
	return err
}

func (s *Service) sampleEmoji(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	n, _, err := s.newestNote(ctx, as, p, false)
	if err != nil {
		return err
	}
	now := db.At(s.Now())
	a := &award.Award{ID: 1, Name: "thumbsup", UserID: as.UserID, Kind: noteable.Note, TargetID: int64(n.ID), CreatedAt: now, UpdatedAt: now}
	body, err := s.Emoji(ctx, p, a, noteable.Ref{Kind: noteable.Note, ID: int64(n.ID)}, "award")
	if err != nil {
		return err
	}
	if body == nil {
		return missing("notes")
	}
	m.Body = body
	return nil
}

func (s *Service) samplePipeline(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	list, err := s.CI.List(ctx, as, p, ci.PipelineFilter{Range: page.Range{Limit: 1}})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return missing("CI pipelines")
	}
	body, err := s.Pipeline(ctx, p, &list.Items[0])
	if err != nil {
		return err
	}
	if body == nil {
		return missing("CI pipelines")
	}
	m.Body = body
	return nil
}

func (s *Service) sampleJob(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	list, err := s.CI.Jobs(ctx, as, p, ci.JobFilter{Range: page.Range{Limit: 1}})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return missing("CI jobs")
	}
	j, of, err := s.CI.FindJob(ctx, as, p, list.Items[0].ID)
	if err != nil {
		return err
	}
	body, err := s.Job(ctx, p, j, of)
	if err != nil {
		return err
	}
	if body == nil {
		return missing("CI jobs")
	}
	m.Body = body
	return nil
}

func (s *Service) samplePage(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	list, err := s.Wikis.List(ctx, as, p.Place(), wiki.WithoutContents)
	if err != nil && !errs.Is(err, errs.NotFound) && !errs.Is(err, errs.Forbidden) {
		return err
	}
	if len(list) == 0 {
		return errs.New(errs.Unprocessable, "Ensure the wiki is enabled and has pages.")
	}
	first := &list[0]
	history, err := s.Wikis.History(ctx, as, p.Place(), first.Slug, page.Range{Limit: 1})
	if err != nil {
		return err
	}
	e := WikiPageEvent{By: as.UserID, Slug: first.Slug, Title: first.Title, Format: first.Format, Action: "create"}
	if p.DefaultBranch != nil {
		e.Branch = *p.DefaultBranch
	}
	if len(history.Items) > 0 {
		e.Commit = history.Items[0].ID.String()
	}
	body, err := s.WikiPage(ctx, p, 0, e)
	m.Body = body
	return err
}

func (s *Service) sampleToken(ctx context.Context, as authz.Actor, at authz.Place, m *Message) error {
	p := m.Project
	if at.Group {
		p = nil
	}
	day := s.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly)
	body, err := s.AccessToken(ctx, p, at.Namespace, AccessTokenAttributes{
		UserID: as.UserID, CreatedAt: Stamp(db.At(s.Now())), ID: 1, Name: "pat_for_webhook_event", ExpiresAt: &day,
	})
	m.Project, m.Body = p, body
	return err
}

func (s *Service) sampleMember(ctx context.Context, as authz.Actor, at authz.Place, m *Message) error {
	u, err := s.actor(ctx, as.UserID)
	if err != nil || u == nil {
		return err
	}
	now := db.At(s.Now())
	body, err := s.GroupMember(ctx, at.Namespace, &MemberEvent{
		Name: "user_add_to_group", User: namespace.MemberUser{ID: u.ID, Username: u.Username, Name: u.Name, PublicEmail: u.PublicEmail},
		Level: authz.Developer, CreatedAt: now, UpdatedAt: now,
	})
	m.Body = body
	return err
}
