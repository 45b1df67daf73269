package mergerequest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
)

// maxClosing bounds the issues that one merge or push closes, and the commits that are
// searched for them.
const maxClosing = 100

// ClosedIssue is an issue that a merge closes.
type ClosedIssue struct {
	ID        int64
	ProjectID project.ID
	IID       int64
	Reference string // as people in the target project write it, "#1" or "group/project#1"
}

// closes lists the issues that the merge closes for the actor: those that title, description
// and commits promise to close, where the target is the default branch and the project of the
// issue closes what is referred to. Those of the target project come first.
func (s *Service) closes(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, commits []*gitstore.Commit) ([]ClosedIssue, error) {
	if p.DefaultBranch == nil || *p.DefaultBranch != m.TargetBranch {
		return nil, nil
	}
	refs := append(s.reader.ClosingWords(m.Title), s.reader.Closing(m.Text())...)
	for _, c := range commits {
		refs = append(refs, s.reader.ClosingWords(c.Message)...)
	}
	closed, _, err := s.closable(ctx, as, p, refs)
	return closed, err
}

// closable lists those of the issues that a project's texts promise to close that the actor
// may read and that may be closed so, and which reference was the first to each.
func (s *Service) closable(ctx context.Context, as authz.Actor, p *project.Project, refs []reference.Reference) (out []ClosedIssue, first map[int64]int, err error) {
	if len(refs) == 0 {
		return nil, nil, nil
	}
	found, err := s.References.Resolve(ctx, as, reference.Of(p), refs)
	if err != nil {
		return nil, nil, fmt.Errorf("look for issues to close: %w", err)
	}
	var places []project.ID
	for _, t := range found {
		if t != nil && t.Kind == reference.Issue {
			places = append(places, t.ProjectID)
		}
	}
	projects, err := s.Projects.Load(ctx, places)
	if err != nil {
		return nil, nil, fmt.Errorf("projects of issues to close: %w", err)
	}
	first = map[int64]int{}
	for n, t := range found {
		if t == nil || t.Kind != reference.Issue || projects[t.ProjectID] == nil || !projects[t.ProjectID].AutocloseReferencedIssues {
			continue
		}
		c := ClosedIssue{ID: t.ID, ProjectID: t.ProjectID, IID: t.Number, Reference: "#" + decimal(t.Number)}
		if t.ProjectID != p.ID {
			c.Reference = t.Path + c.Reference
		}
		if _, known := first[c.ID]; !known {
			first[c.ID] = n
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b ClosedIssue) int {
		place := func(c ClosedIssue) int64 {
			if c.ProjectID == p.ID {
				return 0
			}
			return int64(c.ProjectID)
		}
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.IID, b.IID))
	})
	return out[:min(len(out), maxClosing)], first, nil
}

// issueList writes "#1", "#1 and #2" or "#1, #2, and #3".
func issueList(issues []ClosedIssue) string {
	parts := make([]string, len(issues))
	for i, c := range issues {
		parts[i] = c.Reference
	}
	switch len(parts) {
	case 0:
		return ""
	case 1, 2:
		return strings.Join(parts, " and ")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + ", and " + parts[len(parts)-1]
}

// Closes lists the issues that merging a request closes for the actor. It requires
// ReadMergeRequest.
func (s *Service) Closes(ctx context.Context, as authz.Actor, p *project.Project, iid IID) ([]ClosedIssue, error) {
	m, err := s.findRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	return s.closesOf(ctx, as, p, m)
}

// closesOf is Closes of a request that the actor may read.
func (s *Service) closesOf(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) ([]ClosedIssue, error) {
	var commits []*gitstore.Commit
	if m.HeadSHA != "" {
		r, err := s.Repos.Open(ctx, p)
		if err != nil {
			return nil, err
		}
		if commits, err = s.commitsOf(ctx, r, m, maxClosing); err != nil {
			return nil, err
		}
	}
	return s.closes(ctx, as, p, m, commits)
}

// Related lists the issues that merging a request closes for the actor, and those that its title and
// description name, by id; the actor may not read all of the latter. It requires ReadMergeRequest.
func (s *Service) Related(ctx context.Context, as authz.Actor, p *project.Project, iid IID) ([]int64, error) {
	m, err := s.findRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	closed, err := s.closesOf(ctx, as, p, m)
	if err != nil {
		return nil, err
	}
	named, err := db.Select[int64](ctx, s.DB, "SELECT issue_id FROM merge_request_issues WHERE merge_request_id = ? ORDER BY issue_id LIMIT ?", m.ID, reference.MaxReferences)
	if err != nil {
		return nil, fmt.Errorf("issues of merge request: %w", err)
	}
	return slices.Compact(slices.Sorted(slices.Values(append(idsOf(closed), named...)))), nil
}

// noteIssues records which issues the title and description of a request name, as far as the
// actor may read them.
func (s *Service) noteIssues(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) error {
	refs := slices.DeleteFunc(append(s.reader.Words(m.Title), s.reader.Parse(m.Text())...), func(r reference.Reference) bool {
		return r.Kind != reference.Issue
	})
	closing, err := s.closes(ctx, as, p, m, nil)
	if err != nil {
		return err
	}
	found, err := s.References.Resolve(ctx, as, reference.Of(p), refs)
	if err != nil {
		return fmt.Errorf("issues of merge request: %w", err)
	}
	named := map[int64]bool{} // whether it is closed, by id
	for _, t := range found {
		if t != nil && t.Kind == reference.Issue {
			named[t.ID] = false
		}
	}
	for _, c := range closing {
		named[c.ID] = true
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM merge_request_issues WHERE merge_request_id = ?", m.ID); err != nil {
		return fmt.Errorf("issues of merge request: %w", err)
	}
	if len(named) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(named))
	for id, closes := range named {
		args = append(args, m.ID, id, closes)
	}
	_, err = s.DB.Exec(ctx, "INSERT INTO merge_request_issues (merge_request_id, issue_id, closes) VALUES "+
		strings.Repeat("(?, ?, ?), ", len(named)-1)+"(?, ?, ?)", args...)
	if err != nil {
		return fmt.Errorf("issues of merge request: %w", err)
	}
	return nil
}

