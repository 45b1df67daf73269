// Package integration keeps what connects projects with other services: settings, secrets, and the events that matter.
package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// ID identifies an integration.
type ID int64

// Integration is an integration of a place. There is at most one of each kind.
type Integration struct {
	ID          ID                 `db:"id"`
	NamespaceID *authz.NamespaceID `db:"namespace_id"` // of the project or group; nil for the instance
	Slug        string             `db:"kind"`
	Active      bool               `db:"active"`
	InheritedID *ID                `db:"inherit_from_id"` // whose settings it has; nil for its own
	Flags       kind.Flags         `db:"events"`
	Stored      string             `db:"properties" change:",secret"` // see Settings
	Sealed      *string            `db:"sealed" change:",secret"`
	CreatedAt   db.Time            `db:"created_at"`
	UpdatedAt   db.Time            `db:"updated_at"`

	Kind     *kind.Kind      `db:"-" change:"-"`
	Settings kind.Values     `db:"-" change:"-"` // without those that are sealed
	Secrets  map[string]bool `db:"-" change:"-"` // sealed settings that have a value
}

// About is the integration as the subject of an event.
func (i Integration) About() change.Subject {
	return change.Subject{Type: "Integration", ID: int64(i.ID), Title: i.Slug}
}

// The events of an integration.
type (
	// Created says that an integration was set up for the first time.
	Created struct{ change.Of[Integration] }

	// Updated says that an integration was set up again.
	Updated struct{ change.Of[Integration] }

	// Disabled says that an integration was disabled and has lost its settings.
	Disabled struct{ change.Of[Integration] }
)

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("integration_created", "Created integration {title}")
}

// Audit is what the audit trail records of it.
func (Updated) Audit() []change.Entry {
	return change.Record("integration_updated", "Updated integration {title}")
}

// Audit is what the audit trail records of it.
func (Disabled) Audit() []change.Entry {
	return change.Record("integration_disabled", "Disabled integration {title}")
}

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Projects *project.Service
	Settings *setting.Store
	Outbound *safehttp.Dialer
	Box      *secret.Box // seals secrets
	Jobs     job.Enqueuer
	Now      func() time.Time
}

// Service keeps integrations. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

var columns = db.Columns[Integration]("i")

// within is the condition for the integrations of a place itself.
func within(w *db.Where, at authz.Place) {
	if at.IsInstance() {
		w.And("i.namespace_id IS NULL")
		return
	}
	w.And("i.namespace_id = ?", at.Namespace)
}

// List returns the active integrations of a place by id; there are at most as many as kinds.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place) ([]*Integration, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadIntegrations, at.Subject); err != nil {
		return nil, err
	}
	var w db.Where
	within(&w, at)
	s.active(&w)
	return s.read(ctx, at, w)
}

// active is the condition for integrations that act: those of kinds that the settings allow.
func (s *Service) active(w *db.Where) {
	w.And("i.active")
	set := s.Settings.Current()
	if set.AllowAllIntegrations {
		return
	}
	allowed := []string{}
	for _, k := range kind.All() {
		if set.AllowsIntegration(k.Slug) {
			allowed = append(allowed, k.Slug)
		}
	}
	w.In("i.kind", allowed)
}

// read returns integrations of a place by id. Kinds that this release does not have are left out.
func (s *Service) read(ctx context.Context, at authz.Place, w db.Where) ([]*Integration, error) {
	rows, err := db.Select[Integration](ctx, s.DB, "SELECT "+columns+" FROM integrations i"+w.SQL()+" ORDER BY i.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read integrations: %w", err)
	}
	var out []*Integration
	for i := range rows {
		if err := s.open(at, &rows[i]); err != nil {
			return nil, err
		}
		if rows[i].Kind != nil {
			out = append(out, &rows[i])
		}
	}
	return out, nil
}

// Find returns an integration of a place by its kind, also one that is disabled. It returns NotFound where none was set up.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, slug string) (*Integration, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadIntegrations, at.Subject); err != nil {
		return nil, err
	}
	i, err := s.find(ctx, at, slug)
	if err != nil {
		return nil, err
	}
	if i == nil {
		return nil, missing()
	}
	i.Active = i.Active && s.Settings.Current().AllowsIntegration(slug)
	return i, nil
}

func missing() error { return errs.Missing("Integration") }

// find returns nil where there is none.
func (s *Service) find(ctx context.Context, at authz.Place, slug string) (*Integration, error) {
	var w db.Where
	within(&w, at)
	w.And("i.kind = ?", slug)
	found, err := s.read(ctx, at, w)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// open reads the settings of a row. Its kind stays nil where this release does not have it.
func (s *Service) open(at authz.Place, i *Integration) error {
	if i.Kind = kind.Find(i.Slug); i.Kind == nil {
		return nil
	}
	i.Settings, i.Secrets = kind.Values{}, map[string]bool{}
	if err := i.Kind.Parse(i.Stored, i.Settings); err != nil {
		return err
	}
	secrets, err := s.secrets(at, i)
	for name := range secrets {
		i.Secrets[name] = true
	}
	return err
}

// secrets opens the sealed settings. They are lost where the key of the instance was replaced.
func (s *Service) secrets(at authz.Place, i *Integration) (kind.Values, error) {
	out := kind.Values{}
	if i.Sealed == nil {
		return out, nil
	}
	text, ok := s.Box.Try(sealedFor(at, i.Slug), *i.Sealed)
	if !ok {
		return out, nil
	}
	return out, i.Kind.Parse(text, out)
}

// all returns the settings of an integration with those that are sealed.
func (s *Service) all(at authz.Place, i *Integration) (kind.Values, error) {
	out, err := s.secrets(at, i)
	maps.Copy(out, i.Settings)
	return out, err
}

// sealedFor is what the secrets of an integration are sealed for.
func sealedFor(at authz.Place, slug string) string {
	return fmt.Sprintf("integrations.sealed:%d:%s", at.Namespace, slug)
}

// store puts settings into a row.
func (s *Service) store(at authz.Place, i *Integration, all kind.Values) error {
	plain, err := json.Marshal(i.Kind.Part(all, func(s *kind.Setting) bool { return !s.Sealed() }))
	if err != nil {
		return fmt.Errorf("write settings of integration: %w", err)
	}
	i.Stored = string(plain)
	secrets := i.Kind.Part(all, (*kind.Setting).Sealed)
	if len(secrets) == 0 {
		i.Sealed = nil
		return s.open(at, i)
	}
	text, err := json.Marshal(secrets)
	if err != nil {
		return fmt.Errorf("write secrets of integration: %w", err)
	}
	sealed := s.Box.Seal(sealedFor(at, i.Slug), string(text))
	i.Sealed = &sealed
	return s.open(at, i)
}
