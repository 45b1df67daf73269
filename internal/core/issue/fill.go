package issue

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// fill reads the labels of issues, and in another statement their assignees and what they have
// to do with other issues; where there are such, what of them the actor may read.
func (s *Service) fill(ctx context.Context, as authz.Actor, issues []Issue) error {
	ids := make([]int64, len(issues))
	for i := range issues {
		ids[i] = int64(issues[i].ID)
	}
	labels, err := s.Labels.ForTargets(ctx, noteable.Issue, ids)
	if err != nil {
		return err
	}
	return s.fillWith(ctx, as, issues, labels)
}

// fillWith is fill with labels that were read before, by issue.
func (s *Service) fillWith(ctx context.Context, as authz.Actor, issues []Issue, labels map[int64][]label.Label) error {
	if len(issues) == 0 {
		return nil
	}
	ids := make([]int64, len(issues))
	byID := make(map[ID]*Issue, len(issues))
	for i := range issues {
		ids[i], byID[issues[i].ID] = int64(issues[i].ID), &issues[i]
		issues[i].Assignees, issues[i].Related, issues[i].Epic, issues[i].Labels = nil, Related{}, nil, labels[ids[i]]
	}
	var others []other
	for chunk := range slices.Chunk(ids, db.MaxArgs/10) {
		rows, err := s.others(ctx, as, byID, chunk)
		if err != nil {
			return err
		}
		for _, r := range rows {
			i := byID[r.IssueID]
			switch r.Kind {
			case assigned:
				i.Assignees = append(i.Assignees, authz.UserID(r.Value))
			case liked:
				i.Related.Upvotes = r.Value
			case disliked:
				i.Related.Downvotes = r.Value
			case planned:
				i.Epic = r.epic()
			default:
				others = append(others, r)
			}
		}
	}
	return s.relate(ctx, as, byID, others)
}

// The kinds of other.
const (
	assigned   = "assigned"
	blocked    = "blocked"
	moved      = "moved"
	duplicated = "duplicated"
	requested  = "requested" // by a merge request that closes it
	liked      = "liked"
	disliked   = "disliked"
	planned    = "planned" // in an epic
)

// other is a user, an issue or an epic that an issue has to do with, or a number of votes.
type other struct {
	Kind      string     `db:"kind"`
	IssueID   ID         `db:"issue_id"`
	Value     int64      `db:"value"` // the id of the user, issue or epic, or the number
	ProjectID project.ID `db:"project_id"`
	IID       IID        `db:"iid"`

	// Of epics.
	GroupID  authz.NamespaceID `db:"group_id"`
	Title    string            `db:"title"`
	Path     string            `db:"path"`
	LinkID   int64             `db:"link_id"`
	Position int64             `db:"position"`
}

// votes is the condition that an emoji is a vote. SQLite walks along its index from one name to the other; for a list of names that it
// looks up there it fills a table first.
const votes = `e.name BETWEEN 'thumbsdown' AND 'thumbsup' AND e.name || '' IN ('thumbsup', 'thumbsdown')`

// others reads what issues have to do with; of epics those that the actor may read. What they were moved
// to or are duplicates of is read only where one was.
func (s *Service) others(ctx context.Context, as authz.Actor, issues map[ID]*Issue, ids []int64) ([]other, error) {
	const none = ", 0 AS group_id, '' AS title, '' AS path, 0 AS link_id, 0 AS position"
	marks, args := db.Marks(ids)
	epics, epicArgs := s.Policy.ReadableEpicsSQL(as, "re", "rn")
	query := `SELECT '` + assigned + `' AS kind, a.issue_id, a.user_id AS value, 0 AS project_id, 0 AS iid` + none + `
			FROM issue_assignees a WHERE a.issue_id IN (` + marks + `)
		UNION ALL SELECT '` + blocked + `', l.source_id, b.id, b.project_id, b.iid` + none + ` FROM issue_links l JOIN issues b ON b.id = l.target_id
			WHERE l.source_id IN (` + marks + `) AND l.link_type = 'blocks' AND b.state = 'opened'
		UNION ALL SELECT '` + requested + `', r.issue_id, r.merge_request_id, 0, 0` + none + ` FROM merge_request_issues r
			WHERE r.issue_id IN (` + marks + `) AND r.closes
		UNION ALL SELECT CASE e.name WHEN 'thumbsup' THEN '` + liked + `' ELSE '` + disliked + `' END, e.awardable_id, COUNT(*), 0, 0` + none + ` FROM award_emoji e
			WHERE e.awardable_type = 'Issue' AND e.awardable_id IN (` + marks + `) AND ` + votes + ` GROUP BY e.awardable_id, e.name
		UNION ALL SELECT '` + planned + `', ei.issue_id, re.id, 0, re.iid, re.group_id, re.title, rr.path, ei.id, ei.relative_position
			FROM epic_issues ei JOIN epics re ON re.id = ei.epic_id JOIN namespaces rn ON rn.id = re.group_id JOIN routes rr ON rr.namespace_id = rn.id
			WHERE ei.issue_id IN (` + marks + `) AND ` + epics
	args = slices.Concat(args, args, args, args, args, epicArgs)
	for _, to := range []struct {
		kind, column string
		id           func(*Issue) *ID
	}{
		{moved, "moved_to_id", func(i *Issue) *ID { return i.MovedToID }},
		{duplicated, "duplicated_to_id", func(i *Issue) *ID { return i.DuplicatedToID }},
	} {
		from := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return to.id(issues[ID(id)]) == nil })
		if len(from) > 0 {
			marks, more := db.Marks(from)
			query += " UNION ALL SELECT '" + to.kind + "', o.id, t.id, t.project_id, t.iid" + none + " FROM issues o JOIN issues t ON t.id = o." + to.column + " WHERE o.id IN (" + marks + ")"
			args = append(args, more...)
		}
	}
	all, err := db.Select[other](ctx, s.DB, query, args...)
	slices.SortFunc(all, func(a, b other) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), cmp.Compare(a.IssueID, b.IssueID), cmp.Compare(a.Value, b.Value))
	})
	return all, err
}

// relate notes in issues which of the others the actor may read.
func (s *Service) relate(ctx context.Context, as authz.Actor, issues map[ID]*Issue, others []other) error {
	if len(others) == 0 {
		return nil
	}
	refs := make([]noteable.Ref, len(others))
	byKind := map[noteable.Kind][]noteable.Ref{}
	for i, o := range others {
		refs[i] = noteable.Ref{Kind: noteable.Issue, ID: o.Value}
		if o.Kind == requested {
			refs[i].Kind = noteable.MergeRequest
		}
		byKind[refs[i].Kind] = append(byKind[refs[i].Kind], refs[i])
	}
	readable, err := s.Subjects(ctx, as, byKind[noteable.Issue])
	if err != nil {
		return err
	}
	var requests map[noteable.Ref]authz.Subject
	if list := byKind[noteable.MergeRequest]; len(list) > 0 && as.SignedIn() {
		if requests, err = s.above.MergeRequests.Subjects(ctx, as, list); err != nil {
			return err
		}
	}
	for i, o := range others {
		_, ok := readable[refs[i]]
		if _, request := requests[refs[i]]; !ok && !request {
			continue
		}
		about, id := &issues[o.IssueID].Related, ID(o.Value)
		switch o.Kind {
		case blocked:
			about.Blocking++
		case requested:
			about.MergeRequests++
		case moved:
			about.MovedTo = &id
		case duplicated:
			about.DuplicateOf = &Address{ID: id, ProjectID: o.ProjectID, IID: o.IID}
		}
	}
	return nil
}
