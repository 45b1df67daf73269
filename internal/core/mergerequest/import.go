package mergerequest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
	"tenon/internal/core/tree"
)

// imported is a merge request of an archive. Its version is written after it.
type imported struct {
	TargetBranch     string          `tree:"target_branch,max=255"`
	SourceBranch     string          `tree:"source_branch,max=255"`
	SourceProjectID  *int64          `tree:"source_project_id,project"`
	TargetProjectID  *int64          `tree:"target_project_id,project"`
	AuthorID         int64           `tree:"author_id,user"`
	Title            string          `tree:"title,max=255"`
	CreatedAt        db.Time         `tree:"created_at"`
	UpdatedAt        db.Time         `tree:"updated_at"`
	State            string          `tree:"state,names=opened|closed|merged|locked"`
	IID              int64           `tree:"iid"`
	Description      *string         `tree:"description,max=1048576,markdown"`
	UpdatedByID      *int64          `tree:"updated_by_id,user"`
	MergeError       *string         `tree:"merge_error,max=2000"`
	MergeParams      json.RawMessage `tree:"merge_params"`
	MergeUserID      *int64          `tree:"merge_user_id,user"`
	MergeCommitSHA   *string         `tree:"merge_commit_sha"`
	SquashCommitSHA  *string         `tree:"squash_commit_sha"`
	RebaseCommitSHA  *string         `tree:"rebase_commit_sha"`
	Approvals        *int64          `tree:"approvals_before_merge"`
	TimeEstimate     int64           `tree:"time_estimate"`
	Squash           bool            `tree:"squash"`
	LastEditedAt     *db.Time        `tree:"last_edited_at"`
	LastEditedByID   *int64          `tree:"last_edited_by_id,user"`
	DiscussionLocked *bool           `tree:"discussion_locked"`
	AllowPush        bool            `tree:"allow_maintainer_to_push"`
	Draft            bool            `tree:"draft"`
	MilestoneID      *int64          `child:"milestone"`
}

// maxImportedApprovals bounds how many approvals an imported merge request needs by itself.
const maxImportedApprovals = 100

// Writers says how merge requests are imported. Commits and diffs are those of the repository.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("merge_requests", s.importAll),
		tree.Write("merge_request", s.findImported),
		tree.Write("metrics", s.importMetrics),
		tree.Write("merge_request_diff", s.importVersions),
		tree.Write("merge_request_diff_commits", fromRepository),
		tree.Write("merge_request_diff_files", fromRepository),
		tree.Write("merge_request_assignees", s.importAssignees),
		tree.Write("merge_request_reviewers", s.importReviewers),
	}
}

