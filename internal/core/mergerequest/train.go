package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// CarID identifies a car of a merge train.
type CarID int64

// CarStatus says where a car stands.
type CarStatus string

// The statuses of a car. A row of one that left its train is "removed" until its reference is.
const (
	CarIdle       CarStatus = "idle"  // its commit is not made yet
	CarFresh      CarStatus = "fresh" // its commit is on that of the car before it
	CarStale      CarStatus = "stale" // its commit is made again
	CarMerging    CarStatus = "merging"
	CarMerged     CarStatus = "merged"
	CarSkipMerged CarStatus = "skip_merged" // merged, but not by the train
)

// inTrain selects the cars (c) that are to be merged.
const inTrain = "c.status IN ('idle', 'fresh', 'stale')"

// Car is a merge request in a merge train, the queue of a target branch. Its commit is what
// the branch becomes when all cars before it are merged.
type Car struct {
	ID              CarID         `db:"id"`
	RequestID       ID            `db:"merge_request_id"`
	ProjectID       project.ID    `db:"target_project_id"`
	TargetBranch    string        `db:"target_branch"`
	UserID          *authz.UserID `db:"user_id"` // who added it; nil where the account is gone
	Status          CarStatus     `db:"status"`
	BaseSHA         string        `db:"base_sha"`  // what the commit was made on, "" before it is made
	TrainSHA        string        `db:"train_sha"` // the commit
	MergeCommitSHA  *string       `db:"merge_commit_sha"`
	SquashCommitSHA *string       `db:"squash_commit_sha"`
	Pinned          bool          `db:"pinned"` // its reference may be there
	CreatedAt       db.Time       `db:"created_at"`
	UpdatedAt       db.Time       `db:"updated_at"`
	MergedAt        *db.Time      `db:"merged_at"`
}

// CarView is a car as one caller may see it.
type CarView struct {
	Car
	MergeRequest *MergeRequest    // without what hangs on it
	User         *account.Summary // nil where the account is gone
	Pipeline     *ci.Pipeline     // of its commit; nil where there is none, or it is hidden
}

// CarScope selects cars by their status.
type CarScope string

// The scopes of cars. "" is all of them.
const (
	ActiveCars   CarScope = "active"
	CompleteCars CarScope = "complete"
)

// CarFilter selects cars of a project; the zero value selects all.
type CarFilter struct {
	TargetBranch string // "" is every branch
	Scope        CarScope
	Asc          bool // the oldest first
	page.Range
}

// Why a merge request leaves a train; each ends the sentence "removed this merge request from
// the merge train because ...".
const (
	abortPipeline = "the pipeline did not succeed"
	abortTrains   = "merge trains were disabled"
)

// The strategies of an automatic merge beside the ordinary one.
var strategyTrain, strategyLater = string(InTrain), string(TrainWhenSucceeds)

var errNoTrains = errs.Denied("Merge trains are not enabled for this project")

// Strategy says how an automatic merge is done.
type Strategy string

// The strategies of automatic merges.
const (
	WhenPipelineSucceeds Strategy = "merge_when_pipeline_succeeds"
	InTrain              Strategy = "merge_train"
	TrainWhenSucceeds    Strategy = "add_to_merge_train_when_pipeline_succeeds"
)

// Strategy returns how a request that is set to merge by itself is merged.
func (p *Plan) Strategy() Strategy {
	if p.AutoMergeStrategy == nil {
		return WhenPipelineSucceeds
	}
	return Strategy(*p.AutoMergeStrategy)
}

// inTrain reports whether the request is in a merge train.
func (m *MergeRequest) inTrain() bool { return m.MergeWhenPipelineSucceeds && m.Strategy() == InTrain }

// trains reports whether a project has merge trains, which need merged results.
func trains(p *project.Project) bool {
	set := p.Settings()
	return set.MergeTrainsEnabled && set.MergePipelinesEnabled
}

