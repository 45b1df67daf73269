// Package workitem treats issues and epics as one kind of thing: their types, and changes of many of
// their parts at once.
package workitem

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/subscription"
	"tenon/internal/core/todo"
)

// Key names a work item among all. Issues and epics are numbered apart from each other.
type Key struct {
	Epic bool
	ID   int64
}

// Item is an issue with its project, or an epic: the others are nil.
type Item struct {
	Issue   *issue.Issue
	Project *project.Project
	Epic    *epic.Epic
}

// Key is that of the work item.
func (w Item) Key() Key { return Key{w.Epic != nil, w.Ref().ID} }

// Type is the type of the work item.
func (w Item) Type() *Type {
	if w.Epic != nil {
		return TypeOf("")
	}
	return TypeOf(w.Issue.Type)
}

// Ref names the work item for awards, subscriptions and to-do items.
func (w Item) Ref() noteable.Ref {
	if w.Epic != nil {
		return noteable.Ref{Kind: noteable.Epic, ID: int64(w.Epic.ID)}
	}
	return noteable.Ref{Kind: noteable.Issue, ID: int64(w.Issue.ID)}
}

// Parent is the epic that the work item is in, as far as the actor may read it; 0 for none.
func (w Item) Parent() epic.ID {
	switch {
	case w.Epic != nil && w.Epic.Parent != nil:
		return w.Epic.Parent.ID
	case w.Issue != nil && w.Issue.Epic != nil:
		return epic.ID(w.Issue.Epic.ID)
	}
	return 0
}

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Issues        *issue.Service
	Epics         *epic.Service
	Namespaces    *namespace.Service
	Notes         *note.Service
	Awards        *award.Service
	Subscriptions *subscription.Service
	Todos         *todo.Service
}

// Service changes work items. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// find returns a work item that the actor may read, without the project of an issue.
func (s *Service) find(ctx context.Context, as authz.Actor, key Key) (Item, error) {
	var w Item
	if key.Epic {
		found, err := s.Epics.ByIDs(ctx, as, []epic.ID{epic.ID(key.ID)})
		if w.Epic = found[epic.ID(key.ID)]; w.Epic == nil {
			return w, missingOr(err)
		}
		return w, nil
	}
	found, err := s.Issues.ByIDs(ctx, as, []issue.ID{issue.ID(key.ID)})
	if w.Issue = found[issue.ID(key.ID)]; w.Issue == nil {
		return w, missingOr(err)
	}
	return w, nil
}

// missingOr is err, and where it is nil that there is nothing.
func missingOr(err error) error {
	if err != nil {
		return err
	}
	return errs.Missing("")
}
