package web

import (
	"errors"
	"net/http"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/session"
	"tenon/internal/transport/httpkit"
)

// signForm is what is in the form of the sign-on.
type signForm struct{ Login, Return string }

func (x *visit) getSignIn() (templ.Component, error) {
	to := x.r.URL.Query().Get("return_to")
	if !local(to) {
		to = ""
	}
	if x.as.Session != 0 {
		return x.goTo(orHome(to))
	}
	return x.signInPage(signForm{Return: to})
}

func (x *visit) signInPage(f signForm) (templ.Component, error) {
	x.bind()
	x.title("Sign in")
	x.sheet.Return = f.Return
	return templ.Join(x.welcome(), x.ownText(x.Settings.Current().SignInText), signIn(&x.sheet, f)), nil
}

// ownText is a text that the administrators wrote for a page, in Markdown; nil shows nothing.
func (x *visit) ownText(source *string) templ.Component {
	if source == nil {
		return templ.NopComponent
	}
	return formatted(x.document(*source, nowhere.link))
}

func orHome(path string) string {
	if path == "" {
		return at.Home()
	}
	return path
}

// badSignOn is the one answer to names and passwords that do not fit.
const badSignOn = "Invalid login or password."

// postSignIn begins a session. The cookies that the browser had are replaced.
func (x *visit) postSignIn() (templ.Component, error) {
	f := signForm{Login: x.field("user[login]"), Return: x.field("return_to")}
	if !local(f.Return) {
		f.Return = ""
	}
	from := httpkit.Address(x.r)
	if x.banned(from) {
		return x.signInPage(f)
	}
	client := session.Client{Address: from, Agent: x.r.UserAgent()}
	key, as, err := x.Sessions.SignOn(x.r.Context(), f.Login, x.raw("user[password]"), client)
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Code == account.CodePasswordExpired {
		x.title("Your password expired")
		x.sheet.Notice = "Choose another password, then sign in with it."
		return changePassword(&x.sheet, at.ExpiredPassword(), f.Login, true), nil
	}
	switch {
	case errs.Is(err, errs.Unauthorized):
		x.Limits.GitFailed(from)
		x.status = http.StatusUnprocessableEntity
		x.sheet.Errors = []string{badSignOn}
		return x.signInPage(f)
	case isMaintenance(err):
		x.status = http.StatusServiceUnavailable
		x.sheet.Errors = []string{err.Error()}
		return x.signInPage(f)
	case errs.Is(err, errs.Forbidden):
		x.status = http.StatusForbidden
		x.sheet.Errors = []string{err.Error()}
		return x.signInPage(f)
	case err != nil:
		return nil, err
	}
	x.endSession() // of who was signed on in this browser before
	httpkit.Of(x.r.Context()).As = as
	x.SignOn.Sessions.Set(x.w, httpkit.SessionCookie, key)
	x.SignOn.Sessions.Set(x.w, httpkit.VisitCookie, "")
	return x.goTo(orHome(f.Return))
}

// banned reports whether too many passwords were guessed from an address, as for git, and
// says so on the page.
func (x *visit) banned(address string) bool {
	if !x.Limits.GitBanned(address) {
		return false
	}
	x.status, x.sheet.Errors = http.StatusForbidden, []string{x.Limits.RefuseGit().Error()}
	return true
}

// endSession ends the session that the request came with.
func (x *visit) endSession() {
	if x.as.Session == 0 {
		return
	}
	if err := x.Sessions.SignOff(x.r.Context(), x.as); err != nil {
		x.Log.Error("session not ended", "request_id", httpkit.Of(x.r.Context()).ID, "error", err)
	}
}

func (x *visit) postSignOut() (templ.Component, error) {
	if x.as.Session != 0 {
		if err := x.Sessions.SignOff(x.r.Context(), x.as); err != nil {
			return nil, err
		}
	}
	x.SignOn.Sessions.Set(x.w, httpkit.SessionCookie, "")
	if to := x.Settings.Current().AfterSignOutPath; to != nil && *to != "" {
		return x.leave(*to)
	}
	return x.goTo(withNotice(at.SignIn(""), "signed_out"))
}

// leave sends the browser to another site after a form. Browsers refuse a redirect there, because the policy of pages lets
// forms lead to this server alone, so the answer is a page that is left at once.
func (x *visit) leave(to string) (templ.Component, error) {
	x.as = authz.Actor{}
	x.w.Header().Set("Refresh", "0; url="+to)
	x.title("Signed out")
	return leaving(to), nil
}

// getForgotten says what to do without a password: nothing is sent, so a person helps.
func (x *visit) getForgotten() (templ.Component, error) {
	x.title("No password, or forgotten?")
	return words(
		"Ask an administrator of this server for a link with which you choose a password. It works once and for three days.",
		"Administrators make one with: tenon admin user link USERNAME",
	), nil
}

// getConfirmation says what to do about an address that is not confirmed.
func (x *visit) getConfirmation() (templ.Component, error) {
	x.title("Confirm an email address")
	return words("This server sends no mail about accounts. Ask an administrator to confirm your address."), nil
}