// Cars lists those of a project, the newest first. It requires ReadMergeTrain.
func (s *Service) Cars(ctx context.Context, as authz.Actor, p *project.Project, f CarFilter) (page.Page[CarView], error) {
	if err := s.requireTrain(ctx, as, p); err != nil {
		return page.Page[CarView]{}, err
	}
	q := page.Query{Columns: db.Columns[Car]("c"), From: "merge_train_cars c", Order: page.Order{page.ID("c.id")}}
	if !f.Asc {
		q.Order = q.Order.Desc()
	}
	q.Where.And("c.target_project_id = ?", p.ID)
	if f.TargetBranch != "" {
		q.Where.And("c.target_branch = ?", f.TargetBranch)
	}
	switch f.Scope {
	case ActiveCars:
		q.Where.Raw(inTrain)
	case CompleteCars:
		q.Where.Raw("c.status IN ('merged', 'skip_merged')")
	default:
		q.Where.Raw("c.status <> 'removed'")
	}
	list, err := page.Select[Car](ctx, s.DB, q, f.Range)
	if err != nil {
		return page.Page[CarView]{}, fmt.Errorf("list cars of merge trains: %w", err)
	}
	views, err := s.carViews(ctx, as, p, list.Items)
	return page.With(list, views), err
}

// Car returns that of a merge request, which may be merged already. It requires ReadMergeTrain.
func (s *Service) Car(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (*CarView, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, hidden(err)
	}
	if err := s.requireTrain(ctx, as, p); err != nil {
		return nil, err
	}
	c, err := db.Get[Car](ctx, s.DB, "SELECT "+db.Columns[Car]("c")+` FROM merge_train_cars c JOIN merge_requests m ON m.id = c.merge_request_id
		WHERE m.target_project_id = ? AND m.iid = ? AND c.status <> 'removed'`, p.ID, iid)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find car of merge train: %w", err)
	}
	views, err := s.carViews(ctx, as, p, []Car{c})
	if err != nil {
		return nil, err
	}
	if len(views) == 0 {
		return nil, errs.Missing("")
	}
	return &views[0], nil
}

// requireTrain demands a signed-in actor first, as every call on merge requests does.
func (s *Service) requireTrain(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.requireRead(ctx, as, p); err != nil {
		return err
	}
	return s.Policy.Require(ctx, as, authz.ReadMergeTrain, p.Subject())
}

// carViews reads what is shown of cars, with as many statements for many as for one.
func (s *Service) carViews(ctx context.Context, as authz.Actor, p *project.Project, cars []Car) ([]CarView, error) {
	if len(cars) == 0 {
		return nil, nil
	}
	var requests db.Where
	ids, people := make([]ID, len(cars)), []authz.UserID(nil)
	var commits []gitstore.ObjectID
	for i := range cars {
		c := &cars[i]
		if ids[i] = c.RequestID; c.UserID != nil {
			people = append(people, *c.UserID)
		}
		if c.TrainSHA != "" {
			commits = append(commits, idOf(c.TrainSHA))
		}
	}
	requests.In("m.id", ids)
	rows, err := s.rows(ctx, requests.SQL(), requests.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read merge requests of merge trains: %w", err)
	}
	byID := make(map[ID]*MergeRequest, len(rows))
	for _, m := range rows {
		byID[m.ID] = m
	}
	users, err := s.Accounts.ByIDs(ctx, people)
	if err != nil {
		return nil, err
	}
	pipelines, err := s.CI.LastOf(ctx, as, p, commits)
	if err != nil {
		return nil, err
	}
	out := make([]CarView, 0, len(cars))
	for i := range cars {
		v := CarView{Car: cars[i], MergeRequest: byID[cars[i].RequestID]}
		if v.MergeRequest == nil {
			continue // deleted just now
		}
		if v.MergeRequest.State == StateLocked && v.MergedAt == nil {
			v.Status = CarMerging
		}
		if v.UserID != nil {
			v.User = users[*v.UserID]
		}
		v.Pipeline = pipelines[idOf(v.TrainSHA)]
		out = append(out, v)
	}
	return out, nil
}

