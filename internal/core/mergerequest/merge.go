package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// MergeInput says how to merge.
type MergeInput struct {
	SHA           string // what the source branch must be at, "" for whatever it is
	MergeMessage  string // "" follows the project's template
	SquashMessage string // the same
	Squash        bool   // false leaves it to the request and the project
	RemoveSource  *bool  // nil does as the request says
	WhenReady     bool   // wait for the pipeline where it runs; without one there is nothing to wait for

	// SkipTrain leaves the merge train out, where the project allows it.
	SkipTrain bool

	due   bool // what the row waits for has come
	train bool // the request is to enter the merge train, or is merged from it
	car   *Car // what is merged, for a request in the train
}

// What merge_error says after a merge that failed.
const (
	errorNotForward = "Only fast-forward merge is allowed for your project. Please update your source branch"
	errorSquash     = "Squashing failed: Squash the commits locally, resolve any conflicts, then push the branch."
	errorMoved      = "Branch has been updated since the merge was requested. Please review the changes."
	errorMerging    = "An error occurred while merging"
)

var errCannotMerge = errs.New(errs.Unprocessable, "Branch cannot be merged")

// refusal is a reason why git cannot merge, worded for merge_error.
type refusal struct {
	reason string
	answer error // nil is errCannotMerge
}

// Error returns the reason.
func (r *refusal) Error() string { return r.reason }

// maxAttempts bounds how often a merge begins again because the target branch has moved.
const maxAttempts = 8

// Merge merges request iid, or with in.WhenReady sets it to merge when its running pipeline
// has succeeded, and returns it as it is afterwards. The refusals come in this
// order: NotFound, Unauthorized for who may not merge into the target
// branch, NotAllowed for a request that is not ready, Unprocessable for what git cannot
// merge, Conflict where the source branch is not at in.SHA.
func (s *Service) Merge(ctx context.Context, as authz.Actor, p *project.Project, iid IID, in MergeInput) (*MergeRequest, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.requireMerge(ctx, as, p, m); err != nil {
		return nil, err
	}
	if _, running := s.merging.LoadOrStore(m.ID, struct{}{}); running {
		return nil, errLocked
	}
	defer s.merging.Delete(m.ID)
	leave, err := s.enter(ctx, m)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.mergeNow(ctx, as, p, m, in)
}

