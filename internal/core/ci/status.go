package ci

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// StatusID identifies a status or a job.
type StatusID int64

// Kind says who makes a status.
type Kind string

// The kinds.
const (
	ExternalKind Kind = "external" // another system
	JobKind      Kind = "job"      // a runner
	BridgeKind   Kind = "bridge"   // a pipeline that it started
)

// Status is one check of a commit: a job, or what another system reported.
type Status struct {
	ID          StatusID      `db:"id"`
	PipelineID  PipelineID    `db:"pipeline_id"`
	Name        string        `db:"name"`
	Stage       string        `db:"stage"`
	Ref         string        `db:"ref"`
	State       State         `db:"status"`
	Retried     bool          `db:"retried"` // a later one of the same name took its place
	TargetURL   *string       `db:"target_url"`
	Description *string       `db:"description"`
	Coverage    *float64      `db:"coverage"` // percent
	AuthorID    *authz.UserID `db:"author_id"`
	CreatedAt   db.Time       `db:"created_at"`
	UpdatedAt   db.Time       `db:"updated_at"`
	QueuedAt    *db.Time      `db:"queued_at"` // when it became pending
	StartedAt   *db.Time      `db:"started_at"`
	FinishedAt  *db.Time      `db:"finished_at"`

	ProjectID     project.ID `db:"project_id"`
	Kind          Kind       `db:"kind"`
	StageIndex    int        `db:"stage_idx"`
	AllowFailure  bool       `db:"allow_failure"`
	FailureReason *string    `db:"failure_reason"` // of one that failed

	ResourceGroupID *ResourceGroupID `db:"resource_group_id"` // of jobs that run one at a time
	Environment     *string          `db:"environment"`       // that the job deploys to
}

// About names the status, or the job that it is.
func (s Status) About() change.Subject {
	kind := "Ci::Build"
	switch s.Kind {
	case BridgeKind:
		kind = "Ci::Bridge"
	case ExternalKind:
		kind = "GenericCommitStatus"
	}
	return change.Subject{Type: kind, ID: int64(s.ID), Title: s.Name}
}

const (
	externalStage      = "external" // of statuses that other systems report
	externalStageIndex = 1_000_000

	maxText     = 255  // characters
	maxStatuses = 1000 // of one pipeline, those that were replaced included
)

// Input reports a status; nil leaves a value alone.
type Input struct {
	State       State
	Name        string
	Ref         string     // "" is that of the newest pipeline, else a branch that holds the commit
	PipelineID  PipelineID // zero is the newest of commit and ref
	TargetURL   *string
	Description *string
	Coverage    *float64
}

// Filter selects statuses of a commit; the zero value selects the latest of every name.
type Filter struct {
	Ref        string
	Stage      string
	Name       string
	PipelineID PipelineID
	All        bool // with those that were replaced
	ByPipeline bool // sort by pipeline instead of id
	Desc       bool
	page.Range
}

// StatusReported is published when another system reported on a commit.
type StatusReported struct {
	change.Of[Status] // Before is nil for the first report

	Pipeline Pipeline
}

// Statuses lists those of a commit, whose full id is the second result.
func (s *Service) Statuses(ctx context.Context, as authz.Actor, p *project.Project, sha string, f Filter) (page.Page[Status], string, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return page.Page[Status]{}, "", err
	}
	commit, err := s.Repos.FindCommit(ctx, as, p, sha)
	if err != nil {
		return page.Page[Status]{}, "", err
	}
	list, err := s.list(ctx, p.ID, commit.ID, f)
	return list, commit.ID.String(), err
}

