package web

import (
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/reference"
	"tenon/internal/core/wiki"
)

// wikiView is the wiki that a page is of.
type wikiView struct {
	place authz.Place
	URL   string   // of its pages
	Clone []string // where git reaches it
}

// sidebar is how many pages stand beside a page.
const sidebar = 100

// wiki begins a page of the wiki of what the path names.
func (x *visit) wiki() (*wikiView, error) {
	path, out := "", &wikiView{}
	if x.args["group"] != "" {
		g, err := x.group("Wiki")
		if err != nil {
			return nil, err
		}
		path, out.place = g.FullPath, g.Place()
	} else {
		p, err := x.project("Wiki")
		if err != nil {
			return nil, err
		}
		path, out.place = p.FullPath, p.Place()
	}
	x.sheet.API += "/wikis"
	out.URL = wiki.URL(&at, out.place)
	out.Clone = []string{x.URLs.HTTPRepository(path + ".wiki")}
	if x.URLs.HasSSH() {
		out.Clone = append(out.Clone, x.URLs.SSHRepository(path+".wiki"))
	}
	return out, nil
}

// homePage is the slug of the page that a wiki begins with.
const homePage = "home"

func (x *visit) getWiki() (templ.Component, error) {
	w, err := x.wiki()
	if err != nil {
		return nil, err
	}
	p, all, err := x.Wikis.FindAmong(x.r.Context(), x.as, w.place, homePage, "")
	if errs.Is(err, errs.NotFound) {
		return x.wikiPages(w)
	}
	if err != nil {
		return nil, err
	}
	return x.wikiPage(w, p, all, "")
}

// getWikiPage is a page by its slug; what is no page is the history of one, the list of all, or
// a file.
func (x *visit) getWikiPage() (templ.Component, error) {
	w, err := x.wiki()
	if err != nil {
		return nil, err
	}
	slug, version, ctx := x.args["rest"], x.query("version_id"), x.r.Context()
	p, all, err := x.Wikis.FindAmong(ctx, x.as, w.place, slug, version)
	if err == nil {
		return x.wikiPage(w, p, all, version)
	}
	if !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	if slug == "pages" {
		return x.wikiPages(w)
	}
	if of, ok := strings.CutSuffix(slug, "/history"); ok {
		body, err := x.wikiHistory(w, of)
		if !errs.Is(err, errs.NotFound) {
			return body, err
		}
	}
	file, ok := reference.CleanPath(slug)
	if !ok || file != slug {
		return nil, err
	}
	got, err := x.Wikis.Open(ctx, x.as, w.place, version, file)
	if err != nil {
		return nil, err
	}
	return x.sendRaw(0, w.URL+"/"+file, got.Blob)
}

// wikiPage is one page beside the names of all. version is that of the address.
func (x *visit) wikiPage(w *wikiView, p *wiki.Page, all []wiki.Page, version string) (templ.Component, error) {
	x.title(p.Title)
	if title, ok := p.Front["title"].(string); ok && title != "" {
		x.title(shownTitle(title))
	}
	x.sheet.API += "/" + strings.ReplaceAll(p.Slug, "/", "%2F")
	html := plainText("The page is too large to be shown here.")
	if len(p.Content) <= maxShown {
		var err error
		if html, err = x.Wikis.Rendered(x.r.Context(), x.as, &at, w.place, p); err != nil {
			return nil, err
		}
	}
	html = x.onPage(html, nil)
	return wikiPage(w, p, html, version, all[:min(len(all), sidebar)], len(all)), nil
}

// wikiPages lists all pages.
func (x *visit) wikiPages(w *wikiView) (templ.Component, error) {
	list, err := x.Wikis.Index(x.r.Context(), x.as, w.place, x.part())
	if err != nil {
		return nil, err
	}
	x.title("Wiki")
	older, newer := around(x, &list)
	return wikiList(w, list.Items, older, newer), nil
}

func (x *visit) wikiHistory(w *wikiView, slug string) (templ.Component, error) {
	list, err := x.Wikis.History(x.r.Context(), x.as, w.place, slug, x.part())
	if err != nil {
		return nil, err
	}
	x.title("History of " + slug)
	older, newer := around(x, &list)
	return wikiHistory(w, slug, list.Items, older, newer), nil
}
