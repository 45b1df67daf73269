package ci

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
)

// count counts the pipeline against the limits of its user. A child pipeline belongs to one that was counted.
func (d *draft) count() error {
	if d.row.Source == ByParentPipeline {
		return nil
	}
	if err := d.Limits.CheckIn(limit.PipelinesOfCommit, d.as, int64(d.project.ID), d.row.SHA); err != nil {
		return err
	}
	return d.Limits.Check(limit.Pipelines, d.as)
}

// validationTimeout is how long the external validation service may take unless a setting says otherwise.
const validationTimeout = 5 * time.Second

// notAcceptable is the status with which the external validation service refuses a pipeline.
const notAcceptable = 406

// rejected is the error of a pipeline that the external validation service refuses.
const rejected = "External validation failed"

// validatedUser is what the external validation service learns of the user of a pipeline.
type validatedUser struct {
	ID              authz.UserID `json:"id"`
	Username        string       `json:"username"`
	Email           string       `json:"email"`
	CreatedAt       db.Time      `json:"created_at"`
	CurrentSignInIP *string      `json:"current_sign_in_ip"`
	LastSignInIP    *string      `json:"last_sign_in_ip"`
	SignInCount     int64        `json:"sign_in_count"`
}

// validatedJob is what it learns of a job.
type validatedJob struct {
	Name     string   `json:"name"`
	Stage    string   `json:"stage"`
	Image    string   `json:"image,omitempty"`
	TagList  []string `json:"tag_list"`
	Services []string `json:"services"`
	Script   []string `json:"script"`
}

// validationBody is the question about the pipeline.
func (d *draft) validationBody(ctx context.Context) ([]byte, error) {
	type object = map[string]any
	kind := "branch"
	switch {
	case d.in.MergeRequest != nil:
		kind = "merge_request"
	case d.row.Tag:
		kind = "tag"
	}
	p := d.project
	body := object{
		"project": object{
			"id": p.ID, "path": p.FullPath, "created_at": p.CreatedAt,
			"shared_runners_enabled": p.SharedRunnersEnabled, "group_runners_enabled": p.GroupRunnersEnabled,
		},
		"pipeline":           object{"sha": d.row.SHA, "ref": d.row.Ref, "type": kind + "_pipeline"},
		"total_builds_count": len(d.made.Jobs),
	}
	users, err := d.Accounts.Load(ctx, []authz.UserID{d.as.UserID})
	if err != nil {
		return nil, err
	}
	if u := users[d.as.UserID]; u != nil {
		body["user"] = validatedUser{u.ID, u.Username, u.Email, u.CreatedAt, u.CurrentSignInIP, u.LastSignInIP, u.SignInCount}
	}
	jobs := make([]validatedJob, len(d.made.Jobs))
	for i := range d.made.Jobs {
		c := &d.made.Jobs[i]
		jobs[i] = validatedJob{Name: c.Name, Stage: c.Stage, TagList: c.Tags, Script: c.Script}
		if c.Image != nil {
			jobs[i].Image = c.Image.Name
		}
		for _, s := range c.Services {
			jobs[i].Services = append(jobs[i].Services, s.Name)
		}
	}
	body["builds"] = jobs
	return json.Marshal(body)
}

// accepted asks the external validation service about the pipeline, where the settings name one. A service that answers 406 refuses
// it; one that answers anything else, or cannot be reached in time, does not.
func (d *draft) accepted(ctx context.Context) bool {
	set := d.Settings.Current()
	if set.ExternalPipelineValidationServiceURL == nil || *set.ExternalPipelineValidationServiceURL == "" {
		return true
	}
	body, err := d.validationBody(ctx)
	if err != nil {
		d.Deps.Log.ErrorContext(ctx, "pipeline is not validated", "project_id", d.project.ID, "error", err)
		return true
	}
	what := safehttp.Delivery{
		URL: *set.ExternalPipelineValidationServiceURL, Body: body, Header: map[string]string{"Content-Type": "application/json"},
	}
	if token := set.ExternalPipelineValidationServiceToken; token != nil && *token != "" {
		what.Header["X-Gitlab-Token"] = *token
	}
	timeout := validationTimeout
	if seconds := set.ExternalPipelineValidationServiceTimeout; seconds != nil {
		timeout = time.Duration(*seconds) * time.Second
	}
	err = d.Outbound.Deliver(ctx, timeout, what)
	if status, ok := errors.AsType[*safehttp.StatusError](err); ok && status.Status == notAcceptable {
		d.Deps.Log.InfoContext(ctx, "pipeline is refused by the validation service", "project_id", d.project.ID, "sha", d.row.SHA)
		return false
	}
	if err != nil {
		d.Deps.Log.WarnContext(ctx, "pipeline is not validated", "project_id", d.project.ID, "error", err)
	}
	return true
}