// OfIssue lists the merge requests that name an issue, or close it where f.Closing says so, in
// all projects. The caller has found the issue as the actor sees it.
func (s *Service) OfIssue(ctx context.Context, as authz.Actor, issue int64, f Filter) (page.Page[*MergeRequest], error) {
	if err := s.require(ctx, as, authz.Place{}); err != nil {
		return page.Page[*MergeRequest]{}, err
	}
	f.Issue = issue
	return s.listAcross(ctx, as, authz.Place{}, f)
}

// closePushed is the job that closes the issues which commits of a push to the default branch
// promise to close.
type closePushed struct {
	ProjectID project.ID        `json:"project_id"`
	UserID    authz.UserID      `json:"user_id"`
	Old       gitstore.ObjectID `json:"old"`
	New       gitstore.ObjectID `json:"new"`
}

// Kind names the job.
func (closePushed) Kind() string { return "close_issues_of_push" }

// OnDefaultBranch reacts to a push to the default branch.
func (s *Service) OnDefaultBranch(ctx context.Context, e repo.Pushed) error {
	p := e.Project
	if p == nil || p.DefaultBranch == nil || !e.By.SignedIn() {
		return nil
	}
	for _, c := range e.Changes {
		if c.Ref.IsBranch() && c.Ref.Short() == *p.DefaultBranch && !c.New.IsZero() {
			return s.Jobs.Enqueue(ctx, closePushed{e.ProjectID, e.By.UserID, c.Old, c.New})
		}
	}
	return nil
}

// closeOfPush closes what the newest commits of a push promise to close, as the user who
// pushed, with no more rights than the account has without being an administrator.
func (s *Service) closeOfPush(ctx context.Context, work closePushed) error {
	users, err := s.Accounts.Load(ctx, []authz.UserID{work.UserID})
	if err != nil {
		return fmt.Errorf("who pushed: %w", err)
	}
	u := users[work.UserID]
	if u == nil || u.State != account.Active {
		return nil
	}
	as := u.Actor()
	as.Admin = false
	projects, err := s.Projects.Load(ctx, []project.ID{work.ProjectID})
	if err != nil || projects[work.ProjectID] == nil {
		return err
	}
	p := projects[work.ProjectID]
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	from := gitcmd.LogOptions{From: []gitstore.ObjectID{work.New}, Limit: maxClosing}
	if !work.Old.IsZero() {
		from.Not = []gitstore.ObjectID{work.Old}
	}
	commits, err := r.LogCommits(ctx, from)
	if err != nil {
		return fmt.Errorf("commits of push: %w", err)
	}
	var refs []reference.Reference
	var of []string // the commit of each
	for _, c := range commits {
		for _, ref := range s.reader.ClosingWords(c.Message) {
			refs, of = append(refs, ref), append(of, c.ID.String())
		}
	}
	closed, first, err := s.closable(ctx, as, p, refs)
	if err != nil || len(closed) == 0 {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, c := range closed {
			if err := s.Issues.CloseAll(ctx, as, []int64{c.ID}, noteable.Cause{ProjectID: int64(p.ID), Commit: of[first[c.ID]]}); err != nil {
				return err
			}
		}
		return nil
	})
}

func idsOf(closed []ClosedIssue) []int64 {
	out := make([]int64, len(closed))
	for i, c := range closed {
		out[i] = c.ID
	}
	return out
}

// subscribeClosing registers what closes issues.
func (s *Service) subscribeClosing(b *event.Bus) {
	event.On(b, "issues that commits close", s.OnDefaultBranch)
	event.On(b, "issues it closes", s.closeIssues)
}
