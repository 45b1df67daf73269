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
	"tenon/internal/core/release"
)

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
	case len(rest) > 1 && rest[0] == "downloads":
		return x.getAsset(tag, strings.Join(rest[1:], "/"))
	case len(rest) == 2 && rest[0] == "evidences":
		return x.getEvidence(tag, rest[1])
	}
	return nil, errs.Missing("")
}

// getAsset leads to what a link of a release leads to.
func (x *visit) getAsset(tag, path string) (templ.Component, error) {
	p, err := x.project("Releases")
	if err != nil {
		return nil, err
	}
	l, err := core.Part[*release.Service](x.Services).Download(x.r.Context(), x.as, p, tag, path)
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
	content, err := core.Part[*release.Service](x.Services).Evidence(x.r.Context(), x.as, p, tag, release.EvidenceID(id))
	if err != nil {
		return nil, err
	}
	x.headers("application/json", "inline")
	http.ServeContent(x.w, x.r, "", time.Time{}, bytes.NewReader(content))
	return nil, nil
}
