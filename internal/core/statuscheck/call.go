package statuscheck

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/payload"
)

const (
	callTimeout  = 10 * time.Second
	callAttempts = 4 // about two minutes
)

// call is the job that notifies the service of a check of a merge request.
type call struct {
	CheckID   ID              `json:"check_id"`
	RequestID mergerequest.ID `json:"merge_request_id"`
	UserID    authz.UserID    `json:"user_id"`        // who did it
	Body      json.RawMessage `json:"body,omitempty"` // empty for the merge request as it is when the service is called
	Delivery  string          `json:"delivery"`       // the same in each attempt
}

// request is what a service gets.
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

// Listening finds a check of the project that something happened to a merge request in.
func (s *Service) Listening(a payload.Audience) (query string, args []any) {
	if a.Trigger != payload.MergeRequest {
		return "", nil
	}
	return "SELECT 1 FROM external_status_checks c WHERE c.project_id = ?", []any{a.Project}
}

// Receive has the services of all checks that apply to a merge request called, each by a job of its own. A merge request without
// commits follows when it has some.
func (s *Service) Receive(ctx context.Context, m *payload.Message) error {
	body, ok := m.Body.(*payload.MergeRequestBody)
	if !ok || body.Attributes.Action == "open" && body.Attributes.LastCommit == nil || s.Settings.Current().SilentModeEnabled {
		return nil
	}
	var w db.Where
	w.And("c.project_id = ?", body.Attributes.TargetProjectID)
	checks, err := s.read(ctx, w)
	if err != nil {
		return err
	}
	for _, check := range checks {
		if !check.applies(body.Attributes.TargetBranch) {
			continue
		}
		text, err := bodyFor(check, body)
		if err != nil {
			return err
		}
		c := call{CheckID: check.ID, RequestID: body.Attributes.ID, UserID: m.By, Body: text, Delivery: uuid.NewString()}
		err = s.Jobs.Enqueue(ctx, c)
		if _, large := errors.AsType[*job.TooLarge](err); large {
			c.Body = nil
			err = s.Jobs.Enqueue(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bodyFor is the body that the service of a check gets.
func bodyFor(c *Check, body *payload.MergeRequestBody) ([]byte, error) {
	text, err := json.Marshal(request{body, rule{c.ID, c.Name, c.URL}})
	if err != nil {
		return nil, fmt.Errorf("write payload of status check: %w", err)
	}
	return text, nil
}

// call does the job.
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
	body := []byte(c.Body)
	if len(body) == 0 {
		now, err := s.Payloads.MergeRequest(ctx, p, m, payload.MergeRequestEvent{By: c.UserID, Action: "update"})
		if err != nil {
			return err
		}
		if body, err = bodyFor(check, now); err != nil {
			return err
		}
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
