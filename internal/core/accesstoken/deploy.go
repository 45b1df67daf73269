package accesstoken

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/token"
)

// DeployInput is what a deploy token is made of.
type DeployInput struct {
	Name      string
	Username  string // "" is one made of its number
	Scopes    authz.Scopes
	ExpiresAt *time.Time // nil is never
}

// DeployFilter selects from a list of deploy tokens; the zero value selects all.
type DeployFilter struct {
	Active *bool // of use, or of none
	page.Range
}

// DeployCreated says that a place has a new deploy token.
type DeployCreated struct{ change.Of[token.DeployToken] }

// DeployDestroyed says that a place has a deploy token no more.
type DeployDestroyed struct{ change.Of[token.DeployToken] }

func (s *Service) requireDeploy(ctx context.Context, as authz.Actor, p authz.Place, project, group authz.Ability) error {
	if p.Group {
		project = group
	}
	return s.Policy.Require(ctx, as, project, p.Subject)
}

func (f DeployFilter) where(now time.Time) db.Where {
	var w db.Where
	switch {
	case f.Active == nil:
	case *f.Active:
		w.And("NOT t.revoked AND (t.expires_at IS NULL OR t.expires_at > ?)", db.At(now))
	default:
		w.And("(t.revoked OR t.expires_at <= ?)", db.At(now))
	}
	return w
}

// ListDeploy returns the deploy tokens of a place by number.
func (s *Service) ListDeploy(ctx context.Context, as authz.Actor, p authz.Place, f DeployFilter) (page.Page[token.DeployToken], error) {
	if err := s.requireDeploy(ctx, as, p, authz.ReadProjectDeployTokens, authz.ReadGroupDeployTokens); err != nil {
		return page.Page[token.DeployToken]{}, err
	}
	w := f.where(s.Now())
	w.And("t.namespace_id = ?", p.Namespace)
	return s.Tokens.DeployTokens(ctx, w, f.Range)
}

// ListAllDeploy returns the deploy tokens of all places. Only administrators may.
func (s *Service) ListAllDeploy(ctx context.Context, as authz.Actor, f DeployFilter) (page.Page[token.DeployToken], error) {
	if err := s.Policy.Require(ctx, as, authz.ListDeployTokens, authz.Subject{}); err != nil {
		return page.Page[token.DeployToken]{}, err
	}
	return s.Tokens.DeployTokens(ctx, f.where(s.Now()), f.Range)
}

// FindDeploy returns one deploy token of a place.
func (s *Service) FindDeploy(ctx context.Context, as authz.Actor, p authz.Place, id token.ID) (*token.DeployToken, error) {
	if err := s.requireDeploy(ctx, as, p, authz.ReadProjectDeployTokens, authz.ReadGroupDeployTokens); err != nil {
		return nil, err
	}
	return s.findDeploy(ctx, p, id)
}

func (s *Service) findDeploy(ctx context.Context, p authz.Place, id token.ID) (*token.DeployToken, error) {
	var w db.Where
	w.And("t.namespace_id = ?", p.Namespace)
	w.And("t.id = ?", id)
	list, err := s.Tokens.DeployTokens(ctx, w, page.Range{Limit: 1, Uncounted: true})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, errs.Missing("")
	}
	return &list.Items[0], nil
}

// CreateDeploy makes a deploy token of a place. The second result is the secret: it is
// shown once and not kept.
func (s *Service) CreateDeploy(ctx context.Context, as authz.Actor, p authz.Place, in DeployInput) (*token.DeployToken, string, error) {
	if err := s.requireDeploy(ctx, as, p, authz.AdminProjectDeployTokens, authz.AdminGroupDeployTokens); err != nil {
		return nil, "", err
	}
	in.Name, in.Username, in.Scopes = strings.TrimSpace(in.Name), strings.TrimSpace(in.Username), in.Scopes.Unique()
	if wrong := in.problem(); wrong != "" {
		return nil, "", errs.Plain(wrong)
	}
	t, key := token.DeployToken{}, ""
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		t = token.DeployToken{
			NamespaceID: p.Namespace, Name: in.Name, Username: in.Username, ScopeText: in.Scopes.String(),
		}
		if in.ExpiresAt != nil {
			at := db.At(*in.ExpiresAt)
			t.ExpiresAt = &at
		}
		var err error
		if key, err = s.Tokens.KeepDeployToken(ctx, &t); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, DeployCreated{change.Created(as, s.Now(), p, &t)})
	})
	if err != nil {
		return nil, "", fmt.Errorf("create deploy token: %w", err)
	}
	return &t, key, nil
}

const maxName = 255

// problem says what is wrong with a token, "" for nothing.
func (d *DeployInput) problem() string {
	other := func(r rune) bool {
		return r > utf8.RuneSelf || r != '_' && r != '-' && r != '+' && r != '.' &&
			(r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	all := authz.DeployScopes()
	switch {
	case d.Name == "":
		return "Name can't be blank"
	case utf8.RuneCountInString(d.Name) > maxName:
		return "Name is too long (maximum is 255 characters)"
	case len(d.Username) > maxName:
		return "Username is too long (maximum is 255 characters)"
	case strings.ContainsFunc(d.Username, other):
		return "Username can contain only letters, digits, '_', '-', '+', and '.'"
	case len(d.Scopes) == 0:
		return "Scopes can't be blank"
	case slices.ContainsFunc(d.Scopes, func(scope authz.Scope) bool { return !slices.Contains(all, scope) }):
		return "Scopes can only contain available scopes"
	}
	return ""
}

// DeleteDeploy ends a deploy token of a place.
func (s *Service) DeleteDeploy(ctx context.Context, as authz.Actor, p authz.Place, id token.ID) error {
	if err := s.requireDeploy(ctx, as, p, authz.AdminProjectDeployTokens, authz.AdminGroupDeployTokens); err != nil {
		return err
	}
	t, err := s.findDeploy(ctx, p, id)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.Tokens.DropDeployToken(ctx, as, id); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, DeployDestroyed{change.Deleted(as, s.Now(), p, t)})
	})
	if err != nil {
		return fmt.Errorf("delete deploy token: %w", err)
	}
	return nil
}
