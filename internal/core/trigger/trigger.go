// Package trigger keeps the tokens with which other systems start pipelines.
package trigger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/lastuse"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
)

// ID identifies a trigger.
type ID int64

// Trigger is one row.
type Trigger struct {
	ID          ID           `db:"id"`
	ProjectID   project.ID   `db:"project_id"`
	OwnerID     authz.UserID `db:"owner_id"` // the user who runs the pipelines
	Digest      string       `db:"digest"`   // of the token; "" in what is shown
	Sealed      string       `db:"sealed"`
	Description string       `db:"description"`
	ExpiresAt   *db.Time     `db:"expires_at"`
	LastUsedAt  *db.Time     `db:"last_used_at"`
	CreatedAt   db.Time      `db:"created_at"`
	UpdatedAt   db.Time      `db:"updated_at"`

	Token string `db:"-"` // whole for its owner, the first characters for others
}

// Input is what a trigger is made of.
type Input struct {
	Description string
	ExpiresAt   *time.Time // nil is never
}

// TokenPrefix begins the tokens of triggers.
const TokenPrefix = "glptt-"

const (
	maxDescription = 255
	maxTriggers    = 1000 // of one project
	shown          = 4    // characters of a token that others than its owner see
)

// Created is published when a project has a new trigger.
type Created struct{ change.Of[Trigger] }

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("ci_pipeline_trigger_created", "Created pipeline trigger token")
}

// Updated is published when a trigger got another description.
type Updated struct{ change.Of[Trigger] }

// Audit is what the audit trail records of it.
func (Updated) Audit() []change.Entry {
	return change.Record("ci_pipeline_trigger_updated", "Updated pipeline trigger token")
}

// Deleted is published when a trigger is gone.
type Deleted struct{ change.Of[Trigger] }

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("ci_pipeline_trigger_deleted", "Deleted pipeline trigger token")
}

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Settings *setting.Store
	Box      *secret.Box
	Now      func() time.Time
	Log      *slog.Logger
}

// Service keeps triggers. It is safe for concurrent use.
type Service struct {
	Deps

	used     lastuse.Times[ID]
	flushing lastuse.Loop
}

// New builds the service. Call Start to have the use of triggers written down.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Start begins to write down once a minute when triggers were used. Stop ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down the use of triggers", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down when triggers were used.
func (s *Service) Flush(ctx context.Context) error {
	err := s.used.Flush(ctx, s.DB, func(ctx context.Context, id ID, at time.Time) error {
		_, err := s.DB.Exec(ctx, "UPDATE pipeline_triggers SET last_used_at = ? WHERE id = ?", db.At(at), id)
		return err
	})
	if err != nil {
		return fmt.Errorf("flush use of triggers: %w", err)
	}
	return nil
}

var columns = db.Columns[Trigger]("t")

func sealedAt(p project.ID, digest string) string {
	return fmt.Sprintf("pipeline_triggers.sealed:%d:%s", p, digest)
}

// show is the trigger as the actor sees it. A token that was sealed with another key is "": it works, but cannot be shown.
func (s *Service) show(as authz.Actor, t *Trigger) {
	token, _ := s.Box.Try(sealedAt(t.ProjectID, t.Digest), t.Sealed)
	if !as.Is(t.OwnerID) {
		token = token[:min(shown, len(token))]
	}
	t.Token, t.Digest, t.Sealed = token, "", ""
	if at, ok := s.used.Last(t.ID); ok {
		used := db.At(at)
		t.LastUsedAt = &used
	}
}

// List returns the triggers of a project by id.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[Trigger], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadTriggers, p.Subject()); err != nil {
		return page.Page[Trigger]{}, err
	}
	var w db.Where
	w.And("t.project_id = ?", p.ID)
	list, err := page.Select[Trigger](ctx, s.DB, page.Query{Columns: columns, From: "pipeline_triggers t", Where: w, Order: page.Order{page.ID("t.id")}}, r)
	if err != nil {
		return list, fmt.Errorf("list triggers: %w", err)
	}
	for i := range list.Items {
		s.show(as, &list.Items[i])
	}
	return list, nil
}

// Find returns a trigger of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Trigger, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadTriggers, p.Subject()); err != nil {
		return nil, err
	}
	t, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	s.show(as, t)
	return t, nil
}

