package token

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// Filter selects tokens; the zero value selects all that the actor may list.
type Filter struct {
	UserID           *authz.UserID // another user's only for administrators
	Active, Inactive bool
	Revoked          *bool
	CreatedAfter     *time.Time
	CreatedBefore    *time.Time
	LastUsedAfter    *time.Time
	LastUsedBefore   *time.Time
	ExpiresAfter     string // YYYY-MM-DD
	ExpiresBefore    string
	Search           string // part of the name
	Sort             string // see tokenSorts; "", and what is not among them, is by id
	page.Range

	impersonation bool // only such tokens, which are left out otherwise
}

// tokenSorts are the orders of a list of access tokens t.
var tokenSorts = page.Orders{
	"":          {page.ID("t.id")},
	"id":        {page.ID("t.id")},
	"created":   {page.Time("created_at", "t.created_at"), page.ID("t.id")},
	"expires":   {page.Text("expires_on", "t.expires_on").NullHigh(), page.ID("t.id")},
	"last_used": {page.Time("last_used_at", "t.last_used_at").NullLow(), page.ID("t.id")},
	"updated":   {page.Time("updated_at", "t.updated_at"), page.ID("t.id")},
	"name":      {page.Text("name", "t.name_fold"), page.ID("t.id")},
}

// Order returns the order of a list of access tokens t. The contract knows each by two
// names: created_asc and created_at_asc.
func (f *Filter) Order() page.Order {
	at := strings.LastIndexByte(f.Sort, '_')
	if at < 0 {
		return tokenSorts.By("")
	}
	order, known := tokenSorts[strings.TrimSuffix(f.Sort[:at], "_at")]
	switch {
	case !known:
		return tokenSorts.By("")
	case f.Sort[at:] == "_desc":
		return order.Desc()
	}
	return order
}

// errNoToken is for administrators. Others get Unauthorized, whether the token exists or not.
var errNoToken = errs.Coded(errs.NotFound, CodeNoToken, "")

// CodeNoToken is a token that an administrator does not find.
const CodeNoToken errs.Code = "token_not_found"

// List returns access tokens: the actor's own, or everybody's for administrators.
// Impersonation tokens are not among them.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[*Token], error) {
	none := page.Page[*Token]{}
	if err := s.Policy.Require(ctx, as, authz.ManageOwnToken, authz.Subject{}); err != nil {
		return none, err
	}
	if !as.Admin {
		if f.UserID != nil && !as.Is(*f.UserID) {
			return none, errs.New(errs.Unauthorized, "")
		}
		f.UserID = &as.UserID
	}
	return s.listTokens(ctx, f)
}

func (s *Service) listTokens(ctx context.Context, f Filter) (page.Page[*Token], error) {
	list, err := page.Select[Token](ctx, s.DB, page.Query{
		Columns: db.Columns[Token]("t"), From: "access_tokens t", Where: *f.where(s.Now()), Order: f.Order(),
	}, f.Range)
	if err != nil {
		return page.Page[*Token]{}, fmt.Errorf("list tokens: %w", err)
	}
	return page.Map(list, s.refreshed), nil
}

// kinds are those that the list is of.
func (f *Filter) kinds() []Kind {
	if f.impersonation {
		return []Kind{Impersonation}
	}
	return []Kind{Personal, Project, Group}
}

func (f *Filter) where(now time.Time) *db.Where {
	w := &db.Where{}
	w.In("t.kind", f.kinds())
	f.Select(w, now)
	return w
}

