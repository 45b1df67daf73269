package api

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/transport/httpkit"
)

const (
	defaultPerPage = 20
	maxPerPage     = 100
	maxOffset      = 50_000
)

// Page is embedded by the parameters of a list that is read page by page. After
// decoding, Number is 1 or more and PerPage is between 1 and 100.
type Page struct {
	Number  int    `param:"page" default:"1" doc:"Page to return, from 1"`
	PerPage int    `param:"per_page" default:"20" not:"0" doc:"Items per page, 100 at most"`
	Mode    string `param:"pagination" doc:"keyset, where the list supports it"`
	Cursor  string `param:"cursor" doc:"Where the page begins, with pagination=keyset; from the link to the next page"`
}

func (p *Page) settle() {
	p.Number = max(p.Number, 1)
	switch {
	case p.PerPage < 1:
		p.PerPage = defaultPerPage
	case p.PerPage > maxPerPage:
		p.PerPage = maxPerPage
	}
}

// offset is how many rows to pass over. Absurd page numbers give the largest
// offset, not a small or negative one.
func (p Page) offset() int {
	if p.Number-1 > math.MaxInt32/p.PerPage {
		return math.MaxInt32
	}
	return (p.Number - 1) * p.PerPage
}

// Keyset reports whether the client asked for keyset pagination.
func (p Page) Keyset() bool { return p.Mode == "keyset" }

// CheckOffset refuses pages too far back, on the lists of projects, groups and
// users that grow without bound; thing is "Project" and so on.
func (p Page) CheckOffset(thing string) error {
	if p.Keyset() || p.offset()+p.PerPage <= maxOffset {
		return nil
	}
	return &Refusal{
		Status: http.StatusMethodNotAllowed,
		Text: "Offset pagination has a maximum allowed offset of " + strconv.Itoa(maxOffset) + " for requests that return objects of type " +
			thing + ". Remaining records can be retrieved using keyset pagination.",
	}
}

// NoKeyset is the answer where keyset pagination is asked of a list or an order
// that does not have it.
func NoKeyset() error {
	return &Refusal{
		Status: http.StatusMethodNotAllowed,
		Text:   "Keyset pagination is not yet available for this type of request",
	}
}

// refusal gives the answer to a Range that a list refuses; other errors stay as they are.
func refusal(err error) error {
	switch {
	case errors.Is(err, page.ErrOrder):
		return NoKeyset()
	case errors.Is(err, page.ErrCursor):
		return &Refusal{Status: http.StatusBadRequest, Text: page.ErrCursor.Error()}
	}
	return err
}

// Range is the part of a list of the core that the client asks for.
func (p Page) Range() page.Range {
	return page.Range{Limit: p.PerPage, Offset: p.offset(), Keyset: p.Keyset(), Cursor: p.Cursor}
}

// List is one page of a list with its headers. Make it with Listed.
type List[T any] struct {
	Items []T
	about listing
}

// listing is what a List says about its place. It has no type parameter, so that the code for it is compiled once.
type listing struct {
	total  int // -1 where it was not counted
	keyset bool
	more   bool              // a page follows
	next   map[string]string // parameters that lead there, of keyset lists
	cursor [2]string
	header [2]string // one more than lists have; "" for none
}

// With has the answer carry a header.
func (l List[T]) With(name, value string) List[T] {
	l.about.header = [2]string{name, value}
	return l
}

// Listed is a page of a list of the core, with its items as the client sees them.
func Listed[T, E any](p page.Page[T], items []E) List[E] {
	l := listing{total: p.Total, keyset: p.Keyset, more: p.HasNext}
	if p.Keyset {
		l.cursor = [2]string{p.Next(), p.Prev()}
		if l.more {
			l.next = map[string]string{"cursor": l.cursor[0]}
		}
	}
	return List[E]{items, l}
}

// ListOf is Listed with each item put into its form for clients.
func ListOf[T, E any](p page.Page[T], form func(item *T) E) List[E] {
	return Listed(p, page.Map(p, form).Items)
}

// LedBy has the link to the next page carry this parameter in place of the cursor.
func (l List[T]) LedBy(name, value string) List[T] {
	l.about.cursor = [2]string{}
	if l.about.next != nil {
		l.about.next = map[string]string{name: value}
	}
	return l
}

func (l List[T]) render(x *exchange, params any) error {
	return l.about.render(x, params, l.Items, len(l.Items))
}

// render answers with n items.
func (l *listing) render(x *exchange, params, items any, n int) error {
	if l.header[0] != "" {
		x.w.Header().Set(l.header[0], l.header[1])
	}
	at := Page{Number: 1, PerPage: defaultPerPage}
	if p, ok := params.(paged); ok {
		at = p.page()
	}
	if !l.keyset {
		x.offsetHeaders(at, l.span(at, n))
		return x.json(x.route.status, items)
	}
	h := x.w.Header()
	if l.next != nil {
		h.Set("Link", "<"+x.linker(l.next).to(l.next)+`>; rel="next"`)
	}
	for i, name := range []string{"X-Next-Cursor", "X-Prev-Cursor"} {
		if l.cursor[i] != "" {
			h.Set(name, l.cursor[i])
		}
	}
	return x.json(x.route.status, items)
}

// span says where a page lies in its list.
type span struct {
	counted        bool // total and pages are in the headers
	total, pages   int
	follows, leads bool // there is a next page, a previous one
}

