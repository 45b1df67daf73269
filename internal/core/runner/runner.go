// Package runner keeps the runners that run jobs: their tokens, the projects they serve and
// the machines that use them.
package runner

import (
	"encoding/json"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/lastuse"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// ID identifies a runner.
type ID int64

// Type says which projects a runner serves.
type Type string

// The types.
const (
	InstanceType Type = "instance_type" // all projects that take instance runners
	GroupType    Type = "group_type"    // the projects below a group that take group runners
	ProjectType  Type = "project_type"  // the projects that it is assigned to
)

// TypeIn is the type of the runners of a place.
func TypeIn(at authz.Place) Type {
	switch {
	case at.IsInstance():
		return InstanceType
	case at.Group:
		return GroupType
	}
	return ProjectType
}

// Runner is one row.
type Runner struct {
	ID              ID                 `db:"id"`
	Type            Type               `db:"runner_type"`
	NamespaceID     *authz.NamespaceID `db:"namespace_id"` // of the group of a group runner
	CreatorID       *authz.UserID      `db:"creator_id"`   // nil where it was registered or the user is gone
	Registered      bool               `db:"registered"`   // with a registration token
	Digest          string             `db:"digest"`       // of the authentication token
	TokenExpiresAt  *db.Time           `db:"token_expires_at"`
	Description     *string            `db:"description"`
	MaintenanceNote *string            `db:"maintenance_note"` // for those who may update the runner
	Paused          bool               `db:"paused"`
	Locked          bool               `db:"locked"` // assigned to no further project
	RunUntagged     bool               `db:"run_untagged"`
	Protected       bool               `db:"ref_protected"`   // runs jobs of protected refs only
	MaximumTimeout  *int64             `db:"maximum_timeout"` // seconds
	TagsJSON        string             `db:"tags"`            // see Tags
	Info
	IPAddress   *string  `db:"ip_address" change:",secret"`
	ContactedAt *db.Time `db:"contacted_at"`
	CreatedAt   db.Time  `db:"created_at"`
	UpdatedAt   db.Time  `db:"updated_at"`
}

// Info is what the program says of itself; nil where it says nothing. Parts of it are cut to
// 255 characters.
type Info struct {
	Name         *string `db:"name"`
	Version      *string `db:"version"`
	Revision     *string `db:"revision"`
	Platform     *string `db:"platform"`
	Architecture *string `db:"architecture"`
}

// Tags are the names of the tags in the order in which they were given.
func (r *Runner) Tags() []string {
	out := []string{}
	if r.TagsJSON == "" || json.Unmarshal([]byte(r.TagsJSON), &out) != nil {
		return []string{}
	}
	return out
}

// AccessLevel is Protected in the words of the API.
func (r *Runner) AccessLevel() string {
	if r.Protected {
		return RefProtected
	}
	return NotProtected
}

// The access levels.
const (
	NotProtected = "not_protected"
	RefProtected = "ref_protected"
)

// ManagerID identifies a manager.
type ManagerID int64

// Manager is a machine that uses the token of a runner.
type Manager struct {
	ID       ManagerID `db:"id"`
	RunnerID ID        `db:"runner_id"`
	SystemID string    `db:"system_id"`
	Info
	IPAddress   *string `db:"ip_address"`
	CreatedAt   db.Time `db:"created_at"`
	ContactedAt db.Time `db:"contacted_at"`
}

// Status says whether a runner is there.
type Status string

// The statuses. A runner that is paused says so instead of Online or Offline in REST.
const (
	Online         Status = "online"          // contacted within the last two hours
	Offline        Status = "offline"         // not so
	Stale          Status = "stale"           // neither made nor contacted for three months
	NeverContacted Status = "never_contacted" // made within the last three months
)

const onlineFor = 2 * time.Hour

// staleBefore is the last moment that makes a runner stale.
func staleBefore(now time.Time) time.Time { return now.AddDate(0, -3, 0) }

// Status says whether the runner is there at a moment.
func (r *Runner) Status(now time.Time) Status { return statusOf(r.CreatedAt, r.ContactedAt, now) }

// Status says whether the machine is there at a moment.
func (m *Manager) Status(now time.Time) Status { return statusOf(m.CreatedAt, &m.ContactedAt, now) }

func statusOf(created db.Time, contacted *db.Time, now time.Time) Status {
	last := created.Time
	if contacted != nil && contacted.After(last) {
		last = contacted.Time
	}
	switch {
	case last.Before(staleBefore(now)):
		return Stale
	case contacted == nil:
		return NeverContacted
	case contacted.After(now.Add(-onlineFor)):
		return Online
	}
	return Offline
}

// Deps is what a Service is made of.
type Deps struct {
	DB         *db.DB
	Policy     *authz.Policy
	Bus        *event.Bus
	Plans      *planlimit.Service
	Settings   *setting.Store
	Namespaces *namespace.Service
	Projects   *project.Service
	Box        *secret.Box
	Now        func() time.Time
	Log        *slog.Logger
}

// Service keeps runners. It is safe for concurrent use.
type Service struct {
	Deps

	contacts lastuse.Times[ID]        // of runners
	machines lastuse.Times[ManagerID] // of managers
	flushing lastuse.Loop
}

// New builds the service. Call Start to have contacts written down.
func New(d Deps) *Service {
	return &Service{Deps: d}
}