// fromRepository leaves alone what is read from the repository.
func fromRepository(_ context.Context, _ *tree.Writing, rows []*tree.Row[struct{}]) error {
	for _, r := range rows {
		r.Merge(0)
	}
	return nil
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[imported]) error {
	iids := make([]int64, len(rows))
	for i, r := range rows {
		iids[i] = r.Value.IID
	}
	slices.Sort(iids)
	var where db.Where
	where.And("target_project_id = ?", w.At.ID)
	where.In("iid", slices.Compact(iids))
	found, err := db.Select[int64](ctx, s.DB, "SELECT iid FROM merge_requests"+where.SQL()+" ORDER BY iid", where.Args()...)
	if err != nil {
		return fmt.Errorf("numbers of merge requests: %w", err)
	}
	taken := map[int64]bool{}
	for _, iid := range found {
		taken[iid] = true
	}
	var made []MergeRequest
	var of []*tree.Row[imported]
	highest := int64(0)
	for _, r := range rows {
		if reason := r.Value.broken(taken); reason != "" {
			r.Fail(reason)
			continue
		}
		highest = max(highest, r.Value.IID)
		if r.Unmatched("author_id") {
			r.Change(r.NotFound("its author", "author_id"))
		}
		if r.Value.fork() {
			r.Change("its source was another project")
		}
		m := r.Value.request(w)
		if r.Value.fork() {
			m.SourceProjectID = nil // until its branches are made, see takeForks
		}
		m.Spent = timelog.Spent(r.State)
		made, of = append(made, m), append(of, r)
	}
	if len(made) == 0 {
		return nil
	}
	if err := namespace.RaiseIID(ctx, s.DB, w.At.Namespace, namespace.KindMergeRequest, highest); err != nil {
		return err
	}
	ids, err := db.InsertAll(ctx, s.DB, "merge_requests", made)
	if err != nil {
		return fmt.Errorf("insert merge requests: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// broken returns why there can be no such merge request, "" for nothing. The numbers that are taken are extended.
func (e *imported) broken(taken map[int64]bool) string {
	switch {
	case !gitstore.ValidBranchName(e.SourceBranch):
		return "source_branch is missing or invalid"
	case !gitstore.ValidBranchName(e.TargetBranch):
		return "target_branch is missing or invalid"
	case strings.TrimSpace(e.Title) == "" || utf8.RuneCountInString(e.Title) > 255:
		return "title can't be blank"
	case e.IID <= 0 || taken[e.IID]:
		return "iid has already been taken"
	}
	taken[e.IID] = true
	return ""
}

// fork reports whether the source was another project.
func (e *imported) fork() bool {
	return e.SourceProjectID == nil || e.TargetProjectID == nil || *e.SourceProjectID != *e.TargetProjectID
}

// commit is the name of a commit, nil for anything else.
func commit(text *string) *string {
	if text == nil {
		return nil
	}
	if _, err := gitstore.ParseObjectID(*text); err != nil {
		return nil
	}
	return text
}

// request is the merge request that a row describes. It is not set to merge by itself.
func (e *imported) request(w *tree.Writing) MergeRequest {
	id := project.ID(w.At.ID)
	m := MergeRequest{
		IID: IID(e.IID), ProjectID: id, SourceProjectID: &id, TargetBranch: e.TargetBranch, SourceBranch: e.SourceBranch, AuthorID: authz.UserID(e.AuthorID),
		Title: e.Title, Description: e.Description, State: State(e.State), Draft: e.Draft, MergeError: e.MergeError, Squash: e.Squash, DiscussionLocked: e.DiscussionLocked,
		AllowCollaboration: e.AllowPush, MilestoneID: (*milestone.ID)(e.MilestoneID), Totals: timelog.Totals{Estimate: max(0, e.TimeEstimate)}, CreatedAt: e.CreatedAt,
		UpdatedAt: e.UpdatedAt, UpdatedByID: (*authz.UserID)(e.UpdatedByID), LastEditedAt: e.LastEditedAt, Origin: w.Origin(), RebaseSHA: commit(e.RebaseCommitSHA),
	}
	if e.Approvals != nil && *e.Approvals > 0 {
		m.ApprovalsBeforeMerge = new(min(*e.Approvals, maxImportedApprovals))
	}
	if e.State == "locked" {
		m.State = StateOpened
	}
	if e.LastEditedAt != nil {
		m.LastEditedByID = (*authz.UserID)(e.LastEditedByID)
	}
	if m.State == StateMerged {
		m.MergeUserID, m.MergeCommitSHA, m.SquashCommitSHA = (*authz.UserID)(e.MergeUserID), commit(e.MergeCommitSHA), commit(e.SquashCommitSHA)
		m.MergedAt = &m.UpdatedAt
	}
	if m.State == StateClosed {
		m.ClosedAt = &m.UpdatedAt
	}
	var params struct {
		Remove any `json:"force_remove_source_branch"`
	}
	if json.Unmarshal(e.MergeParams, &params) == nil && params.Remove != nil {
		m.ForceRemoveSource = new(params.Remove == "1" || params.Remove == true || params.Remove == "true")
	}
	return m
}

// importMetrics writes when merge requests were merged and closed, with the users who did it.
func (s *Service) importMetrics(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedMetrics]) error {
	deployed := map[int64]db.Time{}
	for _, r := range rows {
		v := r.Value
		_, err := s.DB.Exec(ctx, `UPDATE merge_requests SET merged_at = CASE WHEN state = 'merged' THEN COALESCE(?, merged_at) END,
			merge_user_id = CASE WHEN state = 'merged' THEN COALESCE(?, merge_user_id) END, closed_at = CASE WHEN state = 'closed' THEN COALESCE(?, closed_at) END,
			closed_by_id = CASE WHEN state = 'closed' THEN CAST(? AS BIGINT) END WHERE id = ?`, v.MergedAt, v.MergedByID, v.ClosedAt, v.ClosedByID, r.Parent)
		if err != nil {
			return fmt.Errorf("write times of merge requests: %w", err)
		}
		if v.FirstDeployedAt != nil {
			deployed[r.Parent] = *v.FirstDeployedAt
		}
	}
	return s.above.Deployments.ImportFirst(ctx, deployed)
}

// importedDiff is the newest version of a merge request.
type importedDiff struct {
	CreatedAt    db.Time `tree:"created_at"`
	BaseSHA      *string `tree:"base_commit_sha"`
	HeadSHA      *string `tree:"head_commit_sha"`
	StartSHA     *string `tree:"start_commit_sha"`
	CommitsCount int64   `tree:"commits_count"`
	FilesCount   *int64  `tree:"files_count"`
}

func (s *Service) importVersions(ctx context.Context, _ *tree.Writing, rows []*tree.Row[importedDiff]) error {
	var made []Version
	var of []*tree.Row[importedDiff]
	for _, r := range rows {
		v := r.Value
		base, head, start := commit(v.BaseSHA), commit(v.HeadSHA), commit(v.StartSHA)
		if base == nil || head == nil || start == nil {
			r.Lose("its commits are missing")
			continue
		}
		files := int64(0)
		if v.FilesCount != nil {
			files = *v.FilesCount
		} else {
			var changed []json.RawMessage
			r.Nested("merge_request_diff_files", &changed)
			files = int64(len(changed))
		}
		made = append(made, Version{
			MergeRequestID: ID(r.Parent), BaseSHA: *base, HeadSHA: *head, StartSHA: *start, CommitsCount: max(0, v.CommitsCount), ChangesCount: max(0, files),
			CreatedAt: v.CreatedAt,
		})
		of = append(of, r)
	}
	ids, err := db.InsertAll(ctx, s.DB, "merge_request_versions", made)
	if err != nil {
		return fmt.Errorf("insert versions: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
		v := &made[i]
		_, err := s.DB.Exec(ctx, "UPDATE merge_requests SET version_id = ?, base_sha = ?, start_sha = ?, head_sha = ?, commits_count = ?, changes_count = ? WHERE id = ?",
			id, v.BaseSHA, v.StartSHA, v.HeadSHA, v.CommitsCount, v.ChangesCount, v.MergeRequestID)
		if err != nil {
			return fmt.Errorf("write newest version: %w", err)
		}
	}
	return nil
}

func (s *Service) importAssignees(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedUser]) error {
	type assignee struct {
		RequestID int64 `db:"merge_request_id"`
		UserID    int64 `db:"user_id"`
	}
	var out []assignee
	for _, r := range rows {
		if r.Unmatched("user_id") {
			r.Change(r.NotFound("the user", "user_id"))
		}
		out = append(out, assignee{r.Parent, r.Value.UserID})
	}
	if err := db.InsertRows(ctx, s.DB, "merge_request_assignees", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert assignees: %w", err)
	}
	return nil
}

// importReviewers writes reviewers. None of them has approved: an import approves nothing.
func (s *Service) importReviewers(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedReviewer]) error {
	type reviewer struct {
		RequestID int64   `db:"merge_request_id"`
		UserID    int64   `db:"user_id"`
		State     string  `db:"state"`
		CreatedAt db.Time `db:"created_at"`
	}
	var out []reviewer
	for _, r := range rows {
		v := r.Value
		if v.State == "approved" {
			v.State = "reviewed"
			r.Change("an import approves nothing")
		}
		if r.Unmatched("user_id") {
			v.State = "unreviewed"
			r.Change(r.NotFound("the user", "user_id"))
		}
		out = append(out, reviewer{r.Parent, v.UserID, v.State, v.CreatedAt})
	}
	if err := db.InsertRows(ctx, s.DB, "merge_request_reviewers", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert reviewers: %w", err)
	}
	return nil
}
