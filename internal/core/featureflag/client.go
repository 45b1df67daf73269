package featureflag

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
	"tenon/internal/core/variable"
)

// TokenPrefix begins the instance ids of clients.
const TokenPrefix = "glffct-"

// maxAnswer is how many bytes the parameters of strategies have that a client gets at once.
const maxAnswer = 32 << 20

// What a flag and a strategy take in memory beside the values of parameters, about.
const (
	flagBytes     = 500
	strategyBytes = 500
)

// Client is what the applications of a project identify themselves with.
type Client struct {
	ProjectID project.ID `db:"project_id"`
	Digest    string     `db:"digest"`
	CreatedAt db.Time    `db:"created_at"`
}

// About names it for events.
func (c Client) About() change.Subject {
	return change.Subject{Type: "Operations::FeatureFlagsClient", ID: int64(c.ProjectID)}
}

// ClientCreated is published when a project has a new instance id.
type ClientCreated struct{ change.Of[Client] }

// Audit is what the audit trail records of it.
func (ClientCreated) Audit() []change.Entry {
	return change.Record("feature_flags_client_created", "Created instance ID for feature flags")
}

// ClientDeleted is published when the instance id of a project is of no use any more.
type ClientDeleted struct{ change.Of[Client] }

// Audit is what the audit trail records of it.
func (ClientDeleted) Audit() []change.Entry {
	return change.Record("feature_flags_client_deleted", "Deleted instance ID for feature flags")
}

// HasClient reports whether a project has an instance id.
func (s *Service) HasClient(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	if err := s.require(ctx, as, authz.ReadFeatureFlagsClient, p); err != nil {
		return false, err
	}
	there, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM feature_flag_clients WHERE project_id = ?)", p.ID)
	return there, errs.Wrap(err, "look for client of feature flags")
}

// RenewClient makes the instance id of a project, in place of the one before, and returns it: it is not shown again.
func (s *Service) RenewClient(ctx context.Context, as authz.Actor, p *project.Project) (string, error) {
	if err := s.require(ctx, as, authz.AdminFeatureFlagsClient, p); err != nil {
		return "", err
	}
	token := secret.NewToken(TokenPrefix)
	c := Client{ProjectID: p.ID, Digest: secret.Digest(token), CreatedAt: db.At(s.Now())}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		const renewed = "ON CONFLICT (project_id) DO UPDATE SET digest = excluded.digest, created_at = excluded.created_at"
		if _, err := db.InsertRow(ctx, s.DB, "feature_flag_clients", &c, renewed); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, ClientCreated{change.Created(as, s.Now(), p.Place(), &c)})
	})
	return token, errs.Wrap(err, "make client of feature flags")
}

// DeleteClient ends the instance id of a project.
func (s *Service) DeleteClient(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.require(ctx, as, authz.AdminFeatureFlagsClient, p); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		row := db.Row{Table: "feature_flag_clients", Key: "project_id", ID: p.ID, If: as.UnmodifiedAt, Missing: errs.Missing("")}
		was, err := db.Delete[Client](ctx, s.DB, row, nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, ClientDeleted{change.Deleted(as, s.Now(), p.Place(), &was)})
	})
	return errs.Wrap(err, "delete client of feature flags")
}

// ClientFlag is a flag as clients of Unleash get it.
type ClientFlag struct {
	Name        string           `json:"name"`
	Description *string          `json:"description,omitempty"`
	Enabled     bool             `json:"enabled"`
	Strategies  []ClientStrategy `json:"strategies"`
}

// ClientStrategy is a strategy as clients of Unleash know them.
type ClientStrategy struct {
	Name       string            `json:"name"`
	Parameters map[string]string `json:"parameters"`
}

// Admit returns an error where an instance id is not that of a project whose feature flags are on: Unauthorized.
func (s *Service) Admit(ctx context.Context, of project.ID, instance string) error {
	_, err := s.admit(ctx, of, instance)
	return err
}

// admit is Admit, with the state of the project's flags.
func (s *Service) admit(ctx context.Context, of project.ID, instance string) (*state, error) {
	refused := errs.New(errs.Unauthorized, "")
	if instance == "" || len(instance) > secret.MaxToken {
		return nil, refused
	}
	p, err := db.Get[admission](ctx, s.DB, "SELECT c.digest, p.features AS access, "+stateColumns+`
		FROM feature_flag_clients c JOIN projects p ON p.id = c.project_id WHERE c.project_id = ? AND NOT p.pending_delete`, of)
	if errors.Is(err, db.ErrNotFound) {
		return nil, refused
	}
	if err != nil {
		return nil, fmt.Errorf("find client of feature flags: %w", err)
	}
	var on project.Project
	on.FeaturesJSON = p.Access
	if subtle.ConstantTimeCompare([]byte(p.Digest), []byte(secret.Digest(instance))) != 1 || on.Access("feature_flags") == "disabled" {
		return nil, refused
	}
	return &p.state, nil
}

type admission struct {
	Digest string `db:"digest"`
	Access string `db:"access"` // see project.Project.FeaturesJSON
	state
}

// Features are the flags of a project for an environment, by id: those with a strategy whose scope fits it. The instance id is the permission. The
// list is shared: do not change it.
func (s *Service) Features(ctx context.Context, of project.ID, instance, environment string) ([]ClientFlag, error) {
	now, err := s.admit(ctx, of, instance)
	if err != nil {
		return nil, err
	}
	key := keyOf(of, environment, now)
	if list, ok := s.answers.find(key, s.Now()); ok {
		return list, nil
	}
	list, size, err := s.read(ctx, of, environment)
	if err == nil {
		s.answers.keep(key, list, size, s.Now())
	}
	return list, err
}

// read reads the flags of a project for an environment, and about how many bytes they have.
func (s *Service) read(ctx context.Context, of project.ID, environment string) ([]ClientFlag, int, error) {
	flags, err := db.Select[Flag](ctx, s.DB, "SELECT "+columns+" FROM feature_flags f WHERE f.project_id = ? ORDER BY f.id LIMIT ?", of, MaxFlags)
	if err != nil {
		return nil, 0, fmt.Errorf("feature flags for a client: %w", err)
	}
	if err := s.fill(ctx, flags); err != nil {
		return nil, 0, err
	}
	out, size := []ClientFlag{}, 0
	for i := range flags {
		f := &flags[i]
		shown := ClientFlag{Name: f.Name, Description: f.Description, Enabled: f.Active}
		for n := range f.Strategies {
			t := &f.Strategies[n]
			if slices.ContainsFunc(t.Scopes, func(c Scope) bool { return variable.Matches(c.Environment, environment) }) {
				one := t.forClients()
				for _, value := range one.Parameters {
					size += len(value)
				}
				shown.Strategies = append(shown.Strategies, one)
			}
		}
		if len(shown.Strategies) > 0 {
			size += flagBytes + strategyBytes*len(shown.Strategies)
			out = append(out, shown)
		}
		if size > maxAnswer {
			return nil, 0, errs.New(errs.TooLarge, "")
		}
	}
	return out, size, nil
}

// forClients is the strategy in the names of Unleash, which knows no lists.
func (t *Strategy) forClients() ClientStrategy {
	if t.UserList != nil {
		return ClientStrategy{ForUsers, map[string]string{"userIds": t.UserList.UserXIDs}}
	}
	return ClientStrategy{t.Name, t.Values()}
}

// MarshalJSON writes the parameters as an object.
func (s ClientStrategy) MarshalJSON() ([]byte, error) {
	type plain ClientStrategy
	if s.Parameters == nil {
		s.Parameters = map[string]string{}
	}
	return json.Marshal(plain(s))
}
