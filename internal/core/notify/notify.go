package notify

import (
	"cmp"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/base/mail"
	"tenon/internal/base/secret"
	"tenon/internal/core/appearance"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
	"tenon/internal/core/setting"
	"tenon/internal/core/subscription"
	"tenon/internal/core/todo"
	"tenon/internal/core/weburl"
)

// Deps is what a Service is made of.
type Deps struct {
	DB            *db.DB
	Policy        *authz.Policy
	Kinds         *noteable.Kinds
	Accounts      Users
	Projects      *project.Service
	Repos         *repo.Service
	CI            *ci.Service
	Namespaces    *namespace.Service
	Notes         *note.Service
	Subscriptions *subscription.Service
	Todos         *todo.Service // knows who is mentioned
	References    *reference.Service
	Settings      *setting.Store
	Appearance    *appearance.Service
	URLs          *weburl.Site
	Signer        *secret.Signer
	Jobs          job.Enqueuer
	Log           *slog.Logger
	Now           func() time.Time
	Out           Out
}

// Out is where mail goes out.
type Out struct {
	Sender  *mail.Sender // nil sends none
	ReplyTo string       // address that answers go to, "" for none

	// Incoming is the address that the server reads answers from, with IncomingKey in place of
	// the key of a thread; "" for none.
	Incoming, IncomingKey string

	Recipients int // of one event, at most; 0 is MaxRecipients
}

// Service reads and changes notification settings, and sends mail by them.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	d.Out.Recipients = cmp.Or(d.Out.Recipients, MaxRecipients)
	return &Service{Deps: d}
}