// secretAddress is the policy of pages whose address has a secret: no other page learns it.
// Without any referrer, browsers would send the form with the origin "null", that is refused.
const secretAddress = "strict-origin"

// getChoose shows the form of a link. The address has its secret.
func (x *visit) getChoose() (templ.Component, error) {
	x.w.Header().Set("Referrer-Policy", secretAddress)
	return x.choosePage(x.r.URL.Query().Get("reset_password_token"))
}

func (x *visit) choosePage(key string) (templ.Component, error) {
	u, err := x.Accounts.LinkedUser(x.r.Context(), key)
	if errs.Is(err, errs.NotFound) {
		x.status, x.sheet.Errors = http.StatusNotFound, nil
		x.title("This link does not work")
		return words("It was used already, is too old, or another one was made since. Ask an administrator for a new one."), nil
	}
	if err != nil {
		return nil, err
	}
	x.bind()
	x.title("Choose a password")
	x.sheet.Return = at.Home()
	return choosePassword(&x.sheet, key, u.Username), nil
}

func (x *visit) postChoose() (templ.Component, error) {
	x.w.Header().Set("Referrer-Policy", secretAddress)
	key := x.field("reset_password_token")
	err := x.twice()
	if err == nil {
		err = x.Accounts.UseLink(x.r.Context(), key, x.raw("password"), httpkit.Address(x.r))
	}
	switch {
	case err == nil:
		x.SignOn.Sessions.Set(x.w, httpkit.SessionCookie, "")
		return x.goTo(withNotice(at.SignIn(""), "password_changed"))
	case errs.Is(err, errs.NotFound), x.wrong(err):
		return x.choosePage(key)
	}
	return nil, err
}

// twice refuses a new password that was not typed the same twice.
func (x *visit) twice() error {
	var f errs.Fields
	f.Check(x.raw("password") == x.raw("confirmation"), "password", "is not the same twice")
	return f.Err()
}

func (x *visit) getExpired() (templ.Component, error) {
	x.bind()
	x.title("Change your password")
	return changePassword(&x.sheet, at.ExpiredPassword(), "", true), nil
}

func (x *visit) postExpired() (templ.Component, error) {
	login := x.field("login")
	return x.replacePassword(login, func() (templ.Component, error) {
		x.bind()
		x.title("Change your password")
		return changePassword(&x.sheet, at.ExpiredPassword(), login, true), nil
	})
}

func (x *visit) getPassword() (templ.Component, error) {
	x.settings("Password")
	return changePassword(&x.sheet, at.ProfilePassword(), "", false), nil
}

func (x *visit) postPassword() (templ.Component, error) {
	return x.replacePassword(x.as.Username, x.getPassword)
}

// replacePassword changes the password of the person who knows the current one; again is the
// page with the form.
func (x *visit) replacePassword(login string, again func() (templ.Component, error)) (templ.Component, error) {
	from := httpkit.Address(x.r)
	if x.banned(from) {
		return again()
	}
	err := x.twice()
	if err == nil {
		err = x.Accounts.ChangePassword(x.r.Context(), login, x.raw("current"), x.raw("password"), from)
	}
	switch {
	case err == nil:
		x.SignOn.Sessions.Set(x.w, httpkit.SessionCookie, "")
		return x.goTo(withNotice(at.SignIn(""), "password_changed"))
	case errs.Is(err, errs.Unauthorized):
		x.Limits.GitFailed(from)
		x.status, x.sheet.Errors = http.StatusUnprocessableEntity, []string{badSignOn}
		return again()
	case errs.Is(err, errs.Forbidden):
		x.status, x.sheet.Errors = http.StatusForbidden, []string{err.Error()}
		return again()
	case x.wrong(err):
		return again()
	}
	return nil, err
}

// settings begins a page about the own account.
func (x *visit) settings(current string) {
	x.title(current)
	x.sheet.Heading = "Settings"
	x.sheet.TabsOf = "Settings"
	x.sheet.Tabs = tabs(current,
		link{"Account", at.Profile()}, link{"Access tokens", at.ProfileTokens()}, link{"SSH keys", at.ProfileKeys()},
		link{"Sessions", at.ProfileSessions()}, link{"Password", at.ProfilePassword()},
		link{"Delete account", at.ProfileDeletion()},
	)
}

func (x *visit) getSessions() (templ.Component, error) {
	list, err := x.Sessions.List(x.r.Context(), x.as)
	if err != nil {
		return nil, err
	}
	x.settings("Sessions")
	return sessions(&x.sheet, list, session.ID(x.as.Session)), nil
}

func (x *visit) postRevokeSession() (templ.Component, error) {
	id, err := x.arg("id")
	if err != nil {
		return nil, err
	}
	if err := x.Sessions.End(x.r.Context(), x.as, session.ID(id)); err != nil {
		return nil, err
	}
	return x.goTo(withNotice(at.ProfileSessions(), "session_revoked"))
}

// agentWords is what a browser calls itself, or a word where it says nothing.
func agentWords(agent string) string {
	if agent == "" {
		return "unknown browser"
	}
	return agent
}

// scopeChoice is one scope that the form of a token offers.
type scopeChoice struct {
	Scope authz.Scope
	On    bool
}
