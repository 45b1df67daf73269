package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Find returns request iid of the project. Its Status is what the last trial merge
// found; Read brings it up to date. It requires ReadMergeRequest and answers NotFound
// to callers who may not read the project's requests.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*MergeRequest, error) {
	m, err := s.findRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.complete(ctx, as, p, m); err != nil {
		return nil, err
	}
	return m, nil
}

// findRow is Find without what hangs on the row.
func (s *Service) findRow(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*MergeRequest, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, hidden(err)
	}
	return s.load(ctx, "m.target_project_id = ? AND m.iid = ?", p.ID, iid)
}

// FindRow is Find without what hangs on the request and without its status.
func (s *Service) FindRow(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*MergeRequest, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, hidden(err)
	}
	return s.load(ctx, "m.target_project_id = ? AND m.iid = ?", p.ID, iid)
}

// Read is Find after a look at the branches: a source branch that has moved gets its
// version, and a trial merge is made where the last one is out of date.
func (s *Service) Read(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*MergeRequest, error) {
	m, err := s.findRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	page, projects := []*MergeRequest{m}, map[project.ID]*project.Project{p.ID: p}
	if m.State != StateOpened {
		return m, s.complete(ctx, as, p, m)
	}
	if err := s.refresh(ctx, p, m); err != nil {
		return nil, err
	}
	if err := s.fill(ctx, as, p, page); err != nil {
		return nil, err
	}
	if m.State != StateOpened { // another process was faster
		return m, s.readStatus(ctx, page, projects)
	}
	if err := s.readObstacles(ctx, page, projects); err != nil {
		return nil, err
	}
	return m, s.readPipelines(ctx, page, projects)
}

