package notify

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Accounts Users
	Now      func() time.Time
}

// Service reads and changes notification settings.
type Service struct {
	db       *db.DB
	policy   *authz.Policy
	accounts Users
	now      func() time.Time
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{db: d.DB, policy: d.Policy, accounts: d.Accounts, now: d.Now}
}