// AddToTrain puts a request at the end of the merge train of its target branch, or with
// in.WhenReady lets it enter when its running pipeline has succeeded; added tells which. One
// that is in the train stays where it is. The refusals are those of Merge but for the pipeline,
// which the train runs itself; Forbidden where the project has no merge trains.
func (s *Service) AddToTrain(ctx context.Context, as authz.Actor, p *project.Project, iid IID, in MergeInput) (m *MergeRequest, added bool, err error) {
	m, err = s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, false, err
	}
	if err := s.requireMerge(ctx, as, p, m); err != nil {
		return nil, false, err
	}
	leave, err := s.enter(ctx, m)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	in.train = true
	if m, err = s.mergeNow(ctx, as, p, m, in); err != nil {
		return nil, false, err
	}
	return m, m.inTrain(), nil
}

// board adds a request to the train of its target branch, in the name of the actor. One that is
// in it stays where it is.
func (s *Service) board(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, in MergeInput) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, s.row(m.ID).Provided(as.UnmodifiedAt), func(_ context.Context, row *MergeRequest) error {
			switch {
			case row.State != StateOpened || row.HeadSHA != m.HeadSHA || row.TargetBranch != m.TargetBranch || row.Draft:
				return errChanged
			case row.inTrain():
				return nil
			case in.due && (!row.MergeWhenPipelineSucceeds || !equal(row.MergeUserID, &as.UserID)):
				return errChanged
			}
			row.MergeWhenPipelineSucceeds, row.MergeUserID, row.MergeError, row.UpdatedAt = true, &as.UserID, nil, s.stamp()
			row.Squash, row.ShouldRemoveSource = row.Squash || in.Squash, in.RemoveSource
			row.Plan = Plan{&row.HeadSHA, &as.Admin, &in.MergeMessage, &in.SquashMessage, &strategyTrain}
			return nil
		})
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		}
		if err != nil || out.Before.inTrain() {
			return err
		}
		// The reference of a former car may still be there.
		pinned, err := db.Select[bool](ctx, s.DB, "DELETE FROM merge_train_cars WHERE merge_request_id = ? RETURNING pinned", m.ID)
		if err != nil {
			return err
		}
		now := s.stamp()
		c := Car{RequestID: m.ID, ProjectID: p.ID, TargetBranch: m.TargetBranch, UserID: &as.UserID, Status: CarIdle, Pinned: len(pinned) > 0 && pinned[0], CreatedAt: now, UpdatedAt: now}
		if err := db.Create(ctx, s.DB, "merge_train_cars", &c); err != nil {
			return err
		}
		position, err := db.Get[int](ctx, s.DB, `SELECT COUNT(*) FROM merge_train_cars c
			WHERE c.target_project_id = ? AND c.target_branch = ? AND c.id <= ? AND `+inTrain, p.ID, m.TargetBranch, c.ID)
		if err != nil {
			return err
		}
		f, err := s.fact(ctx, as, p, out)
		if err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, AutoMergeEnabled{Fact: f, SHA: m.HeadSHA, Strategy: InTrain, Position: position}); err != nil {
			return err
		}
		return s.Jobs.Enqueue(ctx, train{p.ID, m.TargetBranch})
	})
	var known *errs.Error
	if err != nil && !errors.As(err, &known) {
		return fmt.Errorf("add to merge train: %w", err)
	}
	return err
}

// leaveTrain takes the car of a request out of its train, in the caller's transaction. The cars
// behind it are made again; the job deletes the reference.
func (s *Service) leaveTrain(ctx context.Context, id ID) error {
	return s.endCar(ctx, "SET status = 'removed', updated_at = ? WHERE merge_request_id = ?", s.stamp(), id)
}

