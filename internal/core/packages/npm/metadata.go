package npm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
)

const (
	maxMetadata = 8 << 20 // bytes of the metadata of a package
	maxVersions = 10_000  // of a package

	latest = "latest" // the tag of what is installed without one
)

var errFull = errs.Plain("The metadata of the package is too large: delete versions of it.")

// metadataRow is the metadata of the packages of a name in a project, as it is served but for the URL of the server.
type metadataRow struct {
	ID            int64      `db:"id"`
	ProjectID     project.ID `db:"project_id"`
	Name          string     `db:"name"`
	Full          string     `db:"full_text"`
	Summary       string     `db:"summary"` // what installers read of it
	FullDigest    string     `db:"full_digest"`
	SummaryDigest string     `db:"summary_digest"`
	UpdatedAt     db.Time    `db:"updated_at"`
}

// Metadata describes the versions of a package.
type Metadata struct {
	Tag  string // for ETag, without quotes
	Text string // JSON; "" where the caller knows the tag
}

// Query asks for the metadata of a package.
type Query struct {
	Name    string
	Summary bool                  // only what installers read
	Known   func(tag string) bool // the caller has the text of this tag already; nil is none
}

// Find returns the metadata of a package. Where several projects have versions of it, those that were published last count.
func (s *Service) Find(ctx context.Context, as authz.Actor, at Where, q Query) (*Metadata, error) {
	projects, err := s.projects(ctx, as, at, q.Name)
	if err != nil {
		return nil, err
	}
	switch len(projects) {
	case 0:
		return nil, errNoPackages
	case 1:
		return s.stored(ctx, projects[0].ID, q)
	}
	m, err := s.merged(ctx, projects, q.Name, rendered)
	if err != nil {
		return nil, err
	}
	full, short := m.texts()
	if q.Summary {
		full = short
	}
	return s.shown(digest(full), q, func() (string, error) { return full, nil })
}

// stored returns the metadata that is kept.
func (s *Service) stored(ctx context.Context, p project.ID, q Query) (*Metadata, error) {
	text, sum := "full_text", "full_digest"
	if q.Summary {
		text, sum = "summary", "summary_digest"
	}
	known, err := db.Get[string](ctx, s.DB, "SELECT m."+sum+" FROM npm_metadata m WHERE m.project_id = ? AND m.name = ?", p, q.Name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errNoPackages
	}
	if err != nil {
		return nil, fmt.Errorf("find npm metadata: %w", err)
	}
	return s.shown(known, q, func() (string, error) {
		text, err := db.Get[string](ctx, s.DB, "SELECT m."+text+" FROM npm_metadata m WHERE m.project_id = ? AND m.name = ? AND m."+sum+" = ?", p, q.Name, known)
		if errors.Is(err, db.ErrNotFound) { // published meanwhile
			return "", errs.New(errs.Unavailable, "")
		}
		return text, errs.Wrap(err, "read npm metadata")
	})
}

// shown returns metadata with a digest, whose text is read where the caller does not know it.
func (s *Service) shown(sum string, q Query, read func() (string, error)) (*Metadata, error) {
	address := sha256.Sum256([]byte(s.URLs.Root()))
	m := &Metadata{Tag: sum[:32] + hex.EncodeToString(address[:4])}
	if q.Known != nil && q.Known(m.Tag) {
		return m, nil
	}
	text, err := read()
	if err != nil {
		return nil, err
	}
	m.Text = strings.ReplaceAll(text, root, s.URLs.Root())
	return m, nil
}

// entry is a version with what the metadata says of it.
type entry struct {
	ID         packages.ID `db:"id"`
	Version    string      `db:"version"`
	CreatedAt  db.Time     `db:"created_at"`
	Manifest   string      `db:"manifest"`
	Summary    string      `db:"summary"`
	Deprecated *string     `db:"deprecated"`
}

// tagged is a tag with its version.
type tagged struct {
	ID        int64       `db:"id"`
	Name      string      `db:"name"`
	PackageID packages.ID `db:"package_id"`
	Version   string      `db:"version"`
}

// described is what metadata is rendered from.
type described struct {
	name     string
	versions []entry  // in the order in which they were published
	tags     []tagged // by name
}

// of returns the condition for the packages of a name in projects.
func of(name string, projects ...project.ID) db.Where {
	var w db.Where
	w.In("k.project_id", projects)
	w.And("k.kind = ?", packages.NPM)
	w.And("k.name = ?", name)
	w.In("k.status", packages.Installable())
	return w
}

// Columns of versions.
const (
	named    = "k.id, k.version, v.deprecated"
	rendered = named + ", k.created_at, v.manifest, v.summary" // all that metadata is rendered from, many MB of it
)

// describe reads columns of the versions of a name in projects, with their tags.
func (s *Service) describe(ctx context.Context, name, columns string, projects ...project.ID) (*described, error) {
	w := of(name, projects...)
	versions, err := db.Select[entry](ctx, s.DB, "SELECT "+columns+`
		FROM packages k JOIN npm_versions v ON v.package_id = k.id`+w.SQL()+" ORDER BY k.id LIMIT ?", append(w.Args(), maxVersions+1)...)
	if err != nil {
		return nil, fmt.Errorf("read npm versions: %w", err)
	}
	tags, err := s.tagsOf(ctx, name, projects...)
	return &described{name, versions, tags}, err
}

