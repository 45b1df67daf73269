package statuscheck

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/payload"
)

const (
	callTimeout  = 10 * time.Second
	callAttempts = 4 // about two minutes
)

// call is the job that tells the service of a check about a merge request.
type call struct {
	CheckID   ID                       `json:"check_id"`
	RequestID mergerequest.ID          `json:"merge_request_id"`
	UserID    authz.UserID             `json:"user_id"` // who did it
	Action    string                   `json:"action"`
	OldSHA    string                   `json:"old_sha,omitempty"` // the head before a push
	Changes   map[string]change.Values `json:"changes,omitempty"`
	Delivery  string                   `json:"delivery"` // the same in each attempt
}

// request is what a service is told.
type request struct {
	*payload.MergeRequestBody

	Rule rule `json:"external_approval_rule"`
}

type rule struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
	URL  string `json:"external_url"`
}

// Kind names the job.
func (call) Kind() string { return "external_status_check" }

// RegisterJobs says how services are called.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.call, job.On(job.Outbound), job.Attempts(callAttempts), job.Timeout(2*callTimeout))
}

// Subscribe registers what services are told about.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "external status checks"
	event.On(b, name, s.OnCreated)
	event.On(b, name, s.OnNewVersion)
	event.On(b, name, s.OnUpdated)
	event.On(b, name, s.OnClosed)
	event.On(b, name, s.OnReopened)
	event.On(b, name, s.OnMerged)
	event.On(b, name, s.OnApproved)
	event.On(b, name, s.OnUnapproved)
}

// OnCreated tells of a new merge request; one without commits is told of when it has some.
func (s *Service) OnCreated(ctx context.Context, e mergerequest.Created) error {
	if e.Row().HeadSHA == "" {
		return nil
	}
	return s.tell(ctx, e.Fact, call{Action: "open"})
}

// OnNewVersion tells of a push.
func (s *Service) OnNewVersion(ctx context.Context, e mergerequest.NewVersion) error {
	return s.tell(ctx, e.Fact, call{Action: "update", OldSHA: e.OldSHA})
}

// OnUpdated tells of changed attributes.
func (s *Service) OnUpdated(ctx context.Context, e mergerequest.Updated) error {
	return s.tell(ctx, e.Fact, call{Action: "update", Changes: short(e.Changed())})
}

// OnClosed tells that a merge request was closed.
func (s *Service) OnClosed(ctx context.Context, e mergerequest.Closed) error {
	return s.tell(ctx, e.Fact, call{Action: "close"})
}

// OnReopened tells that a merge request was reopened.
func (s *Service) OnReopened(ctx context.Context, e mergerequest.Reopened) error {
	return s.tell(ctx, e.Fact, call{Action: "reopen"})
}

// OnMerged tells that a merge request was merged.
func (s *Service) OnMerged(ctx context.Context, e mergerequest.Merged) error {
	return s.tell(ctx, e.Fact, call{Action: "merge"})
}

// OnApproved tells of an approval.
func (s *Service) OnApproved(ctx context.Context, e approval.Approved) error {
	return s.tell(ctx, e.Fact.Fact, call{Action: e.Outcome()})
}

// OnUnapproved tells that an approval was taken back.
func (s *Service) OnUnapproved(ctx context.Context, e approval.Unapproved) error {
	return s.tell(ctx, e.Fact.Fact, call{Action: e.Outcome()})
}

// short are the changes of short attributes.
func short(f change.Fact) map[string]change.Values {
	out := f.Changes()
	maps.DeleteFunc(out, func(name string, _ change.Values) bool {
		return !slices.Contains([]string{"title", "draft", "target_branch"}, name)
	})
	return out
}

// tell has the services of all checks that apply to a merge request called, each by a job of
// its own.
func (s *Service) tell(ctx context.Context, e mergerequest.Fact, c call) error {
	if s.Settings.Current().SilentModeEnabled {
		return nil // and not later
	}
	var w db.Where
	w.And("c.project_id = ?", e.Row().ProjectID)
	checks, err := s.read(ctx, w)
	if err != nil {
		return err
	}
	c.RequestID, c.UserID = e.Row().ID, e.By.UserID
	for _, check := range checks {
		if !check.applies(e.Row().TargetBranch) {
			continue
		}
		c.CheckID, c.Delivery = check.ID, uuid.NewString()
		if err := s.Jobs.Enqueue(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// call does the job. The service is told of the merge request as it is now.
func (s *Service) call(ctx context.Context, c call) error {
	if s.Settings.Current().SilentModeEnabled {
		return nil
	}
	p, m, err := s.MergeRequests.Standing(ctx, c.RequestID)
	if err != nil || m == nil {
		return err
	}
	check, err := s.find(ctx, m.ProjectID, c.CheckID)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	content, err := s.Payloads.MergeRequest(ctx, p, m, payload.MergeRequestEvent{By: c.UserID, Action: c.Action, OldSHA: c.OldSHA, Changes: c.Changes})
	if err != nil {
		return err
	}
	body, err := json.Marshal(request{content, rule{check.ID, check.Name, check.URL}})
	if err != nil {
		return fmt.Errorf("write payload of status check: %w", err)
	}
	delivery := safehttp.Delivery{URL: check.URL, Body: body, Header: map[string]string{
		"Content-Type": "application/json", "User-Agent": "Tenon", "X-Gitlab-Event": payload.MergeRequest.Header(),
		"X-Gitlab-Instance": s.URLs.Root(), "Idempotency-Key": c.Delivery,
	}}
	if check.Signs() {
		key, err := s.Box.Open(place(check.ID), *check.Sealed)
		if err != nil { // the key of the instance was replaced
			return job.Permanent(fmt.Errorf("open secret of status check: %w", err))
		}
		delivery.Header["X-Gitlab-Signature"] = signature(key, body)
	}
	err = s.Outbound.Deliver(ctx, callTimeout, delivery)
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return job.Permanent(fmt.Errorf("call status check: %w", blocked))
	}
	if err != nil {
		return fmt.Errorf("call status check: %w", err)
	}
	return nil
}

// signature is the HMAC-SHA256 of a body in hexadecimal.
func signature(key string, body []byte) string {
	h := hmac.New(sha256.New, []byte(key))
	_, _ = h.Write(body) // never fails
	return hex.EncodeToString(h.Sum(nil))
}
