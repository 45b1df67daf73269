package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// Why a request is no longer set to merge by itself; each ends the sentence "aborted the
// automatic merge because ...".
const (
	abortPushed   = "the source branch was updated"
	abortTarget   = "the target branch was changed"
	abortOvertook = "the target branch was updated" // where only a fast-forward may be merged
	abortClosed   = "the merge request was closed"
	abortDraft    = "the merge request was marked as draft"
	abortRights   = "the user who enabled it may no longer merge"
	abortUser     = "the user who enabled it was deleted"
	abortGit      = "the branch cannot be merged"
)

const cannotCancel = "Can't cancel the automatic merge"

// Plan is what a request that waits for its pipeline is to be merged with, beside
// MergeUserID and ShouldRemoveSource; nil in any other.
type Plan struct {
	AutoMergeSHA           *string `db:"auto_merge_sha"`   // the head that it was set for
	AutoMergeAdmin         *bool   `db:"auto_merge_admin"` // whether it was set with an administrator's rights
	AutoMergeMessage       *string `db:"auto_merge_message"`
	AutoMergeSquashMessage *string `db:"auto_merge_squash_message"`
	AutoMergeStrategy      *string `db:"auto_merge_strategy"` // see Strategy
}

// schedule sets the request to merge when the pipeline of its head succeeds, in the name of
// the actor. One that is set already takes over what is new. A push, another target branch
// or a close since the request was looked at is NotAllowed.
func (s *Service) schedule(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, in MergeInput) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, s.row(m.ID).Provided(as.UnmodifiedAt), func(_ context.Context, row *MergeRequest) error {
			if row.State != StateOpened || row.HeadSHA != m.HeadSHA || row.TargetBranch != m.TargetBranch || row.Draft || row.inTrain() {
				return errChanged
			}
			row.MergeWhenPipelineSucceeds, row.MergeUserID, row.MergeError, row.UpdatedAt = true, &as.UserID, nil, s.stamp()
			row.Squash, row.ShouldRemoveSource = row.Squash || in.Squash, in.RemoveSource
			row.Plan = Plan{&row.HeadSHA, &as.Admin, &in.MergeMessage, &in.SquashMessage, nil}
			if in.train {
				row.AutoMergeStrategy = &strategyLater
			}
			return nil
		})
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		}
		if err != nil {
			return err
		}
		if !out.Before.MergeWhenPipelineSucceeds {
			f, err := s.fact(ctx, as, p, out)
			if err != nil {
				return err
			}
			if err := s.Bus.Publish(ctx, AutoMergeEnabled{Fact: f, SHA: m.HeadSHA, Strategy: out.After.Strategy()}); err != nil {
				return err
			}
		}
		// The pipeline may have succeeded since we looked, when no user waited for it.
		return s.enqueueDue(ctx, m.SourceProjectID, m.SourceBranch)
	})
	var known *errs.Error
	if err != nil && !errors.As(err, &known) {
		return fmt.Errorf("set automatic merge: %w", err)
	}
	return err
}

// MergeLater sets a request to merge when a pipeline of its head succeeds, whether or not
// there is one yet: right after a push nothing can have been reported. The actor needs the
// right to merge; what no pipeline will mend is refused at once.
func (s *Service) MergeLater(ctx context.Context, as authz.Actor, p *project.Project, iid IID) error {
	m, err := s.Read(ctx, as, p, iid)
	if err != nil {
		return err
	}
	err = s.requireMerge(ctx, as, p, m)
	if errs.Is(err, errs.Unauthorized) {
		return errs.Plain("You are not allowed to merge this merge request")
	}
	if err != nil {
		return err
	}
	if reason := unfit(p, m); reason != "" {
		return errs.New(errs.NotAllowed, reason)
	}
	if m.Status != CanBeMerged {
		return errCannotMerge
	}
	return s.schedule(ctx, as, p, m, MergeInput{train: trains(p)})
}

// CancelAutoMerge takes back the wish to merge once the pipeline has succeeded, and takes the
// request out of its merge train. A user who
// may merge may, and the author; others are Unauthorized. A request that is no longer
// open is NotAllowed, one without the wish NotAcceptable.
func (s *Service) CancelAutoMerge(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*MergeRequest, error) {
	m, err := s.Read(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.requireCancel(ctx, as, p, m); err != nil {
		return nil, err
	}
	waited := false
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.unplan(ctx, m.ID)
		if waited = out.Any(); err != nil || !waited {
			return err
		}
		f, err := s.fact(ctx, as, p, out)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, AutoMergeCanceled{Fact: f, Strategy: out.Before.Strategy()})
	})
	if err != nil {
		return nil, fmt.Errorf("cancel automatic merge: %w", err)
	}
	if waited {
		return s.Read(ctx, as, p, iid)
	}
	if err := s.reload(ctx, m); err != nil {
		return nil, err
	}
	if m.State != StateOpened {
		return nil, errs.New(errs.NotAllowed, cannotCancel)
	}
	return nil, errs.New(errs.NotAcceptable, cannotCancel)
}

