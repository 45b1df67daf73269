package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

// AuthenticatedJob is a job whose token the caller presented.
type AuthenticatedJob struct {
	*Job

	project  *project.Project
	pipeline PipelineID
}

// NotRunningError says that a job is not run by a runner any more, with the state that it has.
type NotRunningError struct {
	State  State
	reason *errs.Error
}

// Error returns what a client may read.
func (e *NotRunningError) Error() string { return e.reason.Error() }

// Unwrap returns what a client may read.
func (e *NotRunningError) Unwrap() error { return e.reason }

func notRunning(state State, reason string) error {
	return &NotRunningError{State: state, reason: errs.Denied(reason)}
}

// countToken counts a request of a runner or a job against the limit of its token.
func (s *Service) countToken(class limit.Class, token string) error {
	return s.Limits.CheckIn(class, authz.Actor{}, 0, token)
}

// HoldForLog is Hold for a part of the log, which has a limit of its own.
func (s *Service) HoldForLog(ctx context.Context, id StatusID, token string) (*AuthenticatedJob, error) {
	h, err := s.hold(ctx, id, token)
	if err == nil {
		err = s.countToken(limit.JobLogs, token)
	}
	return h, err
}

// Hold returns the job with an id to the bearer of its token. Everything that is not right is Forbidden; where the job has ended
// it is a *NotRunningError.
func (s *Service) Hold(ctx context.Context, id StatusID, token string) (*AuthenticatedJob, error) {
	h, err := s.hold(ctx, id, token)
	if err == nil {
		err = s.countToken(limit.JobEndpoints, token)
	}
	return h, err
}

func (s *Service) hold(ctx context.Context, id StatusID, token string) (*AuthenticatedJob, error) {
	if token == "" || len(token) > secret.MaxToken {
		return nil, errs.Denied("")
	}
	j, err := s.loadJob(ctx, id)
	if errors.Is(err, db.ErrNotFound) || err == nil && (j.TokenDigest == nil || *j.TokenDigest != secret.Digest(token)) {
		return nil, errs.Denied("")
	}
	if err != nil {
		return nil, err
	}
	p, err := s.Projects.Load(ctx, []project.ID{j.ProjectID})
	if err != nil {
		return nil, err
	}
	switch {
	case p[j.ProjectID] == nil || p[j.ProjectID].PendingDelete:
		return nil, notRunning(j.State, "Project has been deleted!")
	case j.ErasedAt != nil:
		return nil, notRunning(j.State, "Job has been erased!")
	case j.State != Running && j.State != Canceling:
		return nil, notRunning(j.State, "Job is not running")
	}
	s.contacted(ctx, j)
	return &AuthenticatedJob{Job: j, project: p[j.ProjectID], pipeline: j.PipelineID}, nil
}

// HoldAny is Hold for the job that a token belongs to, whichever that is.
func (s *Service) HoldAny(ctx context.Context, token string) (*AuthenticatedJob, error) {
	if token == "" || len(token) > secret.MaxToken {
		return nil, errs.New(errs.Unauthorized, "")
	}
	id, err := db.Get[StatusID](ctx, s.DB, "SELECT j.job_id FROM jobs j WHERE j.token_digest = ?", secret.Digest(token))
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return nil, fmt.Errorf("find job by token: %w", err)
	}
	return s.hold(ctx, id, token)
}

// Bearer returns the actor of a job's token while the job runs: its user, as far as jobs reach. Everything else is Unauthorized.
func (s *Service) Bearer(ctx context.Context, token string) (authz.Actor, error) {
	as, _, err := s.bearer(ctx, token)
	return as, err
}

// bearer is Bearer with the job.
func (s *Service) bearer(ctx context.Context, token string) (authz.Actor, *AuthenticatedJob, error) {
	unauthorized := errs.New(errs.Unauthorized, "")
	if !secret.Has(token, jobTokenPrefix) {
		return authz.Actor{}, nil, unauthorized
	}
	h, err := s.HoldAny(ctx, token)
	if errs.Is(err, errs.Forbidden) || err == nil && h.AuthorID == nil {
		return authz.Actor{}, nil, unauthorized
	}
	if err != nil {
		return authz.Actor{}, nil, err
	}
	as, err := s.reach(ctx, h.Job, h.project)
	if refusal(err) {
		return authz.Actor{}, nil, unauthorized
	}
	return as, h, err
}