// ReadRow is Read without what hangs on the request and without what keeps it from being merged.
func (s *Service) ReadRow(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*MergeRequest, error) {
	m, err := s.findRow(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if m.State != StateOpened {
		return m, s.readTips(ctx, []*MergeRequest{m}, map[project.ID]*project.Project{p.ID: p})
	}
	if err := s.refresh(ctx, p, m); err != nil {
		return nil, err
	}
	return m, nil
}

// requireRead demands a signed-in actor before anything else, because every call on
// merge requests does. Pages are for visitors as well.
func (s *Service) requireRead(ctx context.Context, as authz.Actor, p *project.Project) error {
	if as.Nameless() {
		return errs.New(errs.Unauthorized, "")
	}
	return s.Policy.Require(ctx, as, authz.ReadMergeRequest, p.Subject())
}

// hidden makes a single request that may not be read look absent.
func hidden(err error) error {
	if errs.Is(err, errs.Forbidden) {
		return errs.Missing("")
	}
	return err
}

// requireOn asks for an ability on one request that the actor could read.
func (s *Service) requireOn(ctx context.Context, as authz.Actor, ability authz.Ability, p *project.Project, m *MergeRequest) error {
	return s.Policy.Require(ctx, as, ability, m.Subject(as, p))
}

// rows reads bare rows of merge_requests (m); rest is what follows the table's name.
func (s *Service) rows(ctx context.Context, rest string, args ...any) ([]*MergeRequest, error) {
	return s.rowsOf(ctx, s.columns, rest, args...)
}

func (s *Service) rowsOf(ctx context.Context, columns, rest string, args ...any) ([]*MergeRequest, error) {
	rows, err := db.Select[MergeRequest](ctx, s.DB, "SELECT "+columns+" FROM merge_requests m"+rest, args...)
	if err != nil {
		return nil, err
	}
	out := make([]*MergeRequest, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out, nil
}

// load reads one bare row.
func (s *Service) load(ctx context.Context, cond string, args ...any) (*MergeRequest, error) {
	m, err := db.Get[MergeRequest](ctx, s.DB, "SELECT "+s.columns+" FROM merge_requests m WHERE "+cond, args...)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil, errs.Missing("")
	case err != nil:
		return nil, fmt.Errorf("load merge request: %w", err)
	}
	return &m, nil
}

// still reads a bare request that was known before, and its project, for work that no user
// waits for. Both are nil where the request is gone or the project is being deleted.
func (s *Service) still(ctx context.Context, id ID) (*project.Project, *MergeRequest, error) {
	m, err := s.load(ctx, "m.id = ?", id)
	if errs.Is(err, errs.NotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	projects, err := s.Projects.Load(ctx, []project.ID{m.ProjectID})
	if err != nil || projects[m.ProjectID] == nil {
		return nil, nil, err
	}
	return projects[m.ProjectID], m, nil
}

// complete fills what hangs on one request of p.
func (s *Service) complete(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) error {
	page := []*MergeRequest{m}
	if err := s.fill(ctx, as, p, page); err != nil {
		return err
	}
	return s.readStatus(ctx, page, map[project.ID]*project.Project{p.ID: p})
}

// fill reads what hangs on requests of p, but for how they stand.
func (s *Service) fill(ctx context.Context, as authz.Actor, p *project.Project, page []*MergeRequest) error {
	if err := s.attach(ctx, page); err != nil {
		return err
	}
	return s.countNotes(ctx, as, p, page)
}

// countNotes chooses the counter that the actor may know of, for requests of one project.
func (s *Service) countNotes(ctx context.Context, as authz.Actor, p *project.Project, page []*MergeRequest) error {
	all, err := s.Policy.SeesInternalNotes(ctx, as, p.Subject())
	if err != nil {
		return err
	}
	for _, m := range page {
		m.VisibleNotes = m.PublicNotesCount
		if all {
			m.VisibleNotes = m.NotesCount
		}
	}
	return nil
}

// attach reads assignees, reviewers, votes, labels and blocking requests of all rows, and whether
// rules of approval may ask for something, in two statements.
func (s *Service) attach(ctx context.Context, page []*MergeRequest) error {
	ids := make([]int64, len(page))
	for i, m := range page {
		ids[i] = int64(m.ID)
	}
	labels, err := s.Labels.ForTargets(ctx, noteable.MergeRequest, ids)
	if err != nil {
		return err
	}
	return s.attachWith(ctx, page, labels)
}

// attachWith is attach with labels that were read before, by request.
func (s *Service) attachWith(ctx context.Context, page []*MergeRequest, labels map[int64][]label.Label) error {
	if len(page) == 0 {
		return nil
	}
	ids, byID := make([]ID, len(page)), make(map[ID]*MergeRequest, len(page))
	for i, m := range page {
		ids[i], byID[m.ID] = m.ID, m
		m.Assignees, m.Reviewers, m.Labels, m.Upvotes, m.Downvotes, m.Blockers = nil, nil, labels[int64(m.ID)], 0, 0, 0
		m.Unruled = true
	}
	marks, args := db.Marks(ids)
	type row struct {
		RequestID ID       `db:"merge_request_id"`
		Value     int64    `db:"value"`      // the id of the user, or the number of votes or blocking requests
		State     string   `db:"state"`      // "" for an assignee, the name of the emoji for votes, blockers, ruled
		CreatedAt *db.Time `db:"created_at"` // of reviewers
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT merge_request_id, user_id AS value, '' AS state, NULL AS created_at
			FROM merge_request_assignees WHERE merge_request_id IN (`+marks+`)
		UNION ALL
		SELECT merge_request_id, user_id, state, created_at
			FROM merge_request_reviewers WHERE merge_request_id IN (`+marks+`)
		UNION ALL
		SELECT awardable_id, COUNT(*), name, NULL FROM award_emoji WHERE awardable_type = 'MergeRequest' AND awardable_id IN (`+marks+`)
			AND name IN ('`+liked+`', '`+disliked+`') GROUP BY awardable_id, name
		UNION ALL
		SELECT b.blocked_id, COUNT(*), '`+blockers+`', NULL FROM merge_request_blocks b
			JOIN merge_requests o ON o.id = b.blocking_id AND o.state <> 'merged' WHERE b.blocked_id IN (`+marks+`) GROUP BY b.blocked_id
		UNION ALL
		SELECT merge_request_id, 1, '`+ruled+`', NULL FROM approval_rules WHERE merge_request_id IN (`+marks+`)
		UNION ALL
		SELECT m.id, 1, '`+ruled+`', NULL FROM merge_requests m WHERE m.id IN (`+marks+`)
			AND EXISTS (SELECT 1 FROM approval_rules r WHERE r.project_id = m.target_project_id AND r.approvals_required > 0)
		ORDER BY merge_request_id, value`, slices.Concat(args, args, args, args, args, args)...)
	if err != nil {
		return fmt.Errorf("read assignees, reviewers and votes: %w", err)
	}
	for _, r := range rows {
		m := byID[r.RequestID]
		switch user := authz.UserID(r.Value); {
		case r.State == liked:
			m.Upvotes = r.Value
		case r.State == disliked:
			m.Downvotes = r.Value
		case r.State == blockers:
			m.Blockers = r.Value
		case r.State == ruled:
			m.Unruled = false
		case r.CreatedAt == nil:
			m.Assignees = append(m.Assignees, user)
		default:
			m.Reviewers = append(m.Reviewers, Reviewer{UserID: user, State: r.State, CreatedAt: *r.CreatedAt})
		}
	}
	return nil
}

// The emoji that are votes.
const (
	liked    = "thumbsup"
	disliked = "thumbsdown"
)

// What stands among the names of emoji: how many merge requests block one, and that there are rules
// of approval.
const (
	blockers = "blocking merge requests"
	ruled    = "approval rules"
)

// readStatus fills Status from the stored trial and the present tips of the target
// branches. Where pipelines count it reads how they stand.
func (s *Service) readStatus(ctx context.Context, page []*MergeRequest, projects map[project.ID]*project.Project) error {
	if err := s.readTips(ctx, page, projects); err != nil {
		return err
	}
	if err := s.readObstacles(ctx, page, projects); err != nil {
		return err
	}
	return s.readPipelines(ctx, page, projects)
}

// readTips fills Status, which costs no statement and no process: one look at a reference for
// each branch.
func (s *Service) readTips(ctx context.Context, page []*MergeRequest, projects map[project.ID]*project.Project) error {
	type branch struct {
		project project.ID
		name    string
	}
	tips := map[branch]string{}
	for _, m := range page {
		m.target = projects[m.ProjectID]
		if m.State == StateMerged || m.State == StateClosed {
			m.Status = m.statusAt("")
			continue
		}
		at := branch{m.ProjectID, m.TargetBranch}
		tip, known := tips[at]
		if m.target != nil && !known {
			id, err := s.tip(ctx, m.target, m.TargetBranch)
			if err != nil {
				return err
			}
			tip = hexOf(id)
			tips[at] = tip
		}
		m.Status = m.statusAt(tip)
	}
	return nil
}

// FirstContribution reports whether nothing of the author's was merged into the project
// before. Members of the project are no first contributors.
func (s *Service) FirstContribution(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (bool, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return false, err
	}
	subject := p.Subject()
	subject.Known = false
	level, err := s.Policy.Level(ctx, authz.Actor{UserID: m.AuthorID}, subject)
	if err != nil || level > authz.Guest {
		return false, err
	}
	before, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM merge_requests o
		WHERE o.target_project_id = ? AND o.author_id = ? AND o.state = 'merged' AND o.id <> ?)`, p.ID, m.AuthorID, m.ID)
	if err != nil {
		return false, fmt.Errorf("look for earlier merges: %w", err)
	}
	return !before, nil
}
