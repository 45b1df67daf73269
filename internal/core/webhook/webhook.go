// Package webhook keeps the hooks of projects, groups and the instance, and calls them.
//
// Each hook has a mailbox: Receive writes a delivery for each hook that wants an event, and a job works through those of its hook, one
// after the other, so that deliveries begin in the order of their events. One worker at a time leases the hook, in all processes; the lease
// of a worker that was killed ends by itself. A delivery is deleted in the transaction that records its last attempt: a worker that is killed
// before has the call made again, with the same Idempotency-Key.
//
// Hooks whose last call took longer than a second, or had no answer, have their calls made on a queue of their own. A call on the first
// queue that takes longer than a second goes on without its worker, at most maxDetached at a time; while so many do, workers
// wait for their calls, which end after callTimeout. While half of the workers wait, the others do so for crowdedPatience only. Receivers
// that are slow or dead hold the workers of the second queue, and half of those of the first for a second each, once.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// ID identifies a hook.
type ID int64

// CodeFlags are the events that every hook may ask for.
type CodeFlags struct {
	Push          bool `db:"push_events"`
	TagPush       bool `db:"tag_push_events"`
	MergeRequests bool `db:"merge_requests_events"`
}

// PlaceFlags are the events that hooks of projects and groups may ask for.
type PlaceFlags struct {
	Issues              bool `db:"issues_events"`
	ConfidentialIssues  bool `db:"confidential_issues_events"`
	Note                bool `db:"note_events"`
	ConfidentialNote    bool `db:"confidential_note_events"`
	Pipeline            bool `db:"pipeline_events"`
	WikiPage            bool `db:"wiki_page_events"`
	Deployment          bool `db:"deployment_events"`
	FeatureFlag         bool `db:"feature_flag_events"`
	Job                 bool `db:"job_events"`
	Releases            bool `db:"releases_events"`
	Milestone           bool `db:"milestone_events"`
	Emoji               bool `db:"emoji_events"`
	ResourceAccessToken bool `db:"resource_access_token_events"`
	Vulnerability       bool `db:"vulnerability_events"`
}

// GroupFlags are the events that hooks of groups may ask for beside.
type GroupFlags struct {
	Subgroup bool `db:"subgroup_events"`
	Member   bool `db:"member_events"`
	Project  bool `db:"project_events"`
}