// Select adds the conditions of the filter on access tokens t, but those on their kind.
func (f *Filter) Select(w *db.Where, now time.Time) {
	if f.UserID != nil {
		w.And("t.user_id = ?", *f.UserID)
	}
	today := now.UTC().Format(time.DateOnly)
	if f.Active {
		w.And("NOT t.revoked AND (t.expires_on IS NULL OR t.expires_on > ?)", today)
	}
	if f.Inactive {
		w.And("(t.revoked OR t.expires_on <= ?)", today)
	}
	if f.Revoked != nil {
		w.And("t.revoked = ?", *f.Revoked)
	}
	w.Since("t.created_at", f.CreatedAfter)
	w.Until("t.created_at", f.CreatedBefore)
	w.Since("t.last_used_at", f.LastUsedAfter)
	w.Until("t.last_used_at", f.LastUsedBefore)
	if f.ExpiresAfter != "" {
		w.And("t.expires_on >= ?", f.ExpiresAfter)
	}
	if f.ExpiresBefore != "" {
		w.And("t.expires_on <= ?", f.ExpiresBefore)
	}
	if f.Search != "" {
		w.And(`t.name_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(f.Search))+"%")
	}
}

// Find returns a token, revoked ones too, to its user and to administrators. Others
// are Unauthorized, whether it exists or not, and so are users about the tokens with which
// administrators act for them.
func (s *Service) Find(ctx context.Context, as authz.Actor, id ID) (*Token, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnToken, authz.Subject{}); err != nil {
		return nil, err
	}
	t, err := s.readToken(ctx, id)
	missing := errors.Is(err, db.ErrNotFound)
	switch {
	case err != nil && !missing:
		return nil, err
	case !as.Admin && (missing || !as.Is(t.UserID) || t.Kind == Impersonation):
		return nil, errs.New(errs.Unauthorized, "")
	case missing:
		return nil, errNoToken
	}
	return t, nil
}

// Own returns the token that the actor signed on with, under sudo too. A user who came
// without one is Unauthorized.
func (s *Service) Own(ctx context.Context, as authz.Actor) (*Token, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnToken, authz.Subject{}); err != nil {
		return nil, err
	}
	t, err := s.readToken(ctx, ID(as.TokenID))
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.New(errs.Unauthorized, "")
	}
	return t, err
}

func (s *Service) readToken(ctx context.Context, id ID) (*Token, error) {
	t, err := db.Get[Token](ctx, s.DB, "SELECT "+db.Columns[Token]("t")+" FROM access_tokens t WHERE t.id = ? AND t.kind <> ?", id, deployToken)
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	return s.refreshed(&t), nil
}

// Revoke makes a token useless at once. Its user and administrators may. A token
// that is revoked already, or another user's, is a BadRequest.
func (s *Service) Revoke(ctx context.Context, as authz.Actor, id ID) error {
	t, err := s.Find(ctx, as, id)
	if as.SignedIn() && errs.Is(err, errs.Unauthorized) {
		return errs.Bad("")
	}
	if err != nil {
		return err
	}
	return s.revokeOne(ctx, as, t)
}

// RevokeMine is Revoke for one of the actor's own tokens; all others are NotFound, for
// administrators as well.
func (s *Service) RevokeMine(ctx context.Context, as authz.Actor, id ID) error {
	t, err := s.Find(ctx, as, id)
	switch {
	case errs.Is(err, errs.Unauthorized) && as.SignedIn(), err == nil && (!as.Is(t.UserID) || t.Kind != Personal):
		return errNoToken
	case err != nil:
		return err
	}
	return s.revokeOne(ctx, as, t)
}

// RevokeOwn makes the token useless that the actor signed on with.
func (s *Service) RevokeOwn(ctx context.Context, as authz.Actor) error {
	t, err := s.Own(ctx, as)
	if err != nil {
		return err
	}
	return s.revokeOne(ctx, as, t)
}

func (s *Service) revokeOne(ctx context.Context, as authz.Actor, t *Token) error {
	revoked := false
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		revoked, err = s.revoke(ctx, as, t)
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke token: %w", err)
	}
	if !revoked {
		return errs.Bad("")
	}
	return nil
}

// refreshed puts in a last use that is not written down yet.
func (s *Service) refreshed(t *Token) *Token {
	if at, ok := s.used.Last(t.ID); ok {
		last := db.At(at)
		t.LastUsedAt = &last
	}
	return t
}