// arrive records that a request was merged, by its car where the branch moved to what that had
// made, in the caller's transaction.
func (s *Service) arrive(ctx context.Context, l *lease, at db.Time) error {
	return s.endCar(ctx, `SET status = CASE WHEN train_sha = ? AND train_sha <> '' THEN 'merged' ELSE 'skip_merged' END,
		merged_at = ?, updated_at = ? WHERE merge_request_id = ?`, l.TargetNewSHA, at, at, l.RequestID)
}

func (s *Service) endCar(ctx context.Context, change string, args ...any) error {
	ended, err := db.Select[Car](ctx, s.DB, "UPDATE merge_train_cars "+change+` AND status IN ('idle', 'fresh', 'stale')
		RETURNING `+db.Columns[Car]("merge_train_cars"), args...)
	if err != nil {
		return fmt.Errorf("end car of merge train: %w", err)
	}
	for i := range ended {
		c := &ended[i]
		if c.Status != CarMerged {
			if _, err := s.DB.Exec(ctx, `UPDATE merge_train_cars SET status = 'stale', updated_at = ?
				WHERE target_project_id = ? AND target_branch = ? AND id > ? AND status = 'fresh'`, c.UpdatedAt, c.ProjectID, c.TargetBranch, c.ID); err != nil {
				return fmt.Errorf("make cars behind stale: %w", err)
			}
		}
		if err := s.Jobs.Enqueue(ctx, train{c.ProjectID, c.TargetBranch}); err != nil {
			return err
		}
	}
	return nil
}

// lookAgain enqueues the job that a request which is set to merge by itself waits for.
func (s *Service) lookAgain(ctx context.Context, m *MergeRequest) error {
	if m.inTrain() {
		return s.Jobs.Enqueue(ctx, train{m.ProjectID, m.TargetBranch})
	}
	return s.enqueueDue(ctx, m.SourceProjectID, m.SourceBranch)
}

// OnCarPipeline looks at the train whose car a finished pipeline ran for, in the transaction of
// the report. The row of a car is there before its commit can be found.
func (s *Service) OnCarPipeline(ctx context.Context, of ci.Pipeline) error {
	if of.State.Active() {
		return nil
	}
	branches, err := db.Select[string](ctx, s.DB, `SELECT DISTINCT c.target_branch FROM merge_train_cars c
		WHERE c.target_project_id = ? AND c.train_sha = ? AND c.train_sha <> '' AND `+inTrain+" ORDER BY c.target_branch", of.ProjectID, of.SHA)
	if err != nil {
		return fmt.Errorf("look for car of pipeline: %w", err)
	}
	for _, branch := range branches {
		if err := s.Jobs.Enqueue(ctx, train{of.ProjectID, branch}); err != nil {
			return err
		}
	}
	return nil
}

// resumeTrains enqueues the jobs of all trains, which a crash may have interrupted.
func (s *Service) resumeTrains(ctx context.Context) error {
	type row struct {
		ProjectID project.ID `db:"target_project_id"`
		Branch    string     `db:"target_branch"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT DISTINCT c.target_project_id, c.target_branch FROM merge_train_cars c WHERE "+inTrain+
		" OR c.pinned OR c.status = 'removed' ORDER BY c.target_project_id, c.target_branch")
	if err != nil {
		return fmt.Errorf("read merge trains: %w", err)
	}
	for _, r := range rows {
		if err := s.Jobs.Enqueue(ctx, train(r)); err != nil {
			return err
		}
	}
	return nil
}

// moveTrain enqueues the job of the train of a branch that was pushed to, where there is one.
func (s *Service) moveTrain(ctx context.Context, id project.ID, branch string) error {
	waits, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM merge_train_cars c WHERE c.target_project_id = ? AND c.target_branch = ? AND "+inTrain+")", id, branch)
	if err != nil {
		return fmt.Errorf("look for merge train: %w", err)
	}
	if !waits {
		return nil
	}
	return s.Jobs.Enqueue(ctx, train{id, branch})
}
