// Package audit records who changed what, in reaction to events, and lists it.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Types of the entities that events are about. What happens to the instance is an event of the user who did it.
const (
	User    = "User"
	Group   = "Group"
	Project = "Project"
)

// Authors that are no users.
const (
	server      = 0
	anonymous   = -1
	deployToken = -2
	deployKey   = -3
)

// Entry is an audit event that is to be recorded. Details holds what the kind of event adds to
// the keys that every event has.
type Entry struct {
	By            authz.Actor
	EntityType    string
	EntityID      int64
	EntityPath    string
	Event         string // member_created, project_destroyed, ...
	Message       string // custom_message
	TargetType    string
	TargetID      int64
	TargetDetails string
	Details       map[string]any
}

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Signer *secret.Signer
	Log    *slog.Logger
	Now    func() time.Time
}

// Service writes, lists, seals and verifies audit events.
type Service struct {
	Deps

	wake chan struct{} // has something where events may wait for their seals
	stop func()        // nil before Start
	runs runs
}

// New builds the service. Call Start to have events sealed.
func New(d Deps) *Service {
	return &Service{Deps: d, wake: make(chan struct{}, 1)}
}

// record adds an event inside the caller's transaction, in one statement.
func (s *Service) record(ctx context.Context, e Entry) error {
	author, name := author(e.By)
	details := map[string]any{"custom_message": e.Message}
	for k, v := range e.Details {
		if details[k] = v; k == "from" || k == "to" {
			details[k] = change.Text(v)
		}
	}
	var path any = e.EntityPath
	if e.EntityType == User && e.EntityPath == "" && e.EntityID > 0 {
		path = db.Expression{SQL: "COALESCE((SELECT u.username FROM users u WHERE u.id = ?), '')", Args: []any{e.EntityID}}
	}
	encoded, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("encode audit event: %w", err)
	}
	r := row{
		AuthorID: author, EntityType: e.EntityType, EntityID: e.EntityID, Name: e.Event, TargetType: e.TargetType, TargetID: e.TargetID,
		TargetDetails: e.TargetDetails, Details: string(encoded), Address: e.By.Address, CreatedAt: db.At(s.Now()),
	}
	_, err = db.InsertRow(ctx, s.DB, "audit_events", db.Values{
		"author_id": r.AuthorID, "author_name": name, "entity_type": r.EntityType, "entity_id": r.EntityID, "entity_path": path,
		"event_name": r.Name, "target_type": r.TargetType, "target_id": r.TargetID, "target_details": r.TargetDetails,
		"details": r.Details, "ip_address": r.Address, "created_at": r.CreatedAt, "proof": s.prove(&r),
	}, "")
	if err != nil {
		return fmt.Errorf("record audit event: %w", err)
	}
	s.notice(ctx)
	return nil
}

// author returns the id and the name of an author.
func author(by authz.Actor) (int64, any) {
	switch {
	case by.SignedIn():
		// A job may outlive its author.
		return int64(by.UserID), db.Expression{SQL: "COALESCE((SELECT u.name FROM users u WHERE u.id = ?), 'Deleted user')", Args: []any{by.UserID}}
	case by.Deploy.TokenID != 0:
		return deployToken, "Deploy Token"
	case by.Deploy.KeyID != 0:
		return deployKey, "Deploy Key"
	case by.Admin:
		return server, "(System)"
	}
	return anonymous, "An unauthenticated user"
}
