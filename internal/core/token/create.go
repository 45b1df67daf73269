package token

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
)

const messageDisabled = "Personal access tokens are disabled"

// maxName is the longest name and description of a token, in characters.
const maxName = 255

// Lives of tokens in days, where the settings say nothing else.
const (
	tokenLife   = 365
	rotatedLife = 7
)

// Input is what an access token is made of.
type Input struct {
	Name        string
	Description *string
	Scopes      authz.Scopes
	ExpiresOn   *string // YYYY-MM-DD; nil is the longest life there is, or none where none is needed

	// Secret is the token itself, 20 to 512 printable characters without spaces; "" makes one.
	// It is for instances that are made for a test: secrets that people choose are guessed.
	Secret string
}

// Create makes a personal access token for a user. Only administrators may. The
// second result is the secret: it is shown once and not kept.
func (s *Service) Create(ctx context.Context, as authz.Actor, user authz.UserID, in Input) (*Token, string, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
		return nil, "", err
	}
	if _, err := s.Accounts.ActorFor(ctx, strconv.FormatInt(int64(user), 10)); err != nil {
		return nil, "", err
	}
	if err := s.checkToken(&in); err != nil {
		return nil, "", err
	}
	return s.createToken(ctx, as, Personal, user, in)
}

// CreateOwn makes a personal access token for the actor. Its scopes reach nothing
// of what the interface serves: a user who holds a token could not give it more than that
// without the person noticing.
func (s *Service) CreateOwn(ctx context.Context, as authz.Actor, in Input) (*Token, string, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnToken, authz.Subject{}); err != nil {
		return nil, "", err
	}
	for _, scope := range in.Scopes {
		if scope != authz.ScopeK8sProxy && scope != authz.ScopeSelfRotate {
			return nil, "", errs.New(errs.Unprocessable, "Scopes can only contain available scopes")
		}
	}
	if err := s.checkToken(&in); err != nil {
		return nil, "", err
	}
	return s.createToken(ctx, as, Personal, as.UserID, in)
}

// SessionScopes lists the scopes that CreateInSession takes from the actor: those that
// act as an administrator are for administrators.
func (s *Service) SessionScopes(as authz.Actor) authz.Scopes {
	all := authz.AllScopes()
	if as.Admin {
		return all
	}
	return slices.DeleteFunc(all, func(scope authz.Scope) bool {
		return scope == authz.ScopeSudo || scope == authz.ScopeAdminMode
	})
}

// CreateInSession makes a personal access token for a person who signed on with a
// password. Who came with a token is Forbidden: a token could give itself more rights.
func (s *Service) CreateInSession(ctx context.Context, as authz.Actor, in Input) (*Token, string, error) {
	if err := s.Policy.Require(ctx, as, authz.ManageOwnToken, authz.Subject{}); err != nil {
		return nil, "", err
	}
	if as.Session == 0 {
		return nil, "", errs.Denied("")
	}
	f := s.tokenProblems(&in)
	mine := s.SessionScopes(as)
	f.Check(!slices.ContainsFunc(in.Scopes, func(scope authz.Scope) bool {
		return !slices.Contains(mine, scope) && slices.Contains(authz.AllScopes(), scope)
	}), "scopes", "can only contain available scopes")
	if err := f.Err(); err != nil {
		return nil, "", err
	}
	return s.createToken(ctx, as, Personal, as.UserID, in)
}

// createToken stores a token whose input was checked.
func (s *Service) createToken(ctx context.Context, as authz.Actor, kind Kind, user authz.UserID, in Input) (*Token, string, error) {
	if kind == Personal && as.SignedIn() && s.Settings.Current().DisablePersonalAccessTokens {
		return nil, "", errs.Denied(messageDisabled)
	}
	t := s.token(kind, user, in.Name, in.Scopes)
	t.Description, t.ExpiresOn = in.Description, in.ExpiresOn
	bounds, needed, err := s.terms(ctx, as, user)
	if err != nil {
		return nil, "", err
	}
	if t.ExpiresOn == nil && needed {
		t.ExpiresOn = s.lastDay(tokenLife)
	}
	key := in.Secret
	if key == "" {
		key = s.newSecret()
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		kept, err := s.keep(ctx, as, t, key, bounds...)
		t.ID = kept.ID
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("create token: %w", err)
	}
	return &t, key, nil
}

func (s *Service) newSecret() string {
	return secret.NewToken(s.Settings.Current().AccessTokenPrefix())
}

// checkToken refuses what cannot be a token, in one sentence, and trims its name.
func (s *Service) checkToken(in *Input) error {
	problems := s.tokenProblems(in)
	if len(problems) == 0 {
		return nil
	}
	var wrong []string
	for _, f := range problems {
		name := strings.ReplaceAll(f.Name, "_", " ")
		for _, message := range f.Messages {
			wrong = append(wrong, strings.ToUpper(name[:1])+name[1:]+" "+message)
		}
	}
	return errs.New(errs.Unprocessable, sentence(wrong))
}

// tokenProblems lists what is wrong with a token, trims its name and keeps each scope once.
func (s *Service) tokenProblems(in *Input) errs.Fields {
	in.Name, in.Scopes = strings.TrimSpace(in.Name), in.Scopes.Unique()
	var f errs.Fields
	f.Check(in.Name != "", "name", "can't be blank")
	f.Check(utf8.RuneCountInString(in.Name) <= maxName, "name", "is too long (maximum is 255 characters)")
	f.Check(in.Description == nil || utf8.RuneCountInString(*in.Description) <= maxName, "description", "is too long (maximum is 255 characters)")
	f.Check(in.Secret == "" || plausible(in.Secret), "secret", "must have 20 to 512 printable characters")
	f.Check(len(in.Scopes) > 0, "scopes", "can't be blank")
	all := authz.AllScopes()
	f.Check(!slices.ContainsFunc(in.Scopes, func(scope authz.Scope) bool { return !slices.Contains(all, scope) }),
		"scopes", "can only contain available scopes")
	if problem := s.checkExpiry(in.ExpiresOn); problem != "" {
		f.Add("expires_at", strings.TrimPrefix(problem, "Expires at "))
	}
	return f
}

// checkExpiry says what is wrong with a last day, "" where nothing is.
func (s *Service) checkExpiry(day *string) string {
	if day == nil {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, *day); err != nil {
		return "Expires at is invalid"
	}
	if last := s.lastDay(tokenLife); *day > *last {
		return "Expires at must be before " + *last
	}
	return ""
}

// NeedsExpiry reports whether the settings want every access token to end one day.
func (s *Service) NeedsExpiry() bool {
	set := s.Settings.Current()
	return set.RequirePersonalAccessTokenExpiry || set.MaxPersonalAccessTokenLifetime != nil && *set.MaxPersonalAccessTokenLifetime > 0
}

// lastDay is the day so many days from now, or earlier where the settings allow tokens
// a shorter life.
func (s *Service) lastDay(days int) *string {
	if most := s.Settings.Current().MaxPersonalAccessTokenLifetime; most != nil && *most > 0 {
		days = min(days, *most)
	}
	day := s.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly)
	return &day
}

// sentence joins parts as English does.
func sentence(parts []string) string {
	switch n := len(parts); n {
	case 1:
		return parts[0]
	case 2:
		return parts[0] + " and " + parts[1]
	default:
		return strings.Join(parts[:n-1], ", ") + ", and " + parts[n-1]
	}
}