func (s *Service) find(ctx context.Context, p *project.Project, id ID) (*Trigger, error) {
	t, err := db.Get[Trigger](ctx, s.DB, "SELECT "+columns+" FROM pipeline_triggers t WHERE t.project_id = ? AND t.id = ?", p.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Trigger")
	}
	if err != nil {
		return nil, fmt.Errorf("find trigger: %w", err)
	}
	return &t, nil
}

// FindTrigger returns the trigger with a token, and notes that it was used. One that is unknown or expired is
// NotFound. The token is the permission: what it may do is what its owner may.
func (s *Service) FindTrigger(ctx context.Context, token string) (*Trigger, error) {
	if token == "" || len(token) > secret.MaxToken {
		return nil, errs.Missing("")
	}
	t, err := db.Get[Trigger](ctx, s.DB, "SELECT "+columns+" FROM pipeline_triggers t WHERE t.digest = ?", secret.Digest(token))
	if errors.Is(err, db.ErrNotFound) || err == nil && t.ExpiresAt != nil && !t.ExpiresAt.After(s.Now()) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find trigger by token: %w", err)
	}
	s.used.Note(t.ID, s.Now())
	t.Digest, t.Sealed = "", ""
	return &t, nil
}

// ShortToken returns the characters of a token by which the jobs of its pipelines may know it, "" where the trigger is gone. It asks for no
// permission.
func (s *Service) ShortToken(ctx context.Context, id ID) (string, error) {
	t, err := db.Get[Trigger](ctx, s.DB, "SELECT "+columns+" FROM pipeline_triggers t WHERE t.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find trigger: %w", err)
	}
	s.show(authz.System(), &t)
	return t.Token[:min(shown, len(t.Token))], nil
}

func check(description string) error {
	var f errs.Fields
	f.Check(strings.TrimSpace(description) != "", "description", "can't be blank")
	f.Check(utf8.RuneCountInString(description) <= maxDescription, "description", fmt.Sprintf("is too long (maximum is %d characters)", maxDescription))
	return f.Err()
}

// Create makes a trigger, whose pipelines the actor starts.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Trigger, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminTriggers, p.Subject()); err != nil {
		return nil, err
	}
	if err := check(in.Description); err != nil {
		return nil, err
	}
	now, token := db.At(s.Now()), secret.NewToken(s.Settings.Current().TokenPrefix(TokenPrefix))
	t := Trigger{ProjectID: p.ID, OwnerID: as.UserID, Digest: secret.Digest(token), Description: in.Description, CreatedAt: now, UpdatedAt: now}
	t.Sealed = s.Box.Seal(sealedAt(p.ID, t.Digest), token)
	if in.ExpiresAt != nil {
		at := db.At(*in.ExpiresAt)
		t.ExpiresAt = &at
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		most := db.Bound{Table: "pipeline_triggers", Most: maxTriggers, Full: errs.Bad(fmt.Sprintf("A project has at most %d triggers", maxTriggers))}
		most.Of.And("project_id = ?", p.ID)
		if err := db.Create(ctx, s.DB, "pipeline_triggers", &t, most); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), p.Place(), &t)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "create trigger")
	}
	s.show(as, &t)
	return &t, nil
}

// Update gives a trigger another description; nil leaves it alone.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, id ID, description *string) (*Trigger, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminTriggers, p.Subject()); err != nil {
		return nil, err
	}
	if _, err := s.find(ctx, p, id); err != nil {
		return nil, err
	}
	var out db.Change[Trigger]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, db.Row{Table: "pipeline_triggers", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("Trigger")}, func(_ context.Context, t *Trigger) error {
			if description != nil {
				t.Description = *description
			}
			return check(t.Description)
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), p.Place(), &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update trigger")
	}
	s.show(as, &out.After)
	return &out.After, nil
}

// Delete ends a trigger.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminTriggers, p.Subject()); err != nil {
		return err
	}
	if _, err := s.find(ctx, p, id); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Trigger](ctx, s.DB, db.Row{Table: "pipeline_triggers", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("Trigger")}, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), p.Place(), &was)})
	})
	return errs.Wrap(err, "delete trigger")
}

// Subscribe ends the triggers of projects that are deleted, however long the rest takes.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "triggers", func(ctx context.Context, e project.Deleted) error {
		_, err := s.DB.Exec(ctx, "DELETE FROM pipeline_triggers WHERE project_id = ?", e.Row().ID)
		return err
	})
}

// About names it for events.
func (t Trigger) About() change.Subject {
	return change.Subject{Type: "Ci::Trigger", ID: int64(t.ID), Title: t.Description}
}