func (l *listing) span(at Page, n int) span {
	s := span{follows: l.more, leads: at.Number > 1}
	if l.total >= 0 {
		s.counted, s.total = l.total <= page.MaxCounted, l.total
		s.pages = max(1, (l.total+at.PerPage-1)/at.PerPage)
		s.follows = at.Number < s.pages
		s.leads = s.leads && at.Number <= s.pages
		if !s.counted { // the total may have been counted no further than that
			s.follows = s.follows || n == at.PerPage
			s.leads = s.leads || at.Number > 1 && n > 0
		}
	}
	return s
}

// paged is a parameter struct that embeds Page.
type paged interface{ page() Page }

func (p Page) page() Page { return p }

// offsetHeaders sets the headers of a page.
func (x *exchange) offsetHeaders(page Page, s span) {
	h := x.w.Header()
	per := strconv.Itoa(page.PerPage)
	fixed := map[string]string{"per_page": per, "page": ""}
	links := make([]string, 0, 4)
	base := x.linker(fixed)
	add := func(number int, rel string) {
		fixed["page"] = strconv.Itoa(number)
		links = append(links, "<"+base.to(fixed)+`>; rel="`+rel+`"`)
	}
	next, prev := "", ""
	if s.leads {
		prev = strconv.Itoa(page.Number - 1)
		add(page.Number-1, "prev")
	}
	if s.follows {
		next = strconv.Itoa(page.Number + 1)
		add(page.Number+1, "next")
	}
	add(1, "first")
	if s.counted {
		add(s.pages, "last")
		h["X-Total"] = []string{strconv.Itoa(s.total)}
		h["X-Total-Pages"] = []string{strconv.Itoa(s.pages)}
	}
	h["X-Per-Page"] = []string{per}
	h["X-Page"] = []string{strconv.Itoa(page.Number)}
	h["X-Next-Page"] = []string{next}
	h["X-Prev-Page"] = []string{prev}
	h["Link"] = []string{strings.Join(links, ", ")}
}

// ShortPage is Page for lists with 20 items on a page at most.
type ShortPage struct {
	Number  int    `param:"page" default:"1" doc:"Page to return, from 1"`
	PerPage int    `param:"per_page" default:"20" not:"0" doc:"Items per page, 20 at most"`
	Mode    string `param:"pagination" doc:"keyset, where the list supports it"`
	Cursor  string `param:"cursor" doc:"Where the page begins, with pagination=keyset; from the link to the next page"`
}

func (p ShortPage) page() Page { return Page(p) }

func (p *ShortPage) settle() {
	(*Page)(p).settle()
	p.PerPage = min(p.PerPage, defaultPerPage)
}

// Range is the part of a list of the core that the client asks for.
func (p ShortPage) Range() page.Range { return Page(p).Range() }

// LegacyPage is Page for the list that names its other kinds of pagination as well.
type LegacyPage struct {
	Number  int    `param:"page" default:"1" doc:"Page to return, from 1"`
	PerPage int    `param:"per_page" default:"20" not:"0" doc:"Items per page, 100 at most"`
	Mode    string `param:"pagination" default:"legacy" values:"legacy,keyset,none" doc:"legacy, keyset, or none for all entries at once, with recursive"`
	Cursor  string `param:"cursor" doc:"The same as page_token"`
}

func (p LegacyPage) page() Page { return Page(p) }

func (p *LegacyPage) settle() { (*Page)(p).settle() }

// Range is the part of a list of the core that the client asks for.
func (p LegacyPage) Range() page.Range { return Page(p).Range() }

// linker makes the links of one answer.
type linker struct {
	base  string
	pairs []string
}

// linker takes the absolute URL of the request with all its parameters, those
// captured by the path and those with declared defaults too, but for the ones that
// each link sets itself.
func (x *exchange) linker(without map[string]string) linker {
	l := linker{
		base:  x.kit.config.ExternalURL + x.r.URL.EscapedPath() + "?",
		pairs: make([]string, 0, len(x.params.keys)+4),
	}
	for i, key := range x.params.keys {
		if _, ok := without[key]; !ok && !slices.Contains(httpkit.SecretParams, key) {
			l.pairs = appendQuery(l.pairs, key, x.params.vals[i])
		}
	}
	for i := range x.route.plan.fields {
		f := &x.route.plan.fields[i]
		if f.fallback == nil {
			continue
		}
		_, set := without[f.name]
		if v, sent := x.params.get(f.name); !set && (!sent || v == nil) {
			l.pairs = appendQuery(l.pairs, f.name, f.fallback)
		}
	}
	return l
}

// to returns the link with these parameters, all of them sorted.
func (l linker) to(params map[string]string) string {
	pairs := append(make([]string, 0, len(l.pairs)+len(params)), l.pairs...)
	for key, value := range params {
		pairs = appendQuery(pairs, key, value)
	}
	slices.Sort(pairs)
	return l.base + strings.Join(pairs, "&")
}

// appendQuery writes a value as it would stand in a query.
func appendQuery(pairs []string, key string, v any) []string {
	switch v := v.(type) {
	case nil:
		return pairs
	case *list:
		for _, item := range v.items {
			pairs = appendQuery(pairs, key+"[]", item)
		}
		return pairs
	case *object:
		for i, k := range v.keys {
			pairs = appendQuery(pairs, key+"["+k+"]", v.vals[i])
		}
		return pairs
	}
	if s, ok := text(v); ok {
		pairs = append(pairs, url.QueryEscape(key)+"="+url.QueryEscape(s))
	}
	return pairs
}