func (s *Service) tagsOf(ctx context.Context, name string, projects ...project.ID) ([]tagged, error) {
	w := of(name, projects...)
	tags, err := db.Select[tagged](ctx, s.DB, "SELECT t.id, t.name, t.package_id, k.version FROM packages k JOIN package_tags t ON t.package_id = k.id"+w.SQL()+
		" ORDER BY t.name, t.package_id LIMIT ?", append(w.Args(), maxTags*maxProjects)...)
	return tags, errs.Wrap(err, "read npm tags")
}

// merged describes the packages of a name in several projects: of one version, and of one tag, the newest counts.
func (s *Service) merged(ctx context.Context, projects []*project.Project, name, columns string) (*described, error) {
	ids := make([]project.ID, len(projects))
	for i, p := range projects {
		ids[i] = p.ID
	}
	d, err := s.describe(ctx, name, columns, ids...)
	if err != nil {
		return nil, err
	}
	newest := map[string]packages.ID{}
	for i := range d.versions {
		newest[d.versions[i].Version] = d.versions[i].ID
	}
	d.versions = slices.DeleteFunc(d.versions, func(e entry) bool { return newest[e.Version] != e.ID })
	clear(newest)
	for _, t := range d.tags {
		newest[t.Name] = t.PackageID
	}
	d.tags = slices.DeleteFunc(d.tags, func(t tagged) bool { return newest[t.Name] != t.PackageID })
	if len(d.versions) == 0 {
		return nil, errNoPackages
	}
	return d, nil
}

// render writes the metadata of a name in a project anew, in the transaction of what changed it. The caller has locked the name.
func (s *Service) render(ctx context.Context, p project.ID, name string) error {
	d, err := s.describe(ctx, name, rendered, p)
	if err != nil {
		return err
	}
	if len(d.versions) == 0 {
		_, err := s.DB.Exec(ctx, "DELETE FROM npm_metadata WHERE project_id = ? AND name = ?", p, name)
		return errs.Wrap(err, "delete npm metadata")
	}
	row := metadataRow{ProjectID: p, Name: name, UpdatedAt: db.At(s.Now())}
	row.Full, row.Summary = d.texts()
	if len(row.Full) > maxMetadata || len(d.versions) > maxVersions {
		return errFull
	}
	row.FullDigest, row.SummaryDigest = digest(row.Full), digest(row.Summary)
	n, err := s.DB.Exec(ctx, "UPDATE npm_metadata SET full_text = ?, summary = ?, full_digest = ?, summary_digest = ?, updated_at = ? WHERE project_id = ? AND name = ?",
		row.Full, row.Summary, row.FullDigest, row.SummaryDigest, row.UpdatedAt, p, name)
	if err != nil {
		return fmt.Errorf("write npm metadata: %w", err)
	}
	if n > 0 {
		return nil
	}
	return db.Create(ctx, s.DB, "npm_metadata", &row)
}

// distTags maps tags to versions. What is installed without a tag is the version that was published last, where nobody says otherwise.
func (d *described) distTags() []tagged {
	if len(d.versions) == 0 || slices.ContainsFunc(d.tags, func(t tagged) bool { return t.Name == latest }) {
		return d.tags
	}
	return append([]tagged{{Name: latest, Version: d.versions[len(d.versions)-1].Version}}, d.tags...)
}

// texts renders the metadata, in full and as installers read it.
func (d *described) texts() (full, short string) {
	var head, a, b strings.Builder
	head.WriteString(`{"name":` + quoted(d.name) + `,"dist-tags":{`)
	for i, t := range d.distTags() {
		comma(&head, i)
		head.WriteString(quoted(t.Name) + ":" + quoted(t.Version))
	}
	head.WriteString(`},"versions":{`)
	a.WriteString(head.String())
	b.WriteString(head.String())
	created, modified := time.Time{}, time.Time{}
	for i := range d.versions {
		e := &d.versions[i]
		e.write(&a, i, e.Manifest)
		e.write(&b, i, e.Summary)
		if i == 0 {
			created = e.CreatedAt.Time
		}
		modified = e.CreatedAt.Time
	}
	at := func(t time.Time) string { return `"` + t.UTC().Format("2006-01-02T15:04:05.000Z") + `"` }
	a.WriteString(`},"time":{"created":` + at(created) + `,"modified":` + at(modified))
	for i := range d.versions {
		a.WriteString("," + quoted(d.versions[i].Version) + ":" + at(d.versions[i].CreatedAt.Time))
	}
	a.WriteString("}}")
	b.WriteString(`},"modified":` + at(modified) + "}")
	return a.String(), b.String()
}

func (e *entry) write(to *strings.Builder, i int, manifest string) {
	comma(to, i)
	to.WriteString(quoted(e.Version) + ":")
	if e.Deprecated == nil {
		to.WriteString(manifest)
		return
	}
	to.WriteString(strings.TrimSuffix(manifest, "}") + `,"deprecated":` + quoted(*e.Deprecated) + "}")
}

func comma(to *strings.Builder, i int) {
	if i > 0 {
		to.WriteByte(',')
	}
}

// quoted returns a text as JSON.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // a text always encodes
	}
	return string(text)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
