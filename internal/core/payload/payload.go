package payload

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/ci"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/runner"
	"tenon/internal/core/snippet"
	"tenon/internal/core/timelog"
	"tenon/internal/core/weburl"
	"tenon/internal/core/wiki"
)

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Accounts      *account.Service
	Projects      *project.Service
	Repos         *repo.Service
	Protections   *protection.Service
	Namespaces    *namespace.Service
	Issues        *issue.Service
	MergeRequests *mergerequest.Service
	Snippets      *snippet.Service
	Wikis         *wiki.Service
	CI            *ci.Service
	Runners       *runner.Service
	Notes         *note.Service
	Times         *timelog.Service
	URLs          *weburl.Site
	Now           func() time.Time
}

// Service builds bodies. It asks for no permission: recipients of an event have asked before. It is safe for concurrent use.
type Service struct {
	Deps
	Above
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}
