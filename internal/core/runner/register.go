package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// CodeNoRegistration says that registration tokens register nothing.
const CodeNoRegistration errs.Code = "runner registration disallowed"

func secondsOf(n int) time.Duration { return time.Duration(n) * time.Second }

// Registration is what a program registers a runner with.
type Registration struct {
	Token   string // of the instance, a group or a project
	Info    Info
	Address string // where it came from
	Changes
}

// Register makes a runner with a registration token; it is not in contact yet. The second
// result is the authentication token: it is shown once and not kept. It asks for no permission,
// which the registration token is; by is who asked, for events.
func (s *Service) Register(ctx context.Context, by authz.Actor, in Registration) (*Runner, string, error) {
	from, err := s.registrar(ctx, in.Token)
	if err != nil {
		return nil, "", err
	}
	if !s.Settings.Current().AllowRunnerRegistrationToken {
		return nil, "", errs.Coded(errs.Forbidden, CodeNoRegistration, "runner registration disallowed")
	}
	r := Runner{Type: from.Type, Registered: true, Info: in.Info.clean(), IPAddress: said(&in.Address)}
	if from.Type == GroupType {
		r.NamespaceID = from.NamespaceID
	}
	var p *project.ID
	if from.Type == ProjectType {
		id, err := db.Get[project.ID](ctx, s.DB, "SELECT p.id FROM projects p WHERE p.namespace_id = ? AND NOT p.pending_delete", from.NamespaceID)
		if errors.Is(err, db.ErrNotFound) {
			return nil, "", invalidToken()
		}
		if err != nil {
			return nil, "", fmt.Errorf("project of registration token: %w", err)
		}
		p = &id
	}
	return s.insert(ctx, by, r, p, in.Changes)
}

func invalidToken() error { return errs.Denied("invalid token supplied") }

// registrar finds a registration token of a kind that may be used.
func (s *Service) registrar(ctx context.Context, token string) (*registration, error) {
	if token == "" || len(token) > secret.MaxToken {
		return nil, invalidToken()
	}
	r, err := db.Get[registration](ctx, s.DB, "SELECT "+db.Columns[registration]("t")+" FROM registration_tokens t WHERE t.digest = ?", secret.Digest(token))
	if errors.Is(err, db.ErrNotFound) {
		return nil, invalidToken()
	}
	if err != nil {
		return nil, fmt.Errorf("find registration token: %w", err)
	}
	may := s.Settings.Current().ValidRunnerRegistrars
	if r.Type == ProjectType && !slices.Contains(may, "project") || r.Type == GroupType && !slices.Contains(may, "group") {
		return nil, invalidToken()
	}
	return &r, nil
}

// insert writes a new runner, with its first project where it is a project runner.
func (s *Service) insert(ctx context.Context, by authz.Actor, r Runner, p *project.ID, c Changes) (*Runner, string, error) {
	r.RunUntagged, r.TagsJSON = true, "[]"
	if err := c.apply(&r); err != nil {
		return nil, "", err
	}
	now := db.At(s.Now())
	r.CreatedAt, r.UpdatedAt = now, now
	token := s.renew(&r)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "runners", &r, s.bounds(&r)...); err != nil {
			return err
		}
		if err := s.writeTags(ctx, &r); err != nil {
			return err
		}
		if p != nil {
			if err := s.assign(ctx, r.ID, *p); err != nil {
				return err
			}
		}
		return s.Bus.Publish(ctx, Created{change.Created(by, s.Now(), r.place(), &r), p})
	})
	if err != nil {
		return nil, "", fmt.Errorf("create runner: %w", err)
	}
	return &r, token, nil
}

// bounds are how many runners the group of a new runner may have.
func (s *Service) bounds(r *Runner) []db.Bound {
	most := s.Plans.InForce().CIRegisteredGroupRunners
	if r.Type != GroupType || most == 0 {
		return nil
	}
	b := db.Bound{Table: "runners", Most: int(most), Full: full("group", most)}
	b.Of.And("namespace_id = ?", *r.NamespaceID)
	return []db.Bound{b}
}

func full(noun string, most int64) error {
	return errs.New(errs.Unprocessable, fmt.Sprintf("Maximum number of %s runners (%d) exceeded", noun, most))
}

// Input is what a user makes a runner of.
type Input struct {
	Type      Type
	GroupID   authz.NamespaceID // of a group runner
	ProjectID int64             // of a project runner
	Changes
}

// Create makes a runner. The second result is the authentication token: it is shown once and
// not kept.
func (s *Service) Create(ctx context.Context, as authz.Actor, in Input) (*Runner, string, error) {
	if err := s.Policy.Require(ctx, as, authz.CreateRunner, authz.Subject{}); err != nil {
		return nil, "", err
	}
	r := Runner{Type: in.Type}
	p, err := s.requireCreate(ctx, as, &r, in)
	if err != nil {
		if errs.Is(err, errs.Forbidden) {
			return nil, "", errs.Denied("Insufficient permissions")
		}
		return nil, "", err
	}
	if as.SignedIn() {
		r.CreatorID = &as.UserID
	}
	made, token, err := s.insert(ctx, as, r, p, in.Changes)
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.Invalid {
		return nil, "", errs.Bad(sentence(e.Fields))
	}
	return made, token, err
}

// requireCreate finds the place of a new runner and asks whether the actor may create it there.
func (s *Service) requireCreate(ctx context.Context, as authz.Actor, r *Runner, in Input) (*project.ID, error) {
	switch in.Type {
	case GroupType:
		g, err := s.Namespaces.FindByID(ctx, as, in.GroupID)
		if errs.Is(err, errs.NotFound) {
			return nil, errs.Bad("Missing/invalid group")
		}
		if err != nil {
			return nil, err
		}
		r.NamespaceID = &g.ID
		return nil, s.Policy.Require(ctx, as, authz.AdminGroupRunners, g.Subject())
	case ProjectType:
		p, err := s.Deps.Projects.FindByID(ctx, as, project.ID(in.ProjectID))
		if errs.Is(err, errs.NotFound) {
			return nil, errs.Bad("Missing/invalid project")
		}
		if err != nil {
			return nil, err
		}
		return &p.ID, s.Policy.Require(ctx, as, authz.AdminProjectRunners, p.Subject())
	}
	return nil, s.Policy.Require(ctx, as, authz.AdminInstanceRunners, authz.Subject{})
}

// Verify tells a program whose token it has.
func (s *Service) Verify(ctx context.Context, token, systemID, ip string) (*Runner, error) {
	r, err := s.Authenticate(ctx, token)
	if err != nil {
		return nil, err
	}
	_, err = s.Contact(ctx, r, systemID, Info{}, ip)
	return r, err
}

// Unregister removes the runner of a program that has its token. It asks for no permission,
// which the token is; by is who asked, for events.
func (s *Service) Unregister(ctx context.Context, by authz.Actor, token string) error {
	r, err := s.Authenticate(ctx, token)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error { return s.remove(ctx, by, r.ID, nil) })
	return errs.Wrap(err, "unregister runner")
}

// DeleteManager removes a machine from the runner that it has the token of.
func (s *Service) DeleteManager(ctx context.Context, token, systemID string) error {
	r, err := s.Authenticate(ctx, token)
	if err != nil {
		return err
	}
	n, err := s.DB.Exec(ctx, "DELETE FROM runner_managers WHERE runner_id = ? AND system_id = ?", r.ID, cut(systemID, maxSystemID))
	if err != nil {
		return fmt.Errorf("delete runner manager: %w", err)
	}
	if n == 0 {
		return errs.Missing("")
	}
	return nil
}
