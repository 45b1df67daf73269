package web

import (
	"net/http"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/transport/httpkit"
)

func (x *visit) getProfile() (templ.Component, error) {
	u, err := x.Accounts.Find(x.r.Context(), x.as, x.as.UserID)
	if err != nil {
		return nil, err
	}
	return x.profilePage(u, u.Name)
}

// profilePage shows the own account; name is in the form.
func (x *visit) profilePage(u *account.User, name string) (templ.Component, error) {
	views, err := x.Accounts.Views(x.r.Context(), x.as, []*account.User{u}, account.ViewOptions{Own: true})
	if err != nil {
		return nil, err
	}
	x.settings("Account")
	x.sheet.API = x.URLs.API("user")
	f := nameForm{Name: name, Fixed: !x.Accounts.MayRename(x.as)}
	return templ.Join(profile(&x.sheet, &views[0], f), x.guidelines("Avatar", x.Appearance.Current().ProfileImageGuidelines)), nil
}

// nameForm is what is in the form of the own name.
type nameForm struct {
	Name  string
	Fixed bool // only administrators change names
}

func (x *visit) postProfile() (templ.Component, error) {
	name := x.field("name")
	_, err := x.Accounts.Rename(x.r.Context(), x.as, name)
	if err == nil {
		return x.goTo(withNotice(at.Profile(), "profile_changed"))
	}
	if !x.wrong(err) {
		return nil, err
	}
	u, err := x.Accounts.Find(x.r.Context(), x.as, x.as.UserID)
	if err != nil {
		return nil, err
	}
	return x.profilePage(u, name)
}

func (x *visit) getDeletion() (templ.Component, error) {
	x.settings("Delete account")
	if !x.Accounts.MayDeleteOwn() {
		return words("Users do not delete their own account on this server. Ask an administrator."), nil
	}
	return deleteAccount(&x.sheet, x.Settings.Current().DelayUserAccountSelfDeletion), nil
}

// postDeletion deletes the own account. A password that is wrong counts like one at the sign-in.
func (x *visit) postDeletion() (templ.Component, error) {
	from := httpkit.Address(x.r)
	if x.banned(from) {
		return x.getDeletion()
	}
	err := x.Accounts.DeleteOwn(x.r.Context(), x.as, x.raw("current"))
	switch {
	case err == nil:
		x.SignOn.Sessions.Set(x.w, httpkit.SessionCookie, "")
		return x.goTo(withNotice(at.SignIn(""), "account_deleted"))
	case errs.Is(err, errs.Unauthorized):
		x.Limits.GitFailed(from)
		x.status, x.sheet.Errors = http.StatusUnprocessableEntity, []string{badSignOn}
		return x.getDeletion()
	case x.wrong(err):
		return x.getDeletion()
	}
	return nil, err
}