// mergeNow is Merge for an actor who may, when it is the request's turn.
func (s *Service) mergeNow(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, in MergeInput) (*MergeRequest, error) {
	// Another merge may have ended between the first look and our turn.
	if err := s.reload(ctx, m); err != nil {
		return nil, err
	}
	if in.WhenReady && !in.due && trains(p) && !(in.SkipTrain && p.Settings().MergeTrainsSkipTrainAllowed) {
		in.train = true
	}
	enters := in.train && in.car == nil
	switch {
	case enters && !trains(p):
		return nil, errNoTrains
	case enters && m.State == StateOpened && m.inTrain() && (in.SHA == "" || in.SHA == m.HeadSHA):
		return m, nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	kept, err := r.Quarantine(ctx) // of the trial merge, whose tree the merge needs as well
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	defer func() { _ = kept.Discard() }() // housekeeping removes what is left
	if err := s.checkMerge(ctx, p, m, in, kept); err != nil {
		return nil, err
	}
	if in.waits(m) {
		return s.planned(ctx, p, m, s.schedule(ctx, as, p, m, in))
	}
	if enters {
		return s.planned(ctx, p, m, s.board(ctx, as, p, m, in))
	}
	a, err := s.attempt(ctx, as, p, m, in)
	if err != nil {
		return nil, err
	}
	a.kept = kept
	if err := s.run(ctx, a); err != nil {
		return nil, err
	}
	if err := s.reload(context.WithoutCancel(ctx), m); err != nil {
		return nil, err
	}
	m.Status = m.statusAt("")
	return m, nil
}

// waits reports whether the merge is to come later: its pipeline is under way.
func (i *MergeInput) waits(m *MergeRequest) bool { return i.WhenReady && !i.due && m.Pipeline.Active() }

// planned returns a request as it is after it was set to merge later, unless that failed with err.
func (s *Service) planned(ctx context.Context, p *project.Project, m *MergeRequest, err error) (*MergeRequest, error) {
	if err != nil {
		return nil, err
	}
	if err := s.reload(ctx, m); err != nil {
		return nil, err
	}
	return m, s.readPipelines(ctx, []*MergeRequest{m}, map[project.ID]*project.Project{p.ID: p})
}

// enter waits until no other merge into the same branch runs here, so that merges do not
// overtake one another for ever; branches that share a lane wait for each other as well.
func (s *Service) enter(ctx context.Context, m *MergeRequest) (leave func(), err error) {
	return turn(ctx, s.lanes[:], m.ProjectID, m.TargetBranch)
}

// turn waits for the lane of a branch.
func turn(ctx context.Context, lanes []chan struct{}, in project.ID, branch string) (leave func(), err error) {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d/%s", in, branch)
	lane := lanes[h.Sum32()%uint32(len(lanes))]
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkMerge brings the request up to date and judges it. A trial merge is made in kept.
func (s *Service) checkMerge(ctx context.Context, p *project.Project, m *MergeRequest, in MergeInput, kept *gitcmd.Quarantine) error {
	if err := s.refreshIn(ctx, authz.Actor{}, p, m, kept); err != nil {
		return err
	}
	if m.State == StateLocked {
		return errLocked
	}
	if err := s.readObstacle(ctx, p, m); err != nil {
		return err
	}
	if p.MergeNeedsPipeline || in.WhenReady {
		if err := s.pipelinesOf(ctx, []*MergeRequest{m}); err != nil {
			return err
		}
	}
	if reason := notReady(p, m, in); reason != "" {
		return notAllowed(reason)
	}
	if m.Status != CanBeMerged {
		return errCannotMerge
	}
	if p.MergeMethod != project.MergeCommit && !in.train { // a train rebases
		r, err := s.Repos.Open(ctx, p)
		if err != nil {
			return err
		}
		forward, err := contains(ctx, r, idOf(m.TrialSourceSHA), idOf(m.TrialTargetSHA))
		if err != nil {
			return err
		}
		if !forward {
			return s.giveUp(ctx, m, false, &refusal{reason: errorNotForward})
		}
	}
	if in.SHA != "" && in.SHA != m.HeadSHA {
		return errWrongHead(m.HeadSHA)
	}
	return nil
}

func errWrongHead(head string) error {
	return errs.New(errs.Conflict, "SHA does not match HEAD of source branch: "+head)
}

// leftFor is why a merge ends whose source branch was pushed to after the checks.
func (a *attempt) leftFor(head string) error {
	r := &refusal{reason: errorMoved}
	if a.in.SHA != "" {
		r.answer = errWrongHead(head)
	}
	return r
}

// Refusals that time may mend.
var (
	errLocked  = notAllowed("the merge request is being merged")
	errChanged = notAllowed("the merge request has changed meanwhile")
)

// Codes of refusals that the state of a merge request causes.
const (
	CodeNotMergeable errs.Code = "merge_request_not_mergeable" // the message says why
	CodeLocked       errs.Code = "merge_request_locked"        // it is being merged
)

func notAllowed(reason string) error { return errs.Coded(errs.NotAllowed, CodeNotMergeable, reason) }

// requireMerge asks for the right to push to the target branch or to merge into it.
// Without it the answer is Unauthorized.
func (s *Service) requireMerge(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) error {
	if err := s.requireOn(ctx, as, authz.AcceptMergeRequest, p, m); err != nil {
		if errs.Is(err, errs.Forbidden) {
			return errs.New(errs.Unauthorized, "")
		}
		return err
	}
	may, err := s.CanMerge(ctx, as, p, m)
	if err == nil && !may {
		return errs.New(errs.Unauthorized, "")
	}
	return err
}

// CanMerge reports whether the actor may merge into the request's target branch.
func (s *Service) CanMerge(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (bool, error) {
	may, err := s.Policy.Can(ctx, as, authz.AcceptMergeRequest, m.Subject(as, p))
	if err != nil || !may {
		return false, err
	}
	access, err := s.Protections.BranchAccess(ctx, as, p, m.TargetBranch)
	return access.Push || access.Merge, err
}

// run makes the commits and moves the branches until it succeeds, until another user
// was faster, or until it is clear that it cannot.
func (s *Service) run(ctx context.Context, a *attempt) error {
	tip, err := s.tip(ctx, a.p, a.m.TargetBranch)
	if err != nil {
		return err
	}
	held, commits := false, s.commits
	if a.in.car != nil {
		commits = s.prepared
	}
	for range maxAttempts {
		a.lease, err = commits(ctx, a, tip)
		if err != nil {
			return s.giveUp(ctx, a.m, held, err)
		}
		if err := s.stays(ctx, a); err != nil {
			return s.giveUp(ctx, a.m, held, err)
		}
		if err := s.hold(ctx, a, held); err != nil {
			return s.unheld(ctx, a, held, err)
		}
		if !held {
			// From here on a caller that goes away must not stop us half-way.
			held, ctx = true, context.WithoutCancel(ctx)
		}
		err := s.Repos.MoveRefs(ctx, a.as, a.p, repo.ByMerge, a.moves())
		if err == nil {
			return s.finish(ctx, a)
		}
		if !errors.Is(err, repo.ErrMoved) {
			return s.afterFailure(ctx, a, err)
		}
		if tip, err = s.again(ctx, a); err != nil {
			return s.giveUp(ctx, a.m, held, err)
		}
	}
	return s.giveUp(ctx, a.m, held, &refusal{reason: errorMerging})
}

// stays refuses to merge a head that its branch in a fork has left. The branch of the same
// project is asked when the references move.
func (s *Service) stays(ctx context.Context, a *attempt) error {
	if !a.m.Fork() || a.source == nil {
		return nil
	}
	source, err := s.tip(ctx, a.source, a.m.SourceBranch)
	if err == nil && !source.IsZero() && hexOf(source) != a.m.HeadSHA {
		err = a.leftFor(hexOf(source))
	}
	return err
}

// moves lists the references that the merge moves, in one transaction. The source branch
// must still name the head that was checked.
func (a *attempt) moves() []repo.RefChange {
	target, source := gitstore.RefName(gitstore.Branches+a.m.TargetBranch), gitstore.RefName(gitstore.Branches+a.m.SourceBranch)
	out := []repo.RefChange{{Ref: target, Old: idOf(a.lease.TargetOldSHA), New: idOf(a.lease.TargetNewSHA)}}
	head := idOf(a.m.HeadSHA)
	switch {
	case a.m.Fork() || a.gone:
	case a.remove:
		out = append(out, repo.RefChange{Ref: source, Old: head})
	default:
		out = append(out, repo.RefChange{Ref: source, Old: head, New: head})
	}
	return out
}

// again looks why the references could not be moved. A source branch that has moved
// ends the merge, or only keeps the branch where it is merely gone.
func (s *Service) again(ctx context.Context, a *attempt) (gitstore.ObjectID, error) {
	if a.source != nil {
		source, err := s.tip(ctx, a.source, a.m.SourceBranch)
		if err != nil {
			return source, err
		}
		if source.IsZero() {
			a.remove, a.gone = false, true
		} else if hexOf(source) != a.m.HeadSHA {
			return source, a.leftFor(hexOf(source))
		}
	}
	tip, err := s.tip(ctx, a.p, a.m.TargetBranch)
	if err == nil && tip.IsZero() {
		err = &refusal{reason: errorMerging}
	}
	return tip, err
}

// afterFailure settles a merge whose move ended in an error that does not say whether
// the branch has moved: the branch itself does.
func (s *Service) afterFailure(ctx context.Context, a *attempt, cause error) error {
	merged, err := s.settle(ctx, a.p, &a.lease)
	if err != nil {
		return errors.Join(cause, err)
	}
	if merged {
		s.Log.Warn("merge ended in an error after the branch had moved", "merge_request_id", a.m.ID, "error", cause)
		return nil
	}
	return fmt.Errorf("merge: %w", cause)
}

// unheld ends a merge whose lease could not be written, nothing having moved. A failed
// commit may have written it after all, and an earlier try may have left one, which would
// keep the request locked.
func (s *Service) unheld(ctx context.Context, a *attempt, held bool, cause error) error {
	if _, left := errors.AsType[*refusal](cause); left {
		return s.giveUp(ctx, a.m, held, cause)
	}
	var known *errs.Error
	if errors.As(cause, &known) {
		return cause
	}
	return errors.Join(cause, s.reopen(context.WithoutCancel(ctx), a.m.ID, errorMerging))
}

// giveUp ends a merge that cannot be done and records why.
func (s *Service) giveUp(ctx context.Context, m *MergeRequest, held bool, cause error) error {
	ctx = context.WithoutCancel(ctx)
	var why *refusal
	reason := errorMerging
	known := errors.As(cause, &why)
	if known {
		reason = why.reason
	}
	if held {
		if err := s.reopen(ctx, m.ID, reason); err != nil {
			return errors.Join(cause, err)
		}
	} else if _, err := s.DB.Exec(ctx, "UPDATE merge_requests SET merge_error = ? WHERE id = ? AND state = 'opened'", present(reason), m.ID); err != nil {
		return errors.Join(cause, fmt.Errorf("store merge error: %w", err))
	}
	switch {
	case known && why.answer != nil:
		return why.answer
	case known:
		return errCannotMerge
	}
	return cause
}

// present returns a text, nil where it is empty.
func present(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
