package web

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core"
	"tenon/internal/core/project"
	"tenon/internal/core/release"
)

func (x *visit) releases() *release.Service { return core.Part[*release.Service](x.Services) }

// getReleases lists the releases of a project.
func (x *visit) getReleases() (templ.Component, error) {
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	list, err := x.releases().List(x.r.Context(), x.as, p, release.Filter{Range: x.part()})
	if err != nil {
		return nil, err
	}
	views, err := x.releases().Views(x.r.Context(), x.as, map[project.ID]*project.Project{p.ID: p}, list.Items)
	if err != nil {
		return nil, err
	}
	x.title("Releases")
	x.sheet.API += "/releases"
	older, newer := around(x, &list)
	return releaseList(p.FullPath, views, older, newer), nil
}

// releasePath returns the tag that the path names, and what follows it. A slash in a tag is escaped.
func (x *visit) releasePath() (tag string, rest []string, err error) {
	_, path, _ := strings.Cut(strings.TrimSuffix(x.r.URL.EscapedPath(), "/"), "/-/releases/")
	for i, part := range strings.Split(path, "/") {
		part, err := url.PathUnescape(part)
		if err != nil {
			return "", nil, errs.Missing("")
		}
		if i == 0 {
			tag = part
			continue
		}
		rest = append(rest, part)
	}
	return tag, rest, nil
}

// getRelease shows what a path below a release leads to.
func (x *visit) getRelease() (templ.Component, error) {
	tag, rest, err := x.releasePath()
	if err != nil {
		return nil, err
	}
	switch {
	case len(rest) == 0:
		return x.releasePage(tag)
	case tag == "permalink" && rest[0] == "latest":
		return x.getLatest(rest[1:])
	case len(rest) > 1 && rest[0] == "downloads":
		return x.getAsset(tag, strings.Join(rest[1:], "/"))
	case len(rest) == 1 && rest[0] == "edit":
		return x.getReleaseForm(tag)
	case len(rest) == 2 && rest[0] == "evidences":
		return x.getEvidence(tag, rest[1])
	}
	return nil, errs.Missing("")
}

// releasePage shows a release.
func (x *visit) releasePage(tag string) (templ.Component, error) {
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	r, err := x.releases().Find(x.r.Context(), x.as, p, tag)
	if err != nil {
		return nil, err
	}
	v, err := x.releases().View(x.r.Context(), x.as, p, r)
	if err != nil {
		return nil, err
	}
	x.title(v.Name)
	if v.Announced {
		x.sheet.Badge = "upcoming"
	}
	x.sheet.API += "/releases/" + url.PathEscape(tag)
	text, err := x.text(ofProject(p), v.Description)
	if err != nil {
		return nil, err
	}
	return releasePage(p, v, text), nil
}

// getLatest leads to the latest release, or to something below it.
func (x *visit) getLatest(below []string) (templ.Component, error) {
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	r, err := x.releases().Latest(x.r.Context(), x.as, p)
	if err != nil {
		return nil, err
	}
	to := at.Release(p.FullPath, r.Tag)
	for _, part := range below {
		to += "/" + url.PathEscape(part)
	}
	return x.redirect(http.StatusFound, to)
}

// assetOf is where a link of a release leads: to its path below the downloads, which leads on, or to its URL.
func assetOf(v *release.View, l *release.Link) string {
	if l.Path != nil {
		return at.ReleaseDownload(v.Project.FullPath, v.Tag, *l.Path)
	}
	return l.URL
}

// getAsset leads to what a link of a release leads to.
func (x *visit) getAsset(tag, path string) (templ.Component, error) {
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	l, err := x.releases().Download(x.r.Context(), x.as, p, tag, path)
	if err != nil {
		return nil, err
	}
	return x.redirect(http.StatusFound, l.URL)
}

// getEvidence sends evidence of a release as it was collected.
func (x *visit) getEvidence(tag, file string) (templ.Component, error) {
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(strings.TrimSuffix(file, ".json"), 10, 64)
	if err != nil || !strings.HasSuffix(file, ".json") {
		return nil, errs.Missing("")
	}
	content, err := x.releases().Evidence(x.r.Context(), x.as, p, tag, release.EvidenceID(id))
	if err != nil {
		return nil, err
	}
	x.headers("application/json", "inline")
	http.ServeContent(x.w, x.r, "", time.Time{}, bytes.NewReader(content))
	return nil, nil
}

// releaseForm is what is in the form of a release.
type releaseForm struct{ Tag, Name, Description string }

// getReleaseForm shows the form of a release to those who may change it.
func (x *visit) getReleaseForm(tag string) (templ.Component, error) {
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	r, err := x.releases().Changeable(x.r.Context(), x.as, p, tag)
	if err != nil {
		return nil, err
	}
	f := releaseForm{Tag: r.Tag, Name: r.Name}
	if r.Description != nil {
		f.Description = *r.Description
	}
	return x.releaseFormPage(p, f), nil
}

func (x *visit) releaseFormPage(p *project.Project, f releaseForm) templ.Component {
	x.title("Edit release " + f.Tag)
	x.sheet.API += "/releases/" + url.PathEscape(f.Tag)
	if x.as.Session == 0 {
		return signFirst(x.here(), "to edit the release")
	}
	return editRelease(&x.sheet, p.FullPath, f)
}

// postRelease changes a release.
func (x *visit) postRelease() (templ.Component, error) {
	tag, rest, err := x.releasePath()
	if err != nil {
		return nil, err
	}
	if len(rest) != 1 || rest[0] != "edit" {
		return nil, errs.Missing("")
	}
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	f := releaseForm{tag, x.field("name"), strings.ReplaceAll(x.field("description"), "\r\n", "\n")}
	_, err = x.releases().Update(x.r.Context(), x.as, p, tag, release.Changes{Name: &f.Name, Description: &f.Description})
	switch {
	case err == nil:
		return x.goTo(at.Release(p.FullPath, tag))
	case x.wrong(err):
		return x.releaseFormPage(p, f), nil
	}
	return nil, err
}
