package statuscheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// Standings lists the checks that apply to a merge request, with what their services answered
// about its head. It requires ReadStatusChecks.
func (s *Service) Standings(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, r page.Range) (page.Page[Standing], error) {
	var none page.Page[Standing]
	m, err := s.MergeRequests.FindRow(ctx, as, p, iid)
	if err != nil {
		return none, err
	}
	if err := s.Policy.Require(ctx, as, authz.ReadStatusChecks, m.Subject(as, p)); err != nil {
		return none, err
	}
	all, err := s.standings(ctx, []*mergerequest.MergeRequest{m})
	if err != nil {
		return none, err
	}
	return page.Slice(all[m.ID], r, order, func(st *Standing) []any { return []any{int64(st.Check.ID)} })
}

// standings finds how the checks of merge requests stand, in three statements.
func (s *Service) standings(ctx context.Context, list []*mergerequest.MergeRequest) (map[mergerequest.ID][]Standing, error) {
	var projects []project.ID
	ids, heads := make([]mergerequest.ID, len(list)), make([]string, len(list))
	for i, m := range list {
		ids[i], heads[i] = m.ID, m.HeadSHA
		projects = append(projects, m.ProjectID)
	}
	var w db.Where
	w.In("c.project_id", projects)
	checks, err := s.read(ctx, w)
	if err != nil || len(checks) == 0 {
		return nil, err
	}
	type key struct {
		request mergerequest.ID
		check   ID
		sha     string
	}
	var of db.Where
	of.In("r.merge_request_id", ids)
	of.In("r.sha", heads)
	rows, err := db.Select[Response](ctx, s.DB, "SELECT "+db.Columns[Response]("r")+" FROM status_check_responses r"+of.SQL()+" ORDER BY r.id", of.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read responses of status checks: %w", err)
	}
	responses := make(map[key]Status, len(rows))
	for i := range rows {
		responses[key{rows[i].RequestID, rows[i].CheckID, rows[i].SHA}] = rows[i].Status
	}
	out := make(map[mergerequest.ID][]Standing, len(list))
	for _, m := range list {
		for _, c := range checks {
			if c.ProjectID != m.ProjectID || !c.applies(m.TargetBranch) {
				continue
			}
			st := Standing{Check: c, Status: Pending}
			if status, ok := responses[key{m.ID, c.ID, m.HeadSHA}]; ok {
				st.Status = status
			}
			out[m.ID] = append(out[m.ID], st)
		}
	}
	return out, nil
}

// Unmet is a mergerequest.Requirement: it says which merge requests have checks that did not
// pass. It takes no statement where no project asks for that.
func (s *Service) Unmet(ctx context.Context, list []*mergerequest.MergeRequest, projects map[project.ID]*project.Project) (map[mergerequest.ID]mergerequest.Obstacle, error) {
	demands := map[project.ID]bool{}
	for id, p := range projects {
		demands[id] = p != nil && p.Settings().OnlyMergeIfAllStatusChecksPassed
	}
	var some []*mergerequest.MergeRequest
	for _, m := range list {
		if demands[m.ProjectID] {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return nil, nil
	}
	all, err := s.standings(ctx, some)
	if err != nil {
		return nil, err
	}
	out := map[mergerequest.ID]mergerequest.Obstacle{}
	for id, list := range all {
		var names []string
		for _, st := range list {
			if st.Status != Passed {
				names = append(names, st.Check.Name)
			}
		}
		if len(names) > 0 {
			out[id] = mergerequest.Obstacle{
				Condition: mergerequest.StatusChecksMustPass, Status: "external_status_checks",
				Reason: "the external status checks must pass", Names: names,
			}
		}
	}
	return out, nil
}

// Answer is what a service says about a merge request.
type Answer struct {
	CheckID ID
	SHA     string // that the source branch must be at
	Status  Status
}

// Result is a response with what it is about.
type Result struct {
	Response     Response
	Check        *Check
	MergeRequest *mergerequest.MergeRequest
}

// Respond records an answer in place of an earlier one about the same head. It requires
// AnswerStatusChecks. Where the source branch is not at a.SHA it is a Conflict, and NotFound for
// a check that does not apply to the merge request.
func (s *Service) Respond(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, a Answer) (*Result, error) {
	m, err := s.answerable(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	var out *Result
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var before *Response
		out, before, err = s.locked(ctx, p, m.ID, a.CheckID)
		if err != nil {
			return err
		}
		if head := out.MergeRequest.HeadSHA; a.SHA != head {
			return errs.New(errs.Conflict, "SHA does not match HEAD of source branch: "+head)
		}
		return s.store(ctx, as, p, out, before, a.Status)
	})
	return out, errs.Wrap(err, "record response of status check")
}

