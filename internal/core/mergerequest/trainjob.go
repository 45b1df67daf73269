package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// train is the job that makes the commits of a merge train and merges its cars in order. What
// it has done is in the rows, so that it goes on where it was interrupted.
type train struct {
	ProjectID project.ID `json:"project_id"`
	Branch    string     `json:"branch"`
}

// Kind names the job.
func (train) Kind() string { return "merge_train" }

const (
	maxCars   = 20  // how many of a train have commits that are checked at the same time
	maxRounds = 100 // cars that one job merges or removes
	maxSwept  = 200 // references that one job deletes
)

// errOvertaken ends the merge of a car whose target branch has moved: its commit is made again.
var errOvertaken = errors.New("the target branch has moved")

// errLeft says that a car has left its train meanwhile.
var errLeft = errors.New("the merge request has left the merge train")

// runTrain does the job. Jobs of one branch follow one another.
func (s *Service) runTrain(ctx context.Context, work train) error {
	leave, err := turn(ctx, s.tracks[:], work.ProjectID, work.Branch)
	if err != nil {
		return err
	}
	defer leave()
	for range maxRounds {
		projects, err := s.Projects.Load(ctx, []project.ID{work.ProjectID})
		if err != nil {
			return err
		}
		p := projects[work.ProjectID]
		if p == nil {
			return nil // it is being deleted
		}
		more, err := s.advance(ctx, p, work.Branch)
		if err != nil {
			return err
		}
		if !more {
			return s.sweepCars(ctx, p, work.Branch)
		}
	}
	return s.Jobs.Enqueue(ctx, work)
}

// advance brings the cars of a train up to date, from the first on, until one was merged or
// removed, which more tells.
func (s *Service) advance(ctx context.Context, p *project.Project, branch string) (more bool, err error) {
	cars, err := db.Select[Car](ctx, s.DB, "SELECT "+db.Columns[Car]("c")+` FROM merge_train_cars c
		WHERE c.target_project_id = ? AND c.target_branch = ? AND `+inTrain+" ORDER BY c.id LIMIT ?", p.ID, branch, maxCars)
	if err != nil || len(cars) == 0 {
		return false, err
	}
	requests, err := s.aboard(ctx, p, cars)
	if err != nil {
		return false, err
	}
	tip, err := s.tip(ctx, p, branch)
	if err != nil {
		return false, err
	}
	at := tip
	for i := range cars {
		c := &cars[i]
		m := requests[c.RequestID]
		switch {
		case m == nil:
			continue // deleted just now
		case m.State == StateLocked:
			return false, nil // the merge that ends enqueues the job
		case !m.inTrain():
			return true, s.DB.InTx(ctx, func(ctx context.Context) error { return s.leaveTrain(ctx, m.ID) })
		}
		if reason := stopsCar(p, m, at); reason != "" {
			return true, s.evict(ctx, p, m, reason)
		}
		reason, err := s.couple(ctx, p, m, c, at)
		switch {
		case errors.Is(err, errLeft):
			return true, nil
		case err != nil:
			return false, err
		case reason != "":
			return true, s.evict(ctx, p, m, reason)
		}
		state, err := s.carState(ctx, c)
		if err == nil && state == "" {
			if err = s.testCar(ctx, p, m, c); err == nil {
				state, err = s.carState(ctx, c)
			}
		}
		if err != nil {
			return false, err
		}
		switch {
		case state == ci.Success || state == alsoPasses(p):
			if at == tip { // nothing is before it
				return true, s.mergeCar(ctx, p, m, c)
			}
		case state.Complete():
			return true, s.evict(ctx, p, m, abortPipeline)
		}
		at = idOf(c.TrainSHA)
	}
	return false, nil
}

// evict removes a request from its train, in the name of the user who added it.
func (s *Service) evict(ctx context.Context, p *project.Project, m *MergeRequest, reason string) error {
	by := authz.Actor{UserID: m.AuthorID}
	if m.MergeUserID != nil {
		users, err := s.Accounts.Load(ctx, []authz.UserID{*m.MergeUserID})
		if err != nil {
			return fmt.Errorf("who added to the merge train: %w", err)
		}
		if u := users[*m.MergeUserID]; u != nil {
			by = u.Actor()
		}
	}
	return s.abort(ctx, by, p, m, reason)
}