// requireCancel lets through who may merge the request, and its author where he may change it.
func (s *Service) requireCancel(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) error {
	may, err := s.CanMerge(ctx, as, p, m)
	if err == nil && !may && as.Is(m.AuthorID) {
		may, err = s.Policy.Can(ctx, as, authz.UpdateMergeRequest, m.Subject(as, p))
	}
	if err == nil && !may {
		return errs.New(errs.Unauthorized, "")
	}
	return err
}

// unplan makes the row of a request say that it waits for nothing; where it did not wait,
// nothing changes. One that is being merged at this moment is left alone.
func (s *Service) unplan(ctx context.Context, id ID) (db.Change[MergeRequest], error) {
	var out db.Change[MergeRequest]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.row(id), func(_ context.Context, m *MergeRequest) error {
			if !m.MergeWhenPipelineSucceeds || m.State != StateOpened && m.State != StateClosed {
				return nil
			}
			m.MergeWhenPipelineSucceeds, m.MergeUserID, m.ShouldRemoveSource = false, nil, nil
			m.Plan, m.UpdatedAt = Plan{}, s.stamp()
			return nil
		})
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil || !out.Any() || !out.Before.inTrain() {
			return err
		}
		return s.leaveTrain(ctx, id)
	})
	if err != nil {
		return out, fmt.Errorf("take back automatic merge: %w", err)
	}
	return out, nil
}

// abort takes the wish back because of something else that happened, in the row and in m,
// and publishes why. A request without the wish is left alone.
func (s *Service) abort(ctx context.Context, by authz.Actor, p *project.Project, m *MergeRequest, reason string) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := s.unplan(ctx, m.ID)
		if err != nil || !out.Any() {
			return err
		}
		m.MergeWhenPipelineSucceeds, m.MergeUserID, m.ShouldRemoveSource, m.Plan = false, nil, nil, Plan{}
		f, err := s.fact(ctx, by, p, out)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, AutoMergeAborted{Fact: f, Reason: reason, Strategy: out.Before.Strategy()})
	})
}

