package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
)

// boardEntity is an issue board of a project or group.
type boardEntity struct {
	ID              board.ID         `json:"id"`
	Name            string           `json:"name"`
	HideBacklogList bool             `json:"hide_backlog_list"`
	HideClosedList  bool             `json:"hide_closed_list"`
	Project         *projectBasic    `json:"project"` // null for a group's, as the next for a project's
	Group           *boardGroup      `json:"group"`
	Lists           []boardList      `json:"lists"`
	Milestone       *milestoneEntity `json:"milestone"`
	Assignee        *userBasic       `json:"assignee"`
	Labels          []labelBasic     `json:"labels"`
	Weight          *int64           `json:"weight"`
}

type boardGroup struct {
	ID     authz.NamespaceID `json:"id"`
	WebURL string            `json:"web_url"`
	Name   string            `json:"name"`
}

// boardList is a list of a board.
type boardList struct {
	ID             board.ListID     `json:"id"`
	Label          *labelBasic      `json:"label"` // null for lists of other kinds
	Position       int64            `json:"position"`
	Milestone      *milestoneEntity `json:"milestone,omitempty"` // of a list of a milestone, and so on
	Assignee       *userBasic       `json:"assignee,omitempty"`
	Iteration      *iterationEntity `json:"iteration,omitempty"`
	MaxIssueCount  int64            `json:"max_issue_count"`
	MaxIssueWeight int64            `json:"max_issue_weight"`
	LimitMetric    *string          `json:"limit_metric"`
}

// boardParts is what boards and lists name.
type boardParts struct {
	labels     map[label.ID]*label.Label
	milestones map[milestone.ID]*milestoneEntity
	iterations map[iteration.ID]*iterationEntity
	people     map[authz.UserID]*account.Summary
}

// boardParts reads what boards and lists name, one look at each subject.
func (s *Server) boardParts(ctx context.Context, as authz.Actor, boards []board.Board, lists []board.List) (boardParts, error) {
	var out boardParts
	var labels []label.ID
	var milestones []*milestone.ID
	var iterations []*iteration.ID
	var people []authz.UserID
	need := func(l board.List) {
		milestones, iterations = append(milestones, l.MilestoneID), append(iterations, l.IterationID)
		if l.LabelID != nil {
			labels = append(labels, *l.LabelID)
		}
		if l.AssigneeID != nil {
			people = append(people, *l.AssigneeID)
		}
	}
	for _, b := range boards {
		labels, milestones = append(labels, b.Labels...), append(milestones, b.MilestoneID)
		if b.AssigneeID != nil {
			people = append(people, *b.AssigneeID)
		}
		for _, l := range b.Lists {
			need(l)
		}
	}
	for _, l := range lists {
		need(l)
	}
	var err error
	if out.labels, err = s.Labels.ByIDs(ctx, as, labels); err != nil {
		return out, err
	}
	if out.milestones, err = s.milestonesOf(ctx, as, milestones...); err != nil {
		return out, err
	}
	if out.iterations, err = s.iterationsOf(ctx, as, iterations...); err != nil {
		return out, err
	}
	out.people, err = s.Accounts.ByIDs(ctx, people)
	return out, err
}

// boards renders boards of one place.
func (s *Server) boards(ctx context.Context, as authz.Actor, at authz.Place, boards []board.Board) ([]boardEntity, error) {
	parts, err := s.boardParts(ctx, as, boards, nil)
	if err != nil {
		return nil, err
	}
	var in *projectBasic
	var of *boardGroup
	if p := project.Of(at); p != nil {
		views, err := s.Projects.Views(ctx, as, []*project.Project{p}, project.ViewOptions{})
		if err != nil {
			return nil, err
		}
		in = s.projectBasic(&views[0])
	} else {
		of = &boardGroup{ID: at.Namespace, WebURL: s.URLs.Group(at.Path), Name: at.Name}
	}
	out := make([]boardEntity, len(boards))
	for i, b := range boards {
		out[i] = boardEntity{
			ID: b.ID, Name: b.Name, HideBacklogList: b.HideBacklogList, HideClosedList: b.HideClosedList, Project: in, Group: of,
			Lists: make([]boardList, len(b.Lists)), Labels: []labelBasic{}, Weight: b.Weight,
		}
		e := &out[i]
		for j := range b.Lists {
			e.Lists[j] = s.boardList(&b.Lists[j], parts)
		}
		for _, id := range b.Labels {
			if l := parts.labels[id]; l != nil {
				e.Labels = append(e.Labels, newLabelBasic(l))
			}
		}
		if b.MilestoneID != nil {
			e.Milestone = parts.milestones[*b.MilestoneID]
		}
		if b.AssigneeID != nil {
			e.Assignee = s.user(parts.people[*b.AssigneeID])
		}
	}
	return out, nil
}

func (s *Server) boardList(l *board.List, parts boardParts) boardList {
	e := boardList{ID: l.ID, Position: l.Position, MaxIssueCount: l.MaxIssueCount, MaxIssueWeight: l.MaxIssueWeight, LimitMetric: l.LimitMetric}
	if l.LabelID != nil && parts.labels[*l.LabelID] != nil {
		basic := newLabelBasic(parts.labels[*l.LabelID])
		e.Label = &basic
	}
	if l.MilestoneID != nil {
		e.Milestone = parts.milestones[*l.MilestoneID]
	}
	if l.AssigneeID != nil {
		e.Assignee = s.user(parts.people[*l.AssigneeID])
	}
	if l.IterationID != nil {
		e.Iteration = parts.iterations[*l.IterationID]
	}
	return e
}
