package token

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

// DeployToken is a token that acts for no user: it is good in one place and below it, for
// what its scopes say. It shares its numbers with the other kinds of tokens.
type DeployToken struct {
	ID          ID                `db:"id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"`
	Name        string            `db:"name"`
	Username    string            `db:"username"` // that it goes with
	ScopeText   string            `db:"scopes"`   // see Scopes
	Revoked     bool              `db:"revoked"`
	ExpiresAt   *db.Time          `db:"expires_at"` // the first moment at which it is of no use; nil is never
	CreatedAt   db.Time           `db:"created_at"`
	UpdatedAt   db.Time           `db:"updated_at"`
}

// Scopes is what the token permits.
func (t *DeployToken) Scopes() authz.Scopes { return authz.ParseScopes(t.ScopeText) }

// Expired reports whether the token has reached its end.
func (t *DeployToken) Expired(now time.Time) bool {
	return t.ExpiresAt != nil && !now.Before(t.ExpiresAt.Time)
}

// DeployTokens selects deploy tokens, where w is about the table under the name t.
func (s *Service) DeployTokens(ctx context.Context, w db.Where, r page.Range) (page.Page[DeployToken], error) {
	w.And("t.kind = ?", deployToken)
	list, err := page.Select[DeployToken](ctx, s.DB, page.Query{
		Columns: db.Columns[DeployToken]("t"), From: "access_tokens t", Where: w, Order: tokenSorts.By(""),
	}, r)
	if err != nil {
		return list, fmt.Errorf("list deploy tokens: %w", err)
	}
	return list, nil
}

// KeepDeployToken stores a deploy token, in the caller's transaction, and gives it its
// number, a username where it has none, and its secret. It asks for no permission and
// validates nothing.
func (s *Service) KeepDeployToken(ctx context.Context, t *DeployToken) (key string, err error) {
	key = secret.NewToken(s.Settings.Current().TokenPrefix(secret.DeployTokenPrefix))
	t.CreatedAt = db.At(s.Now())
	t.UpdatedAt = t.CreatedAt
	row := struct {
		*DeployToken
		Kind     Kind   `db:"kind"`
		NameFold string `db:"name_fold"`
		Digest   string `db:"digest"`
	}{t, deployToken, db.Fold(t.Name), secret.Digest(key)}
	if err := db.Create(ctx, s.DB, "access_tokens", &row); err != nil {
		return "", fmt.Errorf("store deploy token: %w", err)
	}
	if t.Name == nameForJobs {
		if _, err := db.InsertRow(ctx, s.DB, "deploy_token_secrets", db.Values{"token_id": t.ID, "sealed": s.Box.Seal(sealedAt(t.ID), key)}, ""); err != nil {
			return "", fmt.Errorf("keep deploy token of jobs: %w", err)
		}
	}
	if t.Username == "" {
		t.Username = fmt.Sprintf("gitlab+deploy-token-%d", t.ID)
		if _, err := s.DB.Exec(ctx, "UPDATE access_tokens SET username = ? WHERE id = ?", t.Username, t.ID); err != nil {
			return "", fmt.Errorf("name deploy token: %w", err)
		}
	}
	return key, nil
}

// nameForJobs is the name of the deploy token that the jobs of its place get.
const nameForJobs = "gitlab-deploy-token"

func sealedAt(id ID) string { return fmt.Sprintf("deploy token %d", id) }

// DeployTokenOfJobs returns the valid deploy token named gitlab-deploy-token of a project, or of the nearest group above it that has one, and
// its secret; nil where there is none. It asks for no permission.
func (s *Service) DeployTokenOfJobs(ctx context.Context, project authz.NamespaceID) (*DeployToken, string, error) {
	type row struct {
		DeployToken
		Sealed string `db:"sealed"`
	}
	found, err := db.Select[row](ctx, s.DB, "SELECT "+db.Columns[DeployToken]("t")+`, x.sealed FROM namespace_ancestors a
		JOIN access_tokens t ON t.namespace_id = a.ancestor_id JOIN deploy_token_secrets x ON x.token_id = t.id
		WHERE a.namespace_id = ? AND t.kind = ? AND t.name = ? AND NOT t.revoked AND (t.expires_at IS NULL OR t.expires_at > ?)
		ORDER BY a.depth, t.id LIMIT 1`, project, deployToken, nameForJobs, db.At(s.Now()))
	if err != nil {
		return nil, "", fmt.Errorf("find deploy token of jobs: %w", err)
	}
	if len(found) == 0 {
		return nil, "", nil
	}
	key, ok := s.Box.Try(sealedAt(found[0].ID), found[0].Sealed)
	if !ok {
		return nil, "", nil
	}
	return &found[0].DeployToken, key, nil
}

// DropDeployToken deletes a deploy token, in the caller's transaction. It asks for no
// permission; the actor has the condition of the request.
func (s *Service) DropDeployToken(ctx context.Context, as authz.Actor, id ID) error {
	row := db.Row{Table: "access_tokens", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("Deploy Token")}
	row.And.And("kind = ?", deployToken)
	_, err := db.Delete[DeployToken](ctx, s.DB, row, nil)
	return errs.Wrap(err, "delete deploy token")
}

// AuthenticateDeploy returns the actor behind a deploy token and the username that goes
// with it. Whatever does not fit, or not any more, is Unauthorized.
func (s *Service) AuthenticateDeploy(ctx context.Context, username, key string) (authz.Actor, authz.Scopes, error) {
	return s.authenticateDeploy(ctx, key, func(t *DeployToken) bool { return t.Username == username })
}

// AuthenticateDeployToken is AuthenticateDeploy for a token that comes without its username. The actor has its scopes.
func (s *Service) AuthenticateDeployToken(ctx context.Context, key string) (authz.Actor, error) {
	as, scopes, err := s.authenticateDeploy(ctx, key, func(*DeployToken) bool { return true })
	as.Scopes = append(authz.Scopes{}, scopes...) // nil would be a caller without a token
	return as, err
}

func (s *Service) authenticateDeploy(ctx context.Context, key string, fits func(*DeployToken) bool) (authz.Actor, authz.Scopes, error) {
	if len(key) > secret.MaxToken {
		return authz.Actor{}, nil, errs.New(errs.Unauthorized, "")
	}
	t, err := db.Get[DeployToken](ctx, s.DB, "SELECT "+db.Columns[DeployToken]("t")+" FROM access_tokens t WHERE t.digest = ? AND t.kind = ?",
		secret.Digest(key), deployToken)
	if errors.Is(err, db.ErrNotFound) || err == nil && (!fits(&t) || t.Revoked || t.Expired(s.Now())) {
		return authz.Actor{}, nil, errs.New(errs.Unauthorized, "")
	}
	if err != nil {
		return authz.Actor{}, nil, fmt.Errorf("read deploy token: %w", err)
	}
	s.used.Note(t.ID, s.Now())
	return authz.Actor{Deploy: authz.Deploy{TokenID: int64(t.ID), Place: t.NamespaceID}}, t.Scopes(), nil
}
