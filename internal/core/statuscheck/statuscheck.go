// Package statuscheck holds the external services that projects ask about merge requests, and
// what these answer.
package statuscheck

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// ID identifies an external status check.
type ID int64

// Check is a service that a project asks about its merge requests.
type Check struct {
	ID        ID         `db:"id"`
	ProjectID project.ID `db:"project_id"`
	Name      string     `db:"name"`
	URL       string     `db:"external_url"`
	Sealed    *string    `db:"sealed_secret" change:"shared_secret,secret"` // see Signs
	CreatedAt db.Time    `db:"created_at"`
	UpdatedAt db.Time    `db:"updated_at"`

	Branches []Branch `db:"-" change:"protected_branches"` // protected branches whose merge requests it is about, by id; none for all branches
}

// Branch is a protected branch of a check.
type Branch struct {
	CheckID    ID                `db:"check_id"`
	ID         protection.RuleID `db:"id"`
	ProjectID  project.ID        `db:"project_id"`
	Name       string            `db:"name"` // or a pattern in which * stands for anything
	CodeOwners bool              `db:"code_owner_approval_required"`
	CreatedAt  db.Time           `db:"created_at"`
	UpdatedAt  db.Time           `db:"updated_at"`
}

// Signs reports whether what is sent to the service is signed with a shared secret.
func (c *Check) Signs() bool { return c.Sealed != nil }

// applies reports whether the check is about merge requests into a branch.
func (c *Check) applies(target string) bool {
	for _, b := range c.Branches {
		if protection.MatchWildcard(b.Name, target) {
			return true
		}
	}
	return len(c.Branches) == 0
}

// Status is what is known of a merge request from a service.
type Status string

// The statuses.
const (
	Pending Status = "pending" // no answer yet
	Passed  Status = "passed"
	Failed  Status = "failed"
)

// ResponseID identifies a response.
type ResponseID int64

// Response is what a service answered about a merge request at one head.
type Response struct {
	ID        ResponseID      `db:"id"`
	RequestID mergerequest.ID `db:"merge_request_id"`
	CheckID   ID              `db:"check_id"`
	SHA       string          `db:"sha"`
	Status    Status          `db:"status"`
	CreatedAt db.Time         `db:"created_at"`
	UpdatedAt db.Time         `db:"updated_at"`
}

// Standing is a check that applies to a merge request, and what is known from it.
type Standing struct {
	Check  *Check
	Status Status
}

// Created is published when a project got a check.
type Created struct{ change.Of[Check] }

// Updated is published when a check changed.
type Updated struct{ change.Of[Check] }

// Deleted is published when a check was deleted.
type Deleted struct{ change.Of[Check] }

// Responded is published when a service answered about a merge request, or is asked once more.
type Responded struct {
	change.Of[Check]

	MergeRequest mergerequest.MergeRequest
	Response     Response
	Was          *Response // what it had answered about the same head; nil for nothing
}

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Policy        *authz.Policy
	Bus           *event.Bus
	MergeRequests *mergerequest.Service
	Payloads      *payload.Service
	Outbound      *safehttp.Dialer
	Settings      *setting.Store
	Box           *secret.Box // seals shared secrets
	Jobs          job.Enqueuer
	Now           func() time.Time
	URLs          *weburl.Site
}

// Service manages checks, calls their services and takes answers. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// About names it for events.
func (c Check) About() change.Subject {
	return change.Subject{Type: "MergeRequests::ExternalStatusCheck", ID: int64(c.ID), Title: c.Name}
}
