package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// moved redirects to the same page at the present path of a project or group that was renamed or transferred. It
// returns the error if that is not the reason, and for requests that do not read.
func (x *visit) moved(err error) error {
	old := strings.TrimSuffix(cmp.Or(x.args["project"], x.args["group"], x.args["place"]), ".git")
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead || old == "" {
		return err
	}
	now, err := x.pathNow(x.r.Context(), x.as, old, x.args["project"] == "", err)
	if err != nil {
		return err
	}
	to, ok := movedTo(x.r.URL, old, now)
	if !ok {
		return errs.Missing("")
	}
	http.Redirect(x.w, x.r, to, http.StatusMovedPermanently)
	x.sent = true
	return nil
}

// pathNow returns the present path of what had a path before. Err is why it was not found there: it is returned unless
// the actor may read a project, or with group a group, that has moved from there.
func (h *Handler) pathNow(ctx context.Context, as authz.Actor, old string, group bool, err error) (string, error) {
	if to, ok := errors.AsType[*project.Moved](err); ok {
		return to.Path, nil
	}
	if !group || !errs.Is(err, errs.NotFound) {
		return "", err
	}
	now, look := h.Namespaces.Moved(ctx, as, old)
	if look != nil && errs.KindOf(look) != errs.Internal {
		return "", err
	}
	return now, look
}

// movedTo replaces the path of a project or group in the address of a page.
func movedTo(page *url.URL, old, now string) (string, bool) {
	path := page.EscapedPath()
	for _, before := range []string{"/", "/groups/"} {
		rest, ok := strings.CutPrefix(path, before+old)
		if !ok { // with escapes that it does not need
			rest, ok = strings.CutPrefix(page.Path, before+old)
			rest = (&url.URL{Path: rest}).EscapedPath()
		}
		if !ok {
			continue
		}
		to := before + now + rest
		if page.RawQuery != "" {
			to += "?" + page.RawQuery
		}
		return to, true
	}
	return "", false
}
