package notify

import (
	"context"
	"strconv"

	"tenon/internal/base/errs"
	"tenon/internal/base/mail"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// ofPipeline is the kind of pipelines, which have mail and no comments.
const ofPipeline noteable.Kind = "Pipeline"

// Events of pipelines, for the user who started them.
const (
	failedPipeline  = "failed_pipeline"
	fixedPipeline   = "fixed_pipeline"   // it had failed, or the one before has
	successPipeline = "success_pipeline" // none of them; for users who chose it
)

// maxShownJobs is how many failed jobs stand in a mail.
const maxShownJobs = 20

// pipelineChanged tells who started a pipeline how it ended, where no newer one has begun.
func (s *Service) pipelineChanged(ctx context.Context, e ci.PipelineChanged) error {
	p := e.Row()
	if s.Out.Sender == nil || p.UserID == nil || p.Source == ci.ByParentPipeline || p.State != ci.Failed && p.State != ci.Success {
		return nil
	}
	before, newest, err := s.CI.Precedent(ctx, p)
	if err != nil || !newest {
		return err
	}
	m := Mailing{Event: failedPipeline, On: ofPipeline, Target: int64(p.ID), Project: int64(p.ProjectID), Users: []authz.UserID{*p.UserID}}
	switch {
	case p.State == ci.Success && (p.HasFailed || before == ci.Failed):
		m.Event = fixedPipeline
	case p.State == ci.Success:
		m.Event = successPipeline
	}
	return s.mail(ctx, m)
}

// findPipeline reads a pipeline and what failed in it.
func (s *Service) findPipeline(ctx context.Context, ref noteable.Ref) (*topic, error) {
	p, err := s.project(ctx, project.ID(ref.Project))
	if p == nil || err != nil {
		return nil, err
	}
	of, err := s.CI.Find(ctx, authz.System(), p, ci.PipelineID(ref.ID))
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hash := of.SHA[:min(shownHash, len(of.SHA))]
	t := &topic{
		MailContent: noteable.MailContent{Place: p.Place(), URL: s.URLs.Pipeline(p.FullPath, ref.ID), State: string(of.State), Title: of.Ref + " | " + hash},
		ref:         ref, noun: "pipeline", sign: "#", header: "Pipeline", references: reference.Of(p),
		headers: []mail.Header{{Name: "X-GitLab-Pipeline-Ref", Value: of.Ref}, {Name: "X-GitLab-Pipeline-Status", Value: string(of.State)}},
	}
	c, err := s.Repos.FindCommit(ctx, authz.System(), p, of.SHA)
	switch {
	case err == nil:
		t.Description = c.Title()
	case !errs.Is(err, errs.NotFound):
		return nil, err
	}
	if of.State != ci.Failed {
		return t, nil
	}
	if of.YAMLErrors != nil {
		t.rows = []string{*of.YAMLErrors}
		return t, nil
	}
	jobs, err := s.CI.JobsOf(ctx, authz.System(), p, of.ID, ci.JobFilter{States: []ci.State{ci.Failed}, Asc: true, Range: page.Range{Limit: maxShownJobs}})
	for i := range jobs.Items {
		if j := &jobs.Items[i]; !j.AllowFailure {
			t.rows = append(t.rows, failure(j))
		}
	}
	return t, err
}

// pipelineReadable reports whether a user may read the pipeline that a mailing is about.
func (s *Service) pipelineReadable(ctx context.Context, as authz.Actor, t *topic) (bool, error) {
	_, err := s.CI.Find(ctx, as, project.Of(t.Place), ci.PipelineID(t.ref.ID))
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return false, nil
	}
	return err == nil, err
}

// failure says in a line which job failed, and why.
func failure(j *ci.Job) string {
	line := j.Stage + ": " + j.Name
	if j.FailureReason != nil {
		line += " (" + *j.FailureReason + ")"
	}
	return line + ", job #" + strconv.FormatInt(int64(j.ID), 10)
}

// ended says in a sentence how a pipeline ended.
func ended(event string, t *topic) string {
	it := "Pipeline " + t.short() + " of " + t.Place.Name + " for " + t.Title
	if t.Description != "" {
		it += " (" + t.Description + ")"
	}
	switch event {
	case failedPipeline:
		return it + " has failed."
	case fixedPipeline:
		return it + " has passed again."
	}
	return it + " has passed."
}

// headings begin the subjects of mails about pipelines.
var headings = map[string]string{failedPipeline: "Failed pipeline", fixedPipeline: "Fixed pipeline", successPipeline: "Successful pipeline"}
