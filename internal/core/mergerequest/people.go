package mergerequest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

const unreviewed = "unreviewed"

// readers keeps those of the users who exist, are active and may read p's requests,
// sorted by id.
func (s *Service) readers(ctx context.Context, p *project.Project, ids []authz.UserID) ([]authz.UserID, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id authz.UserID) bool { return id <= 0 })
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("id", ids)
	type user struct {
		ID       authz.UserID `db:"id"`
		Admin    bool         `db:"admin"`
		Auditor  bool         `db:"auditor"`
		External bool         `db:"external"`
	}
	users, err := db.Select[user](ctx, s.DB, "SELECT id, admin, auditor, external FROM users"+w.SQL()+" AND state = 'active' ORDER BY id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	subject := p.Subject()
	subject.Known = false // that is the level of the actor
	var out []authz.UserID
	for _, u := range users {
		may, err := s.Policy.Can(ctx, authz.Actor{UserID: u.ID, Admin: u.Admin, Auditor: u.Auditor, External: u.External},
			authz.ReadMergeRequest, subject)
		if err != nil {
			return nil, err
		}
		if may {
			out = append(out, u.ID)
		}
	}
	return out, nil
}

// assign applies people and labels.
func (s *Service) assign(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, c Changes) error {
	people := false
	if c.Assignees != nil && !slices.Equal(*c.Assignees, m.Assignees) {
		people = true
		if err := s.dropPeople(ctx, "merge_request_assignees", m.ID, *c.Assignees); err != nil {
			return err
		}
		m.Assignees = *c.Assignees
	}
	if c.Reviewers != nil && !slices.Equal(*c.Reviewers, m.ReviewerIDs()) {
		people = true
		if err := s.dropPeople(ctx, "merge_request_reviewers", m.ID, *c.Reviewers); err != nil {
			return err
		}
		asked, released := change.Sets(m.ReviewerIDs(), *c.Reviewers)
		m.Reviewers = slices.DeleteFunc(slices.Clone(m.Reviewers), func(r Reviewer) bool { return slices.Contains(released, r.UserID) })
		for _, id := range asked {
			m.Reviewers = append(m.Reviewers, Reviewer{UserID: id, State: unreviewed, CreatedAt: db.At(s.Now())})
		}
		slices.SortFunc(m.Reviewers, func(a, b Reviewer) int { return cmp.Compare(a.UserID, b.UserID) })
	}
	if people {
		if err := s.addPeople(ctx, m); err != nil {
			return err
		}
	}
	added, removed, err := s.Labels.Apply(ctx, as, p.Place(), noteable.Ref{Kind: noteable.MergeRequest, ID: int64(m.ID)}, m.Labels, c.Labels)
	if err != nil {
		return err
	}
	m.Labels = label.With(m.Labels, added, removed)
	return nil
}

// dropPeople removes everybody but those who stay from a table of people.
func (s *Service) dropPeople(ctx context.Context, table string, id ID, stay []authz.UserID) error {
	var w db.Where
	w.And("merge_request_id = ?", id)
	w.NotIn("user_id", stay)
	if _, err := s.DB.Exec(ctx, "DELETE FROM "+table+w.SQL(), w.Args()...); err != nil {
		return fmt.Errorf("drop people: %w", err)
	}
	return nil
}

// without returns the ids of list that are not in others.
func without(list, others []authz.UserID) []authz.UserID {
	return slices.DeleteFunc(slices.Clone(list), func(id authz.UserID) bool { return slices.Contains(others, id) })
}

// ReviewerIDs lists who was asked for a review, in the order of Reviewers.
func (m *MergeRequest) ReviewerIDs() []authz.UserID {
	ids := make([]authz.UserID, len(m.Reviewers))
	for i, r := range m.Reviewers {
		ids[i] = r.UserID
	}
	return ids
}

// addPeople records m's assignees and reviewers; those who are recorded already keep
// their rows.
func (s *Service) addPeople(ctx context.Context, m *MergeRequest) error {
	for _, id := range m.Assignees {
		if _, err := db.InsertRow(ctx, s.DB, "merge_request_assignees", db.Values{"merge_request_id": m.ID, "user_id": id}, "ON CONFLICT DO NOTHING"); err != nil {
			return fmt.Errorf("assign: %w", err)
		}
	}
	for _, r := range m.Reviewers {
		if _, err := db.InsertRow(ctx, s.DB, "merge_request_reviewers", db.Values{
			"merge_request_id": m.ID, "user_id": r.UserID, "state": r.State, "created_at": r.CreatedAt,
		}, "ON CONFLICT DO NOTHING"); err != nil {
			return fmt.Errorf("ask for review: %w", err)
		}
	}
	return nil
}
