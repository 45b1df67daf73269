// Package release holds the releases of projects: what a project has published under a tag.
package release

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
)

// ID identifies a release among all.
type ID int64

// LinkID identifies a link of a release.
type LinkID int64

const (
	maxName        = 255
	maxDescription = 1_048_576
	maxURL         = 255
	maxPath        = 128
	maxLinks       = 200 // of one release
	maxMilestones  = 100 // of one release
)

// Release is what a project has published under a tag.
type Release struct {
	ID          ID            `db:"id"`
	ProjectID   project.ID    `db:"project_id"`
	Tag         string        `db:"tag_name"`
	Name        string        `db:"name"`
	Description *string       `db:"description"`
	AuthorID    *authz.UserID `db:"author_id"`
	SHA         *string       `db:"sha"`                // of the commit that the tag named; nil where that is not known
	Pending     *string       `db:"pending" change:"-"` // object that the tag is about to name; nil once it does
	ReleasedAt  db.Time       `db:"released_at"`        // may be later than now
	CreatedAt   db.Time       `db:"created_at"`
	UpdatedAt   db.Time       `db:"updated_at"`
}

// About names it for events.
func (r Release) About() change.Subject {
	return change.Subject{Type: "Release", ID: int64(r.ID), Title: r.Tag}
}

// Upcoming reports whether the release is announced for later than a time.
func (r *Release) Upcoming(now time.Time) bool { return r.ReleasedAt.After(now) }

// Historical reports whether the release was there before it was created.
func (r *Release) Historical() bool { return r.ReleasedAt.Before(r.CreatedAt.Time) }

// The types of links.
const (
	LinkOther   = "other"
	LinkRunbook = "runbook"
	LinkImage   = "image"
	LinkPackage = "package"
)

// SourceFormats are those of archives of the source code.
var SourceFormats = []string{"zip", "tar.gz", "tar.bz2", "tar"}

// Link is a link of a release to a file or page elsewhere.
type Link struct {
	ID        LinkID  `db:"id"`
	ReleaseID ID      `db:"release_id"`
	Name      string  `db:"name"`
	URL       string  `db:"url"`
	Path      *string `db:"filepath"` // below the downloads of the release, with a slash before it; nil for none
	Type      string  `db:"link_type"`
}

// linkRow is a link as it is stored. The times are written and moved to other servers; nothing that shows links tells them.
type linkRow struct {
	Link
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// The events of a release.
type (
	// Created says that a release and its tag are there.
	Created struct{ change.Of[Release] }

	// Updated says that a release was changed.
	Updated struct{ change.Of[Release] }

	// Deleted says that a release was deleted. Its tag stays.
	Deleted struct{ change.Of[Release] }
)

// Audit is what the audit trail records of it.
func (Created) Audit() []change.Entry {
	return change.Record("release_created", "Created Release {title}")
}

// Audit is what the audit trail records of it.
func (Updated) Audit() []change.Entry {
	return change.Record("release_updated", "Updated Release {title}")
}

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("release_deleted", "Deleted Release {title}")
}

// LinkInput is what a new link is made of.
type LinkInput struct {
	Name, URL string
	Path      *string // below the downloads of the release; nil for none
	Type      string  // "" is other
}

// LinkChanges are those of UpdateLink; nil leaves alone.
type LinkChanges struct {
	Name *string `db:"name"`
	URL  *string `db:"url"`
	Path *string `db:"filepath" empty:"null"`
	Type *string `db:"link_type"`
}

// Input is what a new release is made of.
type Input struct {
	Tag         string
	Ref         string // what a new tag is created from; "" where the tag is there
	TagMessage  string // of a new tag; "" creates a lightweight tag
	Name        string // "" is the tag
	Description *string
	ReleasedAt  *time.Time // nil is now
	Milestones  Milestones
	Links       []LinkInput
}

// Milestones names milestones of a project and the groups above it by titles or by ids, not by both. nil leaves those of a release alone.
type Milestones struct {
	Titles []string
	IDs    []milestone.ID
}

func (m Milestones) none() bool { return m.Titles == nil && m.IDs == nil }

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Name        *string
	Description *string
	ReleasedAt  *time.Time
	Milestones  Milestones
}

// Filter selects releases; the zero value selects all, those released last first.
type Filter struct {
	OrderBy string // released_at or created_at; "" is released_at
	Asc     bool

	UpdatedAfter, UpdatedBefore *time.Time // inclusive

	page.Range
}

// invalid is the error of what breaks rules, all of it in one sentence.
func invalid(bad errs.Fields) error {
	if len(bad) == 0 {
		return nil
	}
	return errs.Plain("Validation failed: " + strings.Join(sentences(bad), ", "))
}

// sentences are what is wrong, each with the name of its field.
func sentences(bad errs.Fields) []string {
	var out []string
	for _, f := range bad {
		name := strings.ReplaceAll(f.Name, "_", " ")
		for _, m := range f.Messages {
			out = append(out, strings.ToUpper(name[:1])+name[1:]+" "+m)
		}
	}
	return out
}

// check collects what is wrong with a release as it will be stored.
func (r *Release) check() errs.Fields {
	var bad errs.Fields
	bad.Check(strings.TrimSpace(r.Tag) != "", "tag", "can't be blank")
	bad.Length("name", &r.Name, maxName)
	bad.Length("description", r.Description, maxDescription)
	return bad
}

var pathForm = pattern.New(`\A/([-._~A-Za-z0-9]+/?)*[^/]\z`)

// check collects what is wrong with a link as it will be stored.
func (l *Link) check() errs.Fields {
	var bad errs.Fields
	bad.Check(strings.TrimSpace(l.Name) != "", "name", "can't be blank")
	bad.Length("name", &l.Name, maxName)
	u, err := url.Parse(l.URL)
	switch {
	case l.URL == "":
		bad.Add("url", "can't be blank")
	case err != nil || u.Host == "" || strings.ContainsAny(l.URL, "\r\n"):
		bad.Add("url", "is blocked: URI is invalid")
	case !slices.Contains([]string{"http", "https", "ftp"}, u.Scheme):
		bad.Add("url", "is blocked: Only allowed schemes are http, https, ftp")
	}
	bad.Length("url", &l.URL, maxURL)
	if l.Path != nil {
		bad.Check(pathForm().MatchString(*l.Path), "filepath", "is in an invalid format")
		bad.Check(len(*l.Path) <= maxPath, "filepath", "is too long (maximum is 128 characters)")
	}
	bad.Check(slices.Contains([]string{LinkOther, LinkRunbook, LinkImage, LinkPackage}, l.Type), "link_type", "is not included in the list")
	return bad
}
