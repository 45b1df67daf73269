// Package audit records who changed what, for the audit endpoints. It only reacts to
// events.
package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Kinds of things an event is about.
const (
	User     = "User"
	Group    = "Group"
	Project  = "Project"
	Instance = "Gitlab::Audit::InstanceScope"
)

// Entry is one audit event. Details holds what the kind of event adds to
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

// Deps is what a Recorder is made of.
type Deps struct {
	DB  *db.DB
	Now func() time.Time
}

// Recorder writes audit events.
type Recorder struct {
	db  *db.DB
	now func() time.Time
}

// New builds a recorder.
func New(d Deps) *Recorder { return &Recorder{db: d.DB, now: d.Now} }

// Record adds an event inside the caller's transaction. An anonymous caller is author -1.
func (r *Recorder) Record(ctx context.Context, e Entry) error {
	author, name := int64(e.By.UserID), "An unauthenticated user"
	switch {
	case author != 0:
		var err error
		name, err = db.Get[string](ctx, r.db, "SELECT name FROM users WHERE id = ?", author)
		if errors.Is(err, db.ErrNotFound) { // a job outlived its maker
			name, err = "Deleted user", nil
		}
		if err != nil {
			return fmt.Errorf("read author: %w", err)
		}
	case e.By.Admin:
		author, name = 0, "(System)"
	default:
		author = -1
	}
	details := map[string]any{
		"author_name": name, "author_class": "User", "target_id": e.TargetID, "target_type": e.TargetType,
		"target_details": e.TargetDetails, "custom_message": e.Message, "entity_path": e.EntityPath,
		"ip_address": nil,
	}
	if e.By.Address != "" {
		details["ip_address"] = e.By.Address
	}
	for k, v := range e.Details {
		details[k] = v
	}
	text, err := json.Marshal(details)
	if err != nil {
		return fmt.Errorf("encode audit event: %w", err)
	}
	_, err = db.InsertRow(ctx, r.db, "audit_events", db.Values{
		"author_id": author, "author_name": name, "entity_type": e.EntityType, "entity_id": e.EntityID, "entity_path": e.EntityPath,
		"event_name": e.Event, "target_type": e.TargetType, "target_id": e.TargetID, "target_details": e.TargetDetails,
		"details": string(text), "ip_address": e.By.Address, "created_at": r.now(),
	}, "")
	if err != nil {
		return fmt.Errorf("record audit event: %w", err)
	}
	return nil
}
