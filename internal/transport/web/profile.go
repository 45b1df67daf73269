package web

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

// mostOwn is how many of one's own tokens or keys a page shows.
const mostOwn = 100

// tokenForm is what is in the form of an access token.
type tokenForm struct {
	Name, Expires, Hint string
	Scopes              []scopeChoice
}

func (x *visit) getTokens() (templ.Component, error) { return x.tokensPage("", tokenForm{}, nil) }

func (x *visit) tokensPage(made string, f tokenForm, on authz.Scopes) (templ.Component, error) {
	own := x.as.UserID
	list, err := x.Tokens.List(x.r.Context(), x.as, token.Filter{UserID: &own, Active: true, Range: page.Range{Limit: mostOwn}})
	if err != nil {
		return nil, err
	}
	for _, scope := range x.Tokens.SessionScopes(x.as) {
		f.Scopes = append(f.Scopes, scopeChoice{scope, slices.Contains(on, scope)})
	}
	f.Hint = "Never where empty"
	if x.Tokens.NeedsExpiry() {
		f.Hint = "The latest date that this server allows where empty"
	}
	x.settings("Access tokens")
	return tokens(&x.sheet, list.Items, made, f), nil
}

func (x *visit) postToken() (templ.Component, error) {
	f := tokenForm{Name: x.field("name"), Expires: x.field("expires_at")}
	in := token.Input{Name: f.Name}
	for _, scope := range x.fields()["scopes"] {
		in.Scopes = append(in.Scopes, authz.Scope(scope))
	}
	if f.Expires != "" {
		in.ExpiresOn = &f.Expires
	}
	_, made, err := x.Tokens.CreateInSession(x.r.Context(), x.as, in)
	if err != nil && !x.wrong(err) {
		return nil, err
	}
	if err == nil {
		f, in.Scopes = tokenForm{}, nil
	}
	return x.tokensPage(made, f, in.Scopes)
}

func (x *visit) postRevokeToken() (templ.Component, error) {
	id, err := x.arg("id")
	if err != nil {
		return nil, err
	}
	err = x.Tokens.RevokeMine(x.r.Context(), x.as, token.ID(id))
	if err != nil {
		return nil, err
	}
	return x.goTo(withNotice(at.ProfileTokens(), "token_revoked"))
}

// keyForm is what is in the form of an SSH key.
type keyForm struct {
	Title, Key, Expires string
	Usage               sshkey.Usage
}

// keyUsage is what a key may be for.
type keyUsage struct {
	Usage sshkey.Usage
	Title string
}

var keyUsages = []keyUsage{
	{sshkey.AuthAndSigning, "Authentication and signing"},
	{sshkey.Auth, "Authentication"},
	{sshkey.Signing, "Signing"},
}

func (x *visit) getKeys() (templ.Component, error) {
	return x.keysPage(keyForm{Usage: sshkey.AuthAndSigning})
}

func (x *visit) keysPage(f keyForm) (templ.Component, error) {
	list, err := x.Keys.ListOwn(x.r.Context(), x.as, page.Range{Limit: mostOwn})
	if err != nil {
		return nil, err
	}
	x.settings("SSH keys")
	return keys(&x.sheet, list.Items, f), nil
}

func (x *visit) postKey() (templ.Component, error) {
	f := keyForm{Title: x.field("title"), Key: x.field("key"), Expires: x.field("expires_at"), Usage: sshkey.Usage(x.field("usage_type"))}
	in := sshkey.Input{Title: f.Title, Key: f.Key, Usage: f.Usage}
	err := error(nil)
	if !slices.ContainsFunc(keyUsages, func(u keyUsage) bool { return u.Usage == f.Usage }) {
		err = errs.Plain("Usage is invalid")
	}
	if f.Expires != "" && err == nil {
		day, bad := time.Parse(time.DateOnly, f.Expires)
		if bad != nil {
			err = errs.Plain("Expires on is invalid")
		}
		in.ExpiresAt = &day
	}
	if err == nil {
		if in.Title == "" {
			in.Title = sshkey.CommentOf(f.Key)
		}
		_, err = x.Keys.Create(x.r.Context(), x.as, in)
	}
	switch {
	case err == nil:
		return x.goTo(withNotice(at.ProfileKeys(), "key_added"))
	case x.wrong(err):
		return x.keysPage(f)
	}
	return nil, err
}

func (x *visit) postDeleteKey() (templ.Component, error) {
	id, err := x.arg("id")
	if err != nil {
		return nil, err
	}
	if err := x.Keys.Delete(x.r.Context(), x.as, sshkey.ID(id)); err != nil {
		return nil, err
	}
	return x.goTo(withNotice(at.ProfileKeys(), "key_deleted"))
}