// Report records what another system says of a commit: a status that still moves is
// changed in place, one that has ended is replaced by a new one. It requires SetCommitStatus, and the right to run pipelines of
// a protected reference.
func (s *Service) Report(ctx context.Context, as authz.Actor, p *project.Project, sha string, in Input) (*Status, string, error) {
	if err := s.Policy.Require(ctx, as, authz.SetCommitStatus, p.Subject()); err != nil {
		return nil, "", err
	}
	if in.State == "" {
		return nil, "", errs.Plain("State is required")
	}
	if len(reports[in.State]) == 0 {
		return nil, "", errs.Plain("invalid state")
	}
	if err := in.validate(); err != nil {
		return nil, "", err
	}
	commit, err := s.Repos.FindCommit(ctx, as, p, sha)
	if err != nil {
		return nil, "", err
	}
	ref, err := s.refOf(ctx, as, p, commit, in)
	if err != nil {
		return nil, "", err
	}
	if err := s.mayReport(ctx, as, p, commit.ID, ref, in.PipelineID); err != nil {
		return nil, "", err
	}
	if err := s.Repos.KeepAround(ctx, p, commit.ID); err != nil {
		return nil, "", err
	}
	var out *Status
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		pipeline, err := s.pipelineFor(ctx, as, p, commit.ID, ref, in.PipelineID)
		if err != nil {
			return err
		}
		before, after, err := s.write(ctx, as, pipeline, in)
		if err != nil {
			return err
		}
		out = after
		if err := s.advance(ctx, as, p, pipeline); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, StatusReported{
			Of: change.Between(as, s.Now(), p.Place(), before, after), Pipeline: *pipeline,
		})
	})
	if err != nil {
		return nil, "", fmt.Errorf("report status: %w", err)
	}
	return out, commit.ID.String(), nil
}

// mayReport is mayChange for the pipeline that a report belongs to, whether it is there or will be made.
func (s *Service) mayReport(ctx context.Context, as authz.Actor, p *project.Project, commit gitstore.ObjectID, ref string, id PipelineID) error {
	of, err := s.newest(ctx, p.ID, commit, ref, id)
	if err != nil {
		return err
	}
	if of == nil {
		of = &Pipeline{ProjectID: p.ID, Ref: ref}
	}
	return s.mayChange(ctx, as, p, of)
}

func tooLong(name string) *errs.Error {
	return errs.Broken("", name, "is too long (maximum is 255 characters)")
}

// validate holds the texts against their limits.
func (i *Input) validate() error {
	var fields []errs.Field
	long := func(name, value string) {
		if utf8.RuneCountInString(value) > maxText {
			fields = append(fields, tooLong(name).Fields...)
		}
	}
	if i.TargetURL != nil && *i.TargetURL != "" {
		u, err := url.Parse(*i.TargetURL)
		if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
			fields = append(fields, errs.Field{Name: "target_url", Messages: []string{"is blocked: Only allowed schemes are http, https"}})
		}
		long("target_url", *i.TargetURL)
	}
	if i.Description != nil {
		long("description", *i.Description)
	}
	long("name", i.Name)
	long("ref", i.Ref)
	if len(fields) > 0 {
		return &errs.Error{Kind: errs.Invalid, Fields: fields}
	}
	return nil
}

// refOf says which branch or tag a report is about.
func (s *Service) refOf(ctx context.Context, as authz.Actor, p *project.Project, commit *gitstore.Commit, in Input) (string, error) {
	if in.Ref != "" {
		return strings.TrimPrefix(in.Ref, "refs/heads/"), nil
	}
	last, err := s.newest(ctx, p.ID, commit.ID, "", in.PipelineID)
	if err != nil {
		return "", err
	}
	if last != nil {
		return last.Ref, nil
	}
	refs, err := s.Repos.Holding(ctx, as, p, commit, "branch", page.Range{})
	if err != nil {
		return "", err
	}
	if len(refs.Items) == 0 {
		return "", errs.Missing("References for commit")
	}
	return refs.Items[0].Short(), nil
}