// leave takes the wish back where the branch has left the commit that it was about.
func (s *Service) leave(ctx context.Context, by authz.Actor, p *project.Project, m *MergeRequest) error {
	left, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM merge_requests m
		WHERE m.id = ? AND m.merge_when_pipeline_succeeds AND m.auto_merge_sha <> ?)`, m.ID, m.HeadSHA)
	if err != nil || !left {
		return err
	}
	return s.abort(ctx, by, p, m, abortPushed)
}

// autoMerge is the job that merges the requests from a branch whose pipeline has succeeded
// and that were set to merge then.
type autoMerge struct {
	ProjectID project.ID `json:"project_id"` // of the branch
	Branch    string     `json:"branch"`
}

// Kind names the job.
func (autoMerge) Kind() string { return "merge_request_auto_merge" }

// OnPipeline reacts to a report about a pipeline of a branch, in its transaction. Whether
// anybody waits is asked by the job alone: an answer from here could miss who begins to wait
// at this moment.
func (s *Service) OnPipeline(ctx context.Context, id project.ID, branch string, state ci.State) error {
	if state != ci.Success && state != ci.Skipped {
		return nil
	}
	return s.enqueueDue(ctx, &id, branch)
}

func (s *Service) enqueueDue(ctx context.Context, source *project.ID, branch string) error {
	if source == nil {
		return nil
	}
	return s.Jobs.Enqueue(ctx, autoMerge{*source, branch})
}

// mergeDue does the job. All that was asked when the wish was written is asked again.
func (s *Service) mergeDue(ctx context.Context, work autoMerge) error {
	rows, projects, err := s.open(ctx, "m.source_project_id = ? AND m.source_branch = ? AND m.merge_when_pipeline_succeeds", work.ProjectID, work.Branch)
	if err != nil || len(rows) == 0 {
		return err
	}
	if err := s.pipelinesOf(ctx, rows); err != nil {
		return err
	}
	var failures []error
	for _, m := range rows {
		if p := projects[m.ProjectID]; p != nil && !m.inTrain() && passed(p, m) {
			failures = append(failures, s.mergeOneDue(ctx, p, m))
		}
	}
	return errors.Join(failures...)
}

// mergeOneDue merges a request whose pipeline has succeeded, or takes the wish back where
// that cannot be any more.
func (s *Service) mergeOneDue(ctx context.Context, p *project.Project, m *MergeRequest) error {
	w, err := s.load(ctx, "m.id = ? AND m.state = 'opened' AND m.merge_when_pipeline_succeeds", m.ID)
	if errs.Is(err, errs.NotFound) {
		return nil // taken back, or merged
	}
	if err != nil {
		return fmt.Errorf("read automatic merge: %w", err)
	}
	if w.inTrain() {
		return nil // it has entered
	}
	as, err := s.planner(ctx, w)
	if err != nil {
		return err
	}
	if !as.SignedIn() {
		return s.abort(ctx, authz.Actor{UserID: m.AuthorID}, p, m, abortRights)
	}
	enters := w.Strategy() == TrainWhenSucceeds
	if enters && !trains(p) {
		return s.abort(ctx, as, p, m, abortTrains)
	}
	in := MergeInput{
		SHA: deref(w.AutoMergeSHA), MergeMessage: deref(w.AutoMergeMessage), SquashMessage: deref(w.AutoMergeSquashMessage),
		Squash: m.Squash, RemoveSource: w.ShouldRemoveSource, WhenReady: true, due: true, train: enters,
	}
	err = s.mergeAs(ctx, as, m, in)
	switch {
	case err == nil:
		return nil
	case errs.Is(err, errs.Unauthorized), errs.Is(err, errs.Forbidden), errs.Is(err, errs.NotFound):
		return s.abort(ctx, as, p, m, abortRights)
	case errs.Is(err, errs.Conflict):
		return s.abort(ctx, as, p, m, abortPushed)
	case errs.Is(err, errs.Unprocessable):
		return s.abort(ctx, as, p, m, abortGit)
	case errs.Is(err, errs.NotAllowed):
		return s.notDue(ctx, as, p, m, err)
	}
	return err
}

// planner returns the user who wants the merge as one who acts, no user where he may not act
// any more. He is no more of an administrator than he was when he asked.
func (s *Service) planner(ctx context.Context, m *MergeRequest) (authz.Actor, error) {
	if m.MergeUserID == nil {
		return authz.Actor{}, nil
	}
	users, err := s.Accounts.Load(ctx, []authz.UserID{*m.MergeUserID})
	if err != nil {
		return authz.Actor{}, fmt.Errorf("who wants the merge: %w", err)
	}
	u := users[*m.MergeUserID]
	if u == nil || u.State != account.Active {
		return authz.Actor{}, nil
	}
	as := u.Actor()
	as.Admin = as.Admin && m.AutoMergeAdmin != nil && *m.AutoMergeAdmin
	return as, nil
}

// mergeAs merges m for a user who is not there: after other merges into the same branch,
// and with the project as that user sees it.
func (s *Service) mergeAs(ctx context.Context, as authz.Actor, m *MergeRequest, in MergeInput) error {
	leave, err := s.enter(ctx, m)
	if err != nil {
		return err
	}
	defer leave()
	if _, running := s.merging.LoadOrStore(m.ID, struct{}{}); running {
		return errLocked
	}
	defer s.merging.Delete(m.ID)
	p, err := s.Projects.FindByID(ctx, as, m.ProjectID)
	if err != nil {
		return err
	}
	found, err := s.Find(ctx, as, p, m.IID)
	if err != nil {
		return err
	}
	if err := s.requireMerge(ctx, as, p, found); err != nil {
		return err
	}
	_, err = s.mergeNow(ctx, as, p, found, in)
	return err
}

// notDue looks why a request that was due was not ready after all: it may wait for another
// run of its pipeline, or may never be ready.
func (s *Service) notDue(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, cause error) error {
	if err := s.reload(ctx, m); err != nil {
		return err
	}
	if m.State != StateOpened || !m.MergeWhenPipelineSucceeds || m.inTrain() {
		return nil
	}
	if reason := unfit(p, m); reason != "" {
		return s.abort(ctx, as, p, m, reason)
	}
	if err := s.readObstacle(ctx, p, m); err != nil {
		return err
	}
	if m.Blocked(p) || len(m.Obstacles) > 0 || m.Blockers > 0 {
		return nil // CountNotes comes back to it, or who meets the condition by Unblock
	}
	if err := s.pipelinesOf(ctx, []*MergeRequest{m}); err != nil || !passed(p, m) {
		return err
	}
	return cause // it changed under our hands: look again
}

// departPlans takes back what a departing user had set to merge.
func (s *Service) departPlans(ctx context.Context, id authz.UserID, limit int) (bool, error) {
	rows, err := s.rows(ctx, " WHERE m.merge_user_id = ? AND m.merge_when_pipeline_succeeds AND m.state = 'opened' ORDER BY m.id LIMIT ?", id, limit)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	projects, err := s.Projects.Load(ctx, projectsOf(rows))
	if err != nil {
		return false, err
	}
	for _, m := range rows {
		p := projects[m.ProjectID]
		if p == nil { // it is being deleted
			_, err = s.unplan(ctx, m.ID)
		} else {
			err = s.abort(ctx, authz.Actor{UserID: m.AuthorID}, p, m, abortUser)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