// aboard reads the requests of cars with what a merge asks for.
func (s *Service) aboard(ctx context.Context, p *project.Project, cars []Car) (map[ID]*MergeRequest, error) {
	ids := make([]ID, len(cars))
	for i := range cars {
		ids[i] = cars[i].RequestID
	}
	var w db.Where
	w.In("m.id", ids)
	rows, err := s.rows(ctx, w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read merge requests of merge train: %w", err)
	}
	if err := s.attach(ctx, rows); err != nil {
		return nil, err
	}
	out := make(map[ID]*MergeRequest, len(rows))
	for _, m := range rows {
		out[m.ID] = m
	}
	return out, s.readStatus(ctx, rows, map[project.ID]*project.Project{p.ID: p})
}

// stopsCar says why a request cannot stay in its train, as far as it is not git.
func stopsCar(p *project.Project, m *MergeRequest, at gitstore.ObjectID) string {
	if !trains(p) {
		return abortTrains
	}
	if at.IsZero() {
		return "the target branch was deleted"
	}
	for _, c := range []Condition{isReady(m), isSettled(p, m), isApproved(m), isUnblocked(m), passesChecks(p, m)} {
		if c.Reason != "" {
			return c.Reason
		}
	}
	return ""
}

// couple makes the commit of a car on that of the car before it, unless it stands there, and
// the reference that names it. The reason tells why the car has to be removed instead.
func (s *Service) couple(ctx context.Context, p *project.Project, m *MergeRequest, c *Car, at gitstore.ObjectID) (reason string, err error) {
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return "", err
	}
	if c.TrainSHA != "" && c.BaseSHA == hexOf(at) {
		switch _, err := r.Info(ctx, idOf(c.TrainSHA)); {
		case errors.Is(err, gitstore.ErrNotFound): // a crash came before its reference
		case err != nil:
			return "", fmt.Errorf("look for commit of merge train: %w", err)
		default:
			if err := s.freshen(ctx, c); err != nil {
				return "", err
			}
			return "", pinCar(ctx, r, m, c)
		}
	}
	as, err := s.planner(ctx, m)
	if err != nil {
		return "", err
	}
	if !as.SignedIn() {
		return abortRights, nil
	}
	seen, err := s.Projects.FindByID(ctx, as, p.ID)
	if err == nil {
		err = s.requireMerge(ctx, as, seen, m)
	}
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Unauthorized) || errs.Is(err, errs.Forbidden) {
		return abortRights, nil
	}
	if err != nil {
		return "", err
	}
	a, err := s.attempt(ctx, as, seen, m, carInput(m, c))
	if err != nil {
		return "", err
	}
	l, err := s.commits(ctx, a, at)
	if _, refused := errors.AsType[*refusal](err); refused {
		return abortGit, nil
	}
	if err != nil {
		return "", err
	}
	if err := s.storeCar(ctx, c, &l); err != nil {
		return "", err
	}
	if err := pinCar(ctx, r, m, c); err != nil {
		return "", err
	}
	if err := s.CI.CancelOthers(ctx, p, int64(m.ID), m.prefix()+"train", c.TrainSHA); err != nil {
		return "", err
	}
	return "", s.testCar(ctx, p, m, c)
}

// freshen marks a car that stands where it should, though one before it has left.
func (s *Service) freshen(ctx context.Context, c *Car) error {
	if c.Status == CarFresh {
		return nil
	}
	_, err := s.DB.Exec(ctx, "UPDATE merge_train_cars SET status = 'fresh', updated_at = ? WHERE id = ? AND status IN ('idle', 'stale')", s.stamp(), c.ID)
	if err != nil {
		return fmt.Errorf("freshen car of merge train: %w", err)
	}
	return nil
}