// answerable finds a merge request whose checks the actor may answer.
func (s *Service) answerable(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID) (*mergerequest.MergeRequest, error) {
	m, err := s.MergeRequests.Read(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	return m, s.Policy.Require(ctx, as, authz.AnswerStatusChecks, m.Subject(as, p))
}

// locked reads a merge request, which it locks, one of its checks, and the response about its
// head, nil where there is none.
func (s *Service) locked(ctx context.Context, p *project.Project, id mergerequest.ID, check ID) (*Result, *Response, error) {
	m, err := s.MergeRequests.Locked(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.find(ctx, p.ID, check)
	if err != nil {
		return nil, nil, err
	}
	if !c.applies(m.TargetBranch) {
		return nil, nil, errs.Missing("")
	}
	out := &Result{Check: c, MergeRequest: m}
	before, err := db.Get[Response](ctx, s.DB, "SELECT "+db.Columns[Response]("r")+" FROM status_check_responses r WHERE r.merge_request_id = ? AND r.check_id = ? AND r.sha = ?", m.ID, c.ID, m.HeadSHA)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return out, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read response of status check: %w", err)
	}
	return out, &before, nil
}

// store writes a response, in the transaction that locked the merge request.
func (s *Service) store(ctx context.Context, as authz.Actor, p *project.Project, r *Result, before *Response, status Status) error {
	now := db.At(s.Now())
	if before == nil {
		r.Response = Response{RequestID: r.MergeRequest.ID, CheckID: r.Check.ID, SHA: r.MergeRequest.HeadSHA, Status: status, CreatedAt: now, UpdatedAt: now}
		if err := db.Create(ctx, s.DB, "status_check_responses", &r.Response); err != nil {
			return err
		}
	} else {
		changed, err := db.Update(ctx, s.DB, db.Row{Table: "status_check_responses", ID: before.ID}, func(_ context.Context, row *Response) error {
			row.Status, row.UpdatedAt = status, now
			return nil
		})
		if err != nil {
			return err
		}
		r.Response = changed.After
	}
	err := s.Bus.Publish(ctx, Responded{
		Of: change.About(as, s.Now(), p.Place(), r.Check), MergeRequest: *r.MergeRequest, Response: r.Response, Was: before,
	})
	if err != nil || status == Pending {
		return err
	}
	return s.MergeRequests.Unblock(ctx, r.MergeRequest.ID) // a failure takes it out of its merge train
}

// Retry asks the service of a check once more that answered that a merge request failed. It
// requires AnswerStatusChecks; another answer is Unprocessable.
func (s *Service) Retry(ctx context.Context, as authz.Actor, p *project.Project, iid mergerequest.IID, check ID) error {
	m, err := s.answerable(ctx, as, p, iid)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		r, before, err := s.locked(ctx, p, m.ID, check)
		if err != nil {
			return err
		}
		if before == nil || before.Status != Failed {
			return errs.New(errs.Unprocessable, "External status check must be failed")
		}
		if err := s.store(ctx, as, p, r, before, Pending); err != nil {
			return err
		}
		return s.Jobs.Enqueue(ctx, call{CheckID: check, RequestID: m.ID, UserID: as.UserID, Delivery: uuid.NewString()})
	})
	return errs.Wrap(err, "retry status check")
}