// pipelineFor finds the pipeline that a status belongs to, or makes it. The row stays
// locked until the transaction ends, so that reports come one after the other.
func (s *Service) pipelineFor(ctx context.Context, as authz.Actor, p *project.Project, commit gitstore.ObjectID, ref string, id PipelineID) (*Pipeline, error) {
	found, err := s.newest(ctx, p.ID, commit, ref, id)
	if err != nil {
		return nil, err
	}
	if found == nil && id != 0 {
		return nil, errs.Missing("Pipeline for pipeline_id, sha and ref")
	}
	lock := s.DB.Dialect().ForUpdate()
	if found == nil {
		// Two first reports at once must not make two pipelines.
		if _, err := db.Select[int64](ctx, s.DB, "SELECT id FROM projects WHERE id = ?"+lock, p.ID); err != nil {
			return nil, fmt.Errorf("lock project: %w", err)
		}
		if found, err = s.newest(ctx, p.ID, commit, ref, 0); err != nil {
			return nil, err
		}
	}
	if found != nil {
		if _, err := db.Select[int64](ctx, s.DB, "SELECT id FROM pipelines WHERE id = ?"+lock, found.ID); err != nil {
			return nil, fmt.Errorf("lock pipeline: %w", err)
		}
		return found, nil
	}
	iid, err := namespace.NextIID(ctx, s.DB, p.NamespaceID, namespace.KindPipeline)
	if err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	user := as.UserID
	made := &Pipeline{
		IID: iid, ProjectID: p.ID, SHA: commit.String(), Ref: ref, Source: External, State: Created, UserID: &user, CreatedAt: now, UpdatedAt: now,
		AutoCancel: CancelNone,
	}
	if err := db.Create(ctx, s.DB, "pipelines", made); err != nil {
		return nil, fmt.Errorf("make pipeline: %w", err)
	}
	return made, nil
}

// Expect makes the pipeline that waits for reports about a commit which the server made, in the
// caller's transaction. A commit that has one keeps it. It asks for no permission.
func (s *Service) Expect(ctx context.Context, as authz.Actor, p *project.Project, commit gitstore.ObjectID, ref string) error {
	found, err := s.newest(ctx, p.ID, commit, "", 0)
	if err != nil || found != nil {
		return err
	}
	_, err = s.pipelineFor(ctx, as, p, commit, ref, 0)
	return err
}

// write changes the status that still moves, or makes a new one, for which before is nil.
func (s *Service) write(ctx context.Context, as authz.Actor, p *Pipeline, in Input) (before, after *Status, err error) {
	now := s.Now()
	id, err := s.moving(ctx, p.ID, in.Name)
	if err == nil {
		out, err := db.Update(ctx, s.DB, db.Row{Table: "commit_statuses", ID: id}, func(_ context.Context, st *Status) error {
			return st.apply(in, now)
		})
		if err != nil {
			return nil, nil, errs.Wrap(err, "change status")
		}
		return &out.Before, &out.After, nil
	}
	if !errors.Is(err, db.ErrNotFound) {
		return nil, nil, err
	}
	if err := s.replace(ctx, p.ID, in.Name); err != nil {
		return nil, nil, err
	}
	user := as.UserID
	st := &Status{
		PipelineID: p.ID, ProjectID: p.ProjectID, Kind: ExternalKind, Name: in.Name, Stage: externalStage, StageIndex: externalStageIndex, Ref: p.Ref,
		State: Created, AuthorID: &user, CreatedAt: db.At(now), UpdatedAt: db.At(now),
	}
	if err := st.apply(in, now); err != nil {
		return nil, nil, err
	}
	if err := db.Create(ctx, s.DB, "commit_statuses", st); err != nil {
		return nil, nil, fmt.Errorf("write status: %w", err)
	}
	return nil, st, nil
}

// apply takes a report over.
func (s *Status) apply(in Input, now time.Time) error {
	if in.TargetURL != nil {
		s.TargetURL = in.TargetURL
	}
	if in.Description != nil {
		s.Description = in.Description
	}
	if in.Coverage != nil {
		s.Coverage = in.Coverage
	}
	return s.report(in.State, now)
}