// carInput says how a car is merged.
func carInput(m *MergeRequest, c *Car) MergeInput {
	return MergeInput{
		SHA: deref(m.AutoMergeSHA), MergeMessage: deref(m.AutoMergeMessage), SquashMessage: deref(m.AutoMergeSquashMessage),
		Squash: m.Squash, RemoveSource: m.ShouldRemoveSource, due: true, train: true, car: c,
	}
}

// storeCar records the commit of a car.
func (s *Service) storeCar(ctx context.Context, c *Car, l *lease) error {
	var next Car
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, db.Row{Table: "merge_train_cars", ID: c.ID, Missing: errLeft}, func(_ context.Context, row *Car) error {
			if row.Status != CarIdle && row.Status != CarFresh && row.Status != CarStale {
				return errLeft
			}
			row.Status, row.BaseSHA, row.TrainSHA, row.Pinned = CarFresh, l.TargetOldSHA, l.TargetNewSHA, true
			row.MergeCommitSHA, row.SquashCommitSHA, row.UpdatedAt = l.MergeCommitSHA, l.SquashCommitSHA, s.stamp()
			return nil
		})
		if err != nil {
			return err
		}
		next = out.After
		return nil
	})
	if err != nil {
		return fmt.Errorf("store commit of merge train: %w", err)
	}
	*c = next
	return nil
}

// pinCar makes refs/merge-requests/:iid/train name the commit of a car.
func pinCar(ctx context.Context, r *gitcmd.Repo, m *MergeRequest, c *Car) error {
	name := gitstore.RefName(m.prefix() + "train")
	now, err := r.Ref(ctx, name)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return fmt.Errorf("read reference of merge train: %w", err)
	}
	if hexOf(now) == c.TrainSHA {
		return nil
	}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: name, New: idOf(c.TrainSHA), AnyOld: true}}); err != nil {
		return fmt.Errorf("name commit of merge train: %w", err)
	}
	return nil
}

// carPipeline is the id of the pipeline of a car (c): the newest that was made for it, or else
// the newest that ran for its commit.
const carPipeline = `COALESCE((SELECT MAX(n.id) FROM pipelines n JOIN merge_requests o ON o.id = n.merge_request_id
		WHERE o.id = c.merge_request_id AND n.sha = c.train_sha AND n.source = 'merge_request_event' AND n.ref = 'refs/merge-requests/' || o.iid || '/train'),
	(SELECT MAX(n.id) FROM pipelines n WHERE n.project_id = c.target_project_id AND n.sha = c.train_sha AND n.source <> 'parent_pipeline'))`

// carState tells how the pipeline of a car stands, "" where there is none.
func (s *Service) carState(ctx context.Context, c *Car) (ci.State, error) {
	state, err := db.Get[ci.State](ctx, s.DB, "SELECT l.status FROM merge_train_cars c JOIN pipelines l ON l.id = "+carPipeline+" WHERE c.id = ?", c.ID)
	if errors.Is(err, db.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read pipeline of merge train: %w", err)
	}
	return state, nil
}

// carPasses asks in the transaction that locks a merge request whether its car still is what
// was checked.
func (s *Service) carPasses(ctx context.Context, p *project.Project, c *Car) (bool, error) {
	return db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM merge_train_cars c JOIN pipelines l ON l.id = "+carPipeline+
		" WHERE c.id = ? AND c.train_sha = ? AND l.status IN (?, ?) AND "+inTrain+")", c.ID, c.TrainSHA, ci.Success, alsoPasses(p))
}

// prepared is the merge that a car has made. Where the target branch has moved since, it is
// made again.
func (s *Service) prepared(ctx context.Context, a *attempt, tip gitstore.ObjectID) (lease, error) {
	c := a.in.car
	if hexOf(tip) != c.BaseSHA {
		return lease{}, &refusal{answer: errOvertaken}
	}
	l := lease{
		RequestID: a.m.ID, UserID: a.as.UserID, TargetOldSHA: c.BaseSHA, TargetNewSHA: c.TrainSHA, MergeCommitSHA: c.MergeCommitSHA,
		SquashCommitSHA: c.SquashCommitSHA, RemoveSource: a.remove, CreatedAt: s.stamp(), closes: a.messages.issues,
	}
	return l, s.judge(ctx, a, a.repo, &l)
}

