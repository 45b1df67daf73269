package payload

import (
	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/timelog"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Accounts      *account.Service
	Projects      *project.Service
	Repos         *repo.Service
	Protections   *protection.Service
	MergeRequests *mergerequest.Service
	Times         *timelog.Service
	URLs          *weburl.Site
}

// Service builds bodies. It asks for no permission: who is told of an event has asked before. It is safe for concurrent use.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}
