package authz_test

import (
	"testing"
	"time"

	"tenon/internal/core/authz"
)

// TestActor_Stamp looks that handlers of an event are not held to the condition of the
// request, which was about another row.
func TestActor_Stamp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 22, 0, 0, 0, time.UTC)
	as := authz.Actor{UserID: 7, Username: "ann", Address: "192.0.2.1", UnmodifiedSince: now.Add(-time.Hour)}
	s := as.Stamp(now)
	if s.By.UserID != 7 || s.By.Username != "ann" || s.By.Address != "192.0.2.1" || !s.Happened().Equal(now) {
		t.Errorf("got a stamp of %+v at %s, want the actor and %s", s.By, s.Happened(), now)
	}
	if err := s.By.UnmodifiedAt(now); err != nil {
		t.Errorf("a handler that changes a row of now: %v", err)
	}
	if err := as.UnmodifiedAt(now); err == nil {
		t.Error("the actor of the request lost the condition")
	}
}