// Hook is a hook of a project, a group or the instance.
type Hook struct {
	ID          ID                 `db:"id"`
	NamespaceID *authz.NamespaceID `db:"namespace_id"` // of the project or group; nil for the instance
	URL         string             `db:"url"`          // as it is shown: variables by their names, without user name and password
	Name        *string            `db:"name"`
	Description *string            `db:"description"`
	CodeFlags
	RepositoryUpdate bool `db:"repository_update_events"`
	PlaceFlags
	GroupFlags
	VerifyTLS    bool            `db:"enable_ssl_verification"`
	BranchFilter *string         `db:"push_events_branch_filter"`
	Strategy     string          `db:"branch_filter_strategy"`
	Template     *string         `db:"custom_webhook_template"`
	Variables    db.List[string] `db:"url_variables"`           // names by the alphabet
	Headers      db.List[string] `db:"custom_headers"`          // names by the alphabet
	Sealed       *string         `db:"sealed" change:",secret"` // see secrets

	Failures      int         `db:"failures" change:"-"` // deliveries that failed since one succeeded
	DisabledUntil db.NullTime `db:"disabled_until" change:"-"`
	Disabled      bool        `db:"disabled" change:"-"`        // for good
	Reason        *string     `db:"disabled_reason" change:"-"` // of the last failure; nil where Status is Executable
	Slow          bool        `db:"slow" change:"-"`            // whether its last call took long
	LogBytes      int64       `db:"log_bytes" change:"-"`       // of its attempts

	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`

	Status Status `db:"-" change:"-"` // when it was read
}

// About is the hook as the subject of an event.
func (h Hook) About() change.Subject {
	return change.Subject{Type: "WebHook", ID: int64(h.ID), Title: fmt.Sprint("Hook ", h.ID)}
}

// Status says whether a hook is called.
type Status string

// The statuses.
const (
	Executable          Status = "executable"
	TemporarilyDisabled Status = "temporarily_disabled"
	DisabledForGood     Status = "disabled"
)

// The strategies by which a branch filter matches.
const (
	Wildcard    = "wildcard"
	Regex       = "regex"
	AllBranches = "all_branches"
)

// statusAt is the status of a hook at a time.
func (h *Hook) statusAt(now time.Time) Status {
	switch {
	case h.Disabled:
		return DisabledForGood
	case h.DisabledUntil.Valid && h.DisabledUntil.V.After(now):
		return TemporarilyDisabled
	}
	return Executable
}

// The events of a hook.
type (
	// Created says that a hook is new.
	Created struct{ change.Of[Hook] }

	// Updated says that a hook changed.
	Updated struct{ change.Of[Hook] }

	// Deleted says that a hook was deleted.
	Deleted struct{ change.Of[Hook] }
)

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry { return change.Record("webhook_created", "Created {kind} hook") }

// Audit is what the audit trail records of it.
func (Updated) Audit() []change.Entry { return change.Record("webhook_updated", "Changed {kind} hook") }

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("webhook_destroyed", "Deleted {kind} hook")
}

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Settings *setting.Store
	Limits   *limit.Service
	Outbound *safehttp.Dialer // of hooks of projects and groups
	System   *safehttp.Dialer // of hooks of the instance
	Box      *secret.Box      // seals tokens and values
	URLs     *weburl.Site
	Samples  Sampler
	Warner   Warner
	Jobs     job.Enqueuer
	Log      *slog.Logger
	Now      func() time.Time
}

// Service keeps hooks and calls them. It is safe for concurrent use.
type Service struct {
	Deps

	gate     gate
	detached slots
	waiting  atomic.Int64  // calls of the first queue that workers wait for
	stopping chan struct{} // is closed when the server stops
	results  results
	cleaned  atomic.Int64 // when the log was to be cleaned last, in nanoseconds
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d, gate: newGate(), stopping: make(chan struct{})}
}

func read(at authz.Place) authz.Ability {
	if at.IsInstance() {
		return authz.ReadSystemHooks
	}
	return at.Ability(authz.ReadHooks, authz.ReadGroupHooks)
}

func admin(at authz.Place) authz.Ability {
	if at.IsInstance() {
		return authz.AdminSystemHooks
	}
	return at.Ability(authz.AdminHooks, authz.AdminGroupHooks)
}

var columns = db.Columns[Hook]("h")

// within is the condition for the hooks of a place itself, over a table with this alias.
func within(w *db.Where, alias string, at authz.Place) {
	if at.IsInstance() {
		w.Raw(alias + "namespace_id IS NULL")
		return
	}
	w.And(alias+"namespace_id = ?", at.Namespace)
}

// look says what the status of a hook is now.
func (s *Service) look(h *Hook) *Hook {
	if h.Status = h.statusAt(s.Now()); h.Status == Executable {
		h.Reason = nil
	}
	return h
}

// List returns a page of the hooks of a place by id.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, r page.Range) (page.Page[Hook], error) {
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return page.Page[Hook]{}, err
	}
	var w db.Where
	within(&w, "h.", at)
	list, err := page.Select[Hook](ctx, s.DB, page.Query{Columns: columns, From: "webhooks h", Where: w, Order: page.Order{page.ID("h.id")}}, r)
	for i := range list.Items {
		s.look(&list.Items[i])
	}
	return list, errs.Wrap(err, "list webhooks")
}

// Find returns a hook of a place.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, id ID) (*Hook, error) {
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return nil, err
	}
	return s.find(ctx, at, id)
}

func (s *Service) find(ctx context.Context, at authz.Place, id ID) (*Hook, error) {
	var w db.Where
	within(&w, "h.", at)
	w.And("h.id = ?", id)
	h, err := db.Get[Hook](ctx, s.DB, "SELECT "+columns+" FROM webhooks h"+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find webhook: %w", err)
	}
	return s.look(&h), nil
}
