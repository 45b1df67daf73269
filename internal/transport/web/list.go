package web

import (
	"context"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/httpkit"
)

// perPage is how many rows a list shows, and mostPages how far it leads.
const (
	perPage   = 20
	mostPages = 2000
)

// part is the part of a list that the address asks for.
func (x *visit) part() page.Range {
	return page.Range{Limit: perPage, Offset: (x.number() - 1) * perPage, Uncounted: true}
}

// countedPart is part of a list whose length the page says.
func (x *visit) countedPart() page.Range {
	part := x.part()
	part.Uncounted = false
	return part
}

func (x *visit) number() int {
	n, err := strconv.Atoi(x.query("page"))
	if err != nil {
		return 1
	}
	return min(max(n, 1), mostPages)
}

// query returns a parameter of the address.
func (x *visit) query(name string) string { return textOf(x.r.URL.Query().Get(name)) }

// around returns the addresses of the pages after and before one of a list.
func around[T any](x *visit, list *page.Page[T]) (older, newer string) {
	n := x.number()
	if list.HasNext || list.Total > n*perPage {
		older = x.numbered(n + 1)
	}
	if n > 1 {
		newer = x.numbered(n - 1)
	}
	return older, newer
}

func (x *visit) numbered(n int) string {
	query := maps.Clone(x.r.URL.Query())
	for _, secret := range httpkit.SecretParams {
		query.Del(secret)
	}
	query.Del("notice")
	query.Set("page", strconv.Itoa(n))
	return x.r.URL.EscapedPath() + "?" + query.Encode()
}

// userID is the type of the ids that templates name.
type userID = authz.UserID

// people are the users that a page names.
type people map[userID]*account.Summary

// name is how a user is called, also one who is gone.
func (p people) name(id userID) string {
	return named(p[id])
}

// unknown stands for a user who is gone.
const unknown = "Unknown user"

// named is the name of a user, nil for one who is gone.
func named(u *account.Summary) string {
	if u != nil {
		return u.Name
	}
	return unknown
}

// people reads the users that a page names, in one statement.
func (h *Handler) people(ctx context.Context, ids ...userID) (people, error) {
	slices.Sort(ids)
	found, err := h.Accounts.ByIDs(ctx, slices.Compact(ids))
	return found, err
}

// firstLine is the beginning of a text, in one line.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// counted is a number of things.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(n, 10) + " " + thing + "s"
}

// plainText is a text as a browser shows it in lines.
func plainText(text string) string { return "<pre>" + html.EscapeString(text) + "</pre>" }