// jobUser is the name that goes with a job's token.
const jobUser = "gitlab-ci-token"

// BearerGit is Bearer for HTTP Basic; ok is false where the name is another or the password no job's token: jobs sign in
// under that name with other tokens, too. The actor pushes to the job's project if the project allows it.
func (s *Service) BearerGit(ctx context.Context, name, password string) (as authz.Actor, ok bool, err error) {
	if name != jobUser || !secret.Has(password, jobTokenPrefix) {
		return authz.Actor{}, false, nil
	}
	as, h, err := s.bearer(ctx, password)
	if err == nil {
		as.Job.Pushes = h.project.Settings().CIPushRepositoryForJobToken
	}
	return as, true, err
}

// contactEvery is how often it is written down that a runner is still there.
const contactEvery = time.Minute

// contacted notes that the runner of a job was heard of.
func (s *Service) contacted(ctx context.Context, j *Job) {
	now := s.Now()
	if j.ContactedAt != nil && now.Sub(j.ContactedAt.Time) < contactEvery {
		return
	}
	if _, err := s.DB.Exec(ctx, "UPDATE jobs SET contacted_at = ? WHERE job_id = ?", db.At(now), j.ID); err != nil {
		s.Deps.Log.ErrorContext(ctx, "note contact of runner", "job_id", j.ID, "error", err)
	}
}

// Outcome is what a runner says of its job.
type Outcome struct {
	State    string // running, success or failed
	Reason   string
	ExitCode *int64
	LogSize  *int64 // bytes that the runner has of the log; nil where it does not say
}

// What Finish gives where the runner has to do something first.
var (
	ErrLogIncomplete = errors.New("the log has not arrived whole")
	ErrUnknownState  = errors.New("unknown state of job")
)

// Finish takes what a runner says of its job and returns the state that the job has then. It is ErrLogIncomplete where bytes of the log are
// missing, which the runner sends before it asks again.
func (s *Service) Finish(ctx context.Context, h *AuthenticatedJob, o Outcome) (State, error) {
	switch o.State {
	case string(Running):
		return h.State, nil
	case string(Success), string(Failed):
	default:
		return h.State, ErrUnknownState
	}
	if o.LogSize != nil && *o.LogSize > h.LogSize {
		return h.State, ErrLogIncomplete
	}
	j, err := s.change(ctx, actorOf(h.Job), h.project, h.pipeline, h.ID, func(ctx context.Context, j *Job) error {
		switch {
		case j.State == Canceling:
			j.enter(Canceled, s.Now())
			return nil
		case j.State != Running:
			return notRunning(j.State, "Job is not running")
		}
		return s.ended(ctx, j, o)
	})
	if err != nil {
		return h.State, err
	}
	return j.State, nil
}

// ended gives a running job its last state.
func (s *Service) ended(ctx context.Context, j *Job, o Outcome) error {
	c, err := j.Config()
	if err != nil {
		return err
	}
	j.ExitCode = o.ExitCode
	if err := s.readCoverage(ctx, j, c.Coverage); err != nil {
		return err
	}
	if o.State == string(Success) {
		j.enter(Success, s.Now())
		return nil
	}
	reason := o.Reason
	if !slices.Contains(FailureReasons(), reason) {
		reason = UnknownFailure
	}
	j.fail(reason, s)
	if o.ExitCode != nil && slices.Contains(c.AllowExitCodes, int(*o.ExitCode)) {
		j.AllowFailure = true
	}
	return nil
}

// actorOf is the user who started a job, or the server where there is none.
func actorOf(j *Job) authz.Actor {
	if j.AuthorID == nil {
		return authz.System()
	}
	return authz.Actor{UserID: *j.AuthorID}
}

// tail is how much of the end of a log is searched for the coverage.
const tail = 1 << 20

// readCoverage looks for the last line of the log that the job's expression matches and takes the number in it.
func (s *Service) readCoverage(ctx context.Context, j *Job, expression string) error {
	re, err := compileCoverage(expression)
	if err != nil || re == nil {
		return nil // the configuration was read when the pipeline was made
	}
	text, err := s.logEnd(ctx, j, tail)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for _, line := range slices.Backward(lines) {
		if n, ok := coverageIn(re, line); ok {
			j.Coverage = &n
			return nil
		}
	}
	return nil
}