// mergeCar merges the first car of a train, whose pipeline has succeeded, or removes it where
// that cannot be any more.
func (s *Service) mergeCar(ctx context.Context, p *project.Project, m *MergeRequest, c *Car) error {
	as, err := s.planner(ctx, m)
	if err != nil {
		return err
	}
	if !as.SignedIn() {
		return s.evict(ctx, p, m, abortRights)
	}
	err = s.mergeAs(ctx, as, m, carInput(m, c))
	switch {
	case err == nil, errors.Is(err, errOvertaken):
		return nil
	case errs.Is(err, errs.Unauthorized), errs.Is(err, errs.Forbidden), errs.Is(err, errs.NotFound):
		return s.abort(ctx, as, p, m, abortRights)
	case errs.Is(err, errs.Conflict):
		return s.abort(ctx, as, p, m, abortPushed)
	case errs.Is(err, errs.Unprocessable):
		return s.abort(ctx, as, p, m, abortGit)
	case errs.Is(err, errs.NotAllowed):
		return s.carChanged(ctx, as, p, m, err)
	}
	return err
}

// carChanged looks why a car was not merged: what it is asked for again has changed meanwhile.
func (s *Service) carChanged(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, cause error) error {
	if err := s.reload(ctx, m); errs.Is(err, errs.NotFound) {
		return nil
	} else if err != nil {
		return err
	}
	if !m.inTrain() {
		return nil
	}
	if m.State != StateOpened || errors.Is(cause, errLocked) {
		return cause // another merge of it is under way: the job tries again
	}
	if reason := unfit(p, m); reason != "" {
		return s.abort(ctx, as, p, m, reason)
	}
	return nil // the next round finds out
}

// sweepCars deletes the references of cars that are no longer in the train of a branch.
func (s *Service) sweepCars(ctx context.Context, p *project.Project, branch string) error {
	type row struct {
		ID        CarID     `db:"id"`
		IID       IID       `db:"iid"`
		RequestID ID        `db:"merge_request_id"`
		Status    CarStatus `db:"status"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT c.id, c.merge_request_id, c.status, m.iid FROM merge_train_cars c JOIN merge_requests m ON m.id = c.merge_request_id
		WHERE c.target_project_id = ? AND c.target_branch = ? AND (c.status = 'removed' OR c.pinned AND NOT `+inTrain+") ORDER BY c.id LIMIT ?", p.ID, branch, maxSwept)
	if err != nil {
		return fmt.Errorf("read former cars of merge train: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	ids := make([]CarID, len(rows))
	var updates []gitstore.RefUpdate
	for i, at := range rows {
		ids[i] = at.ID
		name := gitstore.RefName((&MergeRequest{IID: at.IID}).prefix() + "train")
		if at.Status != CarMerged {
			if err := s.CI.CancelOthers(ctx, p, int64(at.RequestID), string(name), ""); err != nil {
				return err
			}
		}
		switch _, err := r.Ref(ctx, name); {
		case err == nil:
			updates = append(updates, gitstore.RefUpdate{Ref: name, AnyOld: true})
		case !errors.Is(err, gitstore.ErrNotFound):
			return fmt.Errorf("read reference of merge train: %w", err)
		}
	}
	if len(updates) > 0 {
		if err := r.UpdateRefs(ctx, updates); err != nil {
			return fmt.Errorf("drop references of merge train: %w", err)
		}
	}
	var w db.Where
	w.In("id", ids)
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.DB.Exec(ctx, "DELETE FROM merge_train_cars"+w.SQL()+" AND status = 'removed'", w.Args()...); err != nil {
			return err
		}
		_, err := s.DB.Exec(ctx, "UPDATE merge_train_cars SET pinned = false"+w.SQL()+" AND status IN ('merged', 'skip_merged')", w.Args()...)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop cars of merge train: %w", err)
	}
	return nil
}
