package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/transport/httpkit"
)

// visit is one request for a page.
type visit struct {
	*Handler
	w      http.ResponseWriter
	r      *http.Request
	as     authz.Actor
	args   map[string]string // what the path has for the braces of its route
	secret string            // in the cookie that forms are bound to, "" for none
	status int               // of the answer, 0 is 200
	sent   bool              // the answer, without a body of ours
	sheet  sheet
	in     authz.Subject // the project or group of the page

	formatted int // bytes of Markdown that the page formatted so far
}

// arg returns a number that the path has. It is NotFound where it is none.
func (x *visit) arg(name string) (int64, error) {
	n, err := strconv.ParseInt(x.args[name], 10, 64)
	if err != nil || n <= 0 {
		return 0, errs.Missing("")
	}
	return n, nil
}

// title names the page.
func (x *visit) title(text string) { x.sheet.Title, x.sheet.Heading = text, text }

// goTo sends the browser to another page after what it sent was done.
func (x *visit) goTo(path string) (templ.Component, error) {
	return x.redirect(http.StatusSeeOther, path)
}

// redirect answers with a status that leads to another address.
func (x *visit) redirect(status int, to string) (templ.Component, error) {
	x.w.Header().Set("Location", to)
	x.w.WriteHeader(status)
	x.sent = true
	return nil, nil
}

// withNotice adds to a path which notice the page there begins with.
func withNotice(path, key string) string { return path + "?" + url.Values{"notice": {key}}.Encode() }

// notices are what pages may begin with, by what is in the address.
var notices = map[string]string{
	"signed_out":       "You are signed out.",
	"password_changed": "Your password is changed, and all your sessions ended. Sign in with the new password.",
	"token_revoked":    "The token is revoked.",
	"key_added":        "The key is added.",
	"key_deleted":      "The key is deleted.",
	"session_revoked":  "The session is ended.",
	"created":          "Created.",
	"profile_changed":  "Your profile is updated.",
	"variable_created": "The variable is added.",
	"hook_tested":      "The webhook was called. Its newest delivery says what the receiver answered.",
	"hook_resent":      "The delivery was sent again. The newest one says what the receiver answered.",
	"account_deleted":  "Your account is deleted.",
}

// form reads the fields of a form that is a page's own: Forbidden where it does not come
// from a page of this server and browser, BadRequest where it cannot be read.
func (x *visit) form(r *route) error {
	if err := x.r.ParseForm(); err != nil {
		if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return errs.Bad(fmt.Sprintf("The form is longer than %d bytes", tooLong.Limit))
		}
		return errs.Bad("The form cannot be read")
	}
	if !r.signed && !x.SignOn.Sessions.Own(x.r, x.secret, x.raw(tokenField)) {
		return errNotOurs
	}
	return nil
}

// errNotOurs is the answer to forms that do not come from a page that this browser got from
// this server.
var errNotOurs = errors.New("form without the token of its browser")

// field returns a field of the form; bytes that are no text count as an unknown character.
func (x *visit) field(name string) string { return textOf(x.raw(name)) }

// raw returns a field of the form as it came, for passwords.
func (x *visit) raw(name string) string { return x.fields().Get(name) }

// fields are those of the form, and nothing of the address.
func (x *visit) fields() url.Values {
	return x.r.PostForm //nolint:forbidigo // the parsed form of a request that came in, not http.PostForm
}

func textOf(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// bind gives a browser without a session a cookie that forms are bound to.
func (x *visit) bind() {
	if x.secret == "" {
		x.secret = secret.NewToken("")
		x.SignOn.Sessions.Set(x.w, httpkit.VisitCookie, x.secret)
	}
}

// wrong puts what is wrong with a form on its page. It is false for all other errors.
func (x *visit) wrong(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	if !ok || e.Kind != errs.Invalid && e.Kind != errs.Unprocessable && e.Kind != errs.Conflict && e.Kind != errs.BadRequest {
		return false
	}
	x.status = http.StatusUnprocessableEntity
	for _, f := range e.Fields {
		name := strings.ReplaceAll(f.Name, "_", " ")
		for _, m := range f.Messages {
			if f.Name == "base" || name == "" {
				x.sheet.Errors = append(x.sheet.Errors, m)
				continue
			}
			x.sheet.Errors = append(x.sheet.Errors, strings.ToUpper(name[:1])+name[1:]+" "+m)
		}
	}
	x.sheet.Errors = append(x.sheet.Errors, e.List...)
	if len(x.sheet.Errors) == 0 {
		x.sheet.Errors = []string{e.Error()}
	}
	return true
}

// local reports whether a path leads to a page of this server, whatever a browser makes of
// it: it begins with one slash, and neither has a second one anywhere nor anything that
// browsers take for one or leave out.
func local(path string) bool {
	if len(path) > 2048 || !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return false
	}
	u, err := url.Parse(path)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil && !strings.Contains(u.EscapedPath(), "//") && strings.HasPrefix(u.Path, "/") &&
		!strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) && !strings.HasPrefix(u.Path, "//")
}
