// Package search finds things by their texts: everywhere, in a group or in a project. What the
// reader may not read is left out before pages are cut and counted.
package search

import (
	"context"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/snippet"
	"tenon/internal/core/wiki"
)

// Scope is a kind of things that are searched.
type Scope string

// The scopes.
const (
	Projects      Scope = "projects"
	Issues        Scope = "issues"
	MergeRequests Scope = "merge_requests"
	Milestones    Scope = "milestones"
	Users         Scope = "users"
	Notes         Scope = "notes"
	Snippets      Scope = "snippet_titles"
	Blobs         Scope = "blobs"
	Commits       Scope = "commits"
	WikiBlobs     Scope = "wiki_blobs"
)

// CodeOneProject is the error of a scope that only one project is searched for: larger places would
// need an index of all repositories.
const CodeOneProject errs.Code = "search_one_project"

// check refuses scopes that a place does not have.
func check(at authz.Place, s Scope) error {
	if !at.IsProject() && slices.Contains([]Scope{Blobs, Commits, WikiBlobs}, s) {
		return errs.Coded(errs.Invalid, CodeOneProject, "commits, files and wiki pages are searched in one project at a time")
	}
	return nil
}

// Query says what is looked for.
type Query struct {
	Text         string // blank finds nothing
	State        string // opened, closed, merged, or "" for all; of issues and merge requests
	Confidential *bool  // of issues
	Archived     bool   // in archived projects as well, of groups and of everything
	ByCreation   bool   // sort by the time of creation instead of the best match
	Asc          bool   // with ByCreation
	Ref          string // of files and commits; "" is the default branch
	page.Range
}

// terms are the folded terms of the text.
func (q Query) terms() []string { return filter.Terms(q.Text) }

// orderBy names the order of a list.
func (q Query) orderBy() string {
	if q.ByCreation {
		return "created_at"
	}
	return filter.ByRelevance
}

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Policy        *authz.Policy
	Accounts      *account.Service
	Projects      *project.Service
	Issues        *issue.Service
	MergeRequests *mergerequest.Service
	Milestones    *milestone.Service
	Notes         *note.Service
	Snippets      *snippet.Service
	Wikis         *wiki.Service
	Repos         *repo.Service
	Limits        *limit.Service

	Kinds *noteable.Kinds // whose comments are searched; those on commits are anyway
}

// Service finds things.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// require asks whether the actor may search in a place, which it has found before, and whether
// there is anything to look for.
func (s *Service) require(ctx context.Context, as authz.Actor, at authz.Place, scope Scope, q Query) (blank bool, err error) {
	if err := s.Policy.Require(ctx, as, authz.Search, authz.Subject{}); err != nil {
		return true, err
	}
	if err := check(at, scope); err != nil {
		return true, err
	}
	blank = len(q.terms()) == 0
	if blank || slices.Contains(counting, scope) {
		return blank, nil
	}
	return false, s.Limits.Check(limit.Search, as)
}

// counting are the scopes whose lists count that they are searched.
var counting = []Scope{Issues, MergeRequests, Users}

// open returns the empty page in place of a refusal: a place has nothing of a kind that the actor
// may not read there.
func open[T any](q Query, list page.Page[T], err error) (page.Page[T], error) {
	if errs.Is(err, errs.Forbidden) || errs.Is(err, errs.NotFound) {
		return page.None[T](q.Range), nil
	}
	return list, err
}

// Projects finds projects by name, path and description. It requires Search, as all methods do.
func (s *Service) Projects(ctx context.Context, as authz.Actor, at authz.Place, q Query) (page.Page[*project.Project], error) {
	blank, err := s.require(ctx, as, at, Projects, q)
	if blank || err != nil {
		return page.None[*project.Project](q.Range), err
	}
	f := project.Filter{Search: q.Text, Part: true, OrderBy: q.orderBy(), Asc: q.Asc, Range: q.Range}
	if at.Group {
		f.Parent, f.Subgroups = &at.Namespace, true
	}
	if !q.Archived {
		f.Archived = new(false)
	}
	return s.Deps.Projects.List(ctx, as, f)
}

// Issues finds issues by title and description.
func (s *Service) Issues(ctx context.Context, as authz.Actor, at authz.Place, q Query) (page.Page[issue.Issue], error) {
	blank, err := s.require(ctx, as, at, Issues, q)
	if blank || err != nil {
		return page.None[issue.Issue](q.Range), err
	}
	f := issue.Filter{
		Search: q.Text, State: issue.State(q.State), Selection: issue.Selection{Confidential: q.Confidential}, NonArchived: !q.Archived && !at.IsProject(),
		OrderBy: q.orderBy(), Asc: q.Asc, Range: q.Range,
	}
	if q.State == "merged" { // an issue is closed where a merge request is merged
		f.State = issue.StateClosed
	}
	list, err := s.Deps.Issues.List(ctx, as, at, f)
	return open(q, list, err)
}

// MergeRequests finds merge requests by title and description.
func (s *Service) MergeRequests(ctx context.Context, as authz.Actor, at authz.Place, q Query) (page.Page[*mergerequest.MergeRequest], error) {
	blank, err := s.require(ctx, as, at, MergeRequests, q)
	if blank || err != nil {
		return page.None[*mergerequest.MergeRequest](q.Range), err
	}
	f := mergerequest.Filter{
		Selection: mergerequest.Selection{Search: q.Text}, State: mergerequest.State(q.State), NonArchived: !q.Archived && !at.IsProject(), OrderBy: q.orderBy(), Asc: q.Asc, Range: q.Range,
	}
	list, err := s.Deps.MergeRequests.List(ctx, as, at, f)
	return open(q, list, err)
}

// Milestones finds milestones by title and description.
func (s *Service) Milestones(ctx context.Context, as authz.Actor, at authz.Place, q Query) (page.Page[milestone.Milestone], error) {
	blank, err := s.require(ctx, as, at, Milestones, q)
	if blank || err != nil {
		return page.None[milestone.Milestone](q.Range), err
	}
	f := milestone.Filter{Search: q.Text, NonArchived: !q.Archived && !at.IsProject(), Asc: q.Asc, Range: q.Range}
	if q.ByCreation {
		f.OrderBy = "created_at"
	}
	return s.Deps.Milestones.Search(ctx, as, at.Namespace, f)
}

// Users finds users by name and username: in a project or group, its members.
func (s *Service) Users(ctx context.Context, as authz.Actor, at authz.Place, q Query) (page.Page[*account.User], error) {
	blank, err := s.require(ctx, as, at, Users, q)
	if blank || err != nil {
		return page.None[*account.User](q.Range), err
	}
	list, err := s.Accounts.List(ctx, as, account.Filter{Search: &q.Text, In: at.Namespace, Range: q.Range})
	return open(q, list, err)
}

// Snippets finds snippets by title, description and the paths of their files. Places do not
// matter: snippets are looked for everywhere.
func (s *Service) Snippets(ctx context.Context, as authz.Actor, q Query) (page.Page[snippet.Snippet], error) {
	blank, err := s.require(ctx, as, authz.Place{}, Snippets, q)
	if blank || err != nil {
		return page.None[snippet.Snippet](q.Range), err
	}
	return s.Deps.Snippets.Search(ctx, as, snippet.Query{Terms: q.terms(), Oldest: q.ByCreation && q.Asc, Range: q.Range})
}
