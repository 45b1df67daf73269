package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/change"
)

// ID identifies an audit event.
type ID int64

// Event is one audit event as it is stored.
type Event struct {
	row
	AuthorEmail *string `db:"author_email,readonly"` // primary address of the author today; nil where the author has none
}

// row has the columns of audit_events, in the order in which seals read them.
type row struct {
	ID            ID      `db:"id"`
	AuthorID      int64   `db:"author_id"` // -1 is a caller who is not signed in, 0 the server, -2 a deploy token, -3 a deploy key
	AuthorName    string  `db:"author_name"`
	EntityType    string  `db:"entity_type"`
	EntityID      int64   `db:"entity_id"`
	EntityPath    string  `db:"entity_path"`
	Name          string  `db:"event_name"`
	TargetType    string  `db:"target_type"`
	TargetID      int64   `db:"target_id"`
	TargetDetails string  `db:"target_details"`
	Details       string  `db:"details"`    // JSON object of what the kind of event adds, and the message
	Address       string  `db:"ip_address"` // "" where there was no request
	CreatedAt     db.Time `db:"created_at"`
}

// columns of an Event, over audit_events e.
var columns = db.Columns[row]("e") + ", (SELECT m.email FROM emails m WHERE m.user_id = e.author_id AND m.is_primary) AS author_email"

// View is an audit event as clients see it.
type View struct {
	ID         ID             `json:"id"`
	AuthorID   int64          `json:"author_id"`
	EntityID   int64          `json:"entity_id"`
	EntityType string         `json:"entity_type"`
	EventName  string         `json:"event_name"`
	Details    map[string]any `json:"details"`
	CreatedAt  time.Time      `json:"created_at"`
}

// View returns the form for clients: details with the keys that every event has.
func (e *Event) View() (View, error) {
	details := map[string]any{}
	d := json.NewDecoder(bytes.NewReader([]byte(e.Details)))
	d.UseNumber()
	if err := d.Decode(&details); err != nil {
		return View{}, fmt.Errorf("details of audit event %d: %w", e.ID, err)
	}
	for _, name := range []string{"from", "to"} {
		if value, ok := details[name]; ok {
			details[name] = change.Text(value)
		}
	}
	for name, value := range map[string]any{
		"author_name": e.AuthorName, "author_class": "User", "target_id": e.TargetID, "target_type": e.TargetType, "target_details": e.TargetDetails,
		"entity_path": e.EntityPath, "event_name": e.Name,
	} {
		details[name] = value
	}
	if details["ip_address"] = any(nil); e.Address != "" {
		details["ip_address"] = e.Address
	}
	if e.AuthorEmail != nil {
		details["author_email"] = *e.AuthorEmail
	}
	return View{
		ID: e.ID, AuthorID: e.AuthorID, EntityID: e.EntityID, EntityType: e.EntityType, EventName: e.Name, Details: details, CreatedAt: e.CreatedAt.Time,
	}, nil
}

// Filter selects audit events of a place; the zero value selects all.
type Filter struct {
	EntityType    string // "" for all; of the instance's list only, as the next
	EntityID      *int64
	CreatedAfter  *time.Time // inclusive, as the next
	CreatedBefore *time.Time
	page.Range
}
