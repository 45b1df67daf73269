package npm

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
	"tenon/internal/core/weburl"
)

var (
	errExists   = &errs.Error{Kind: errs.Forbidden, Message: "Package already exists.", Bare: true}
	errVersion  = errs.Plain("Version is empty.")
	errInvalid  = errs.Plain("Version is invalid.")
	errNames    = errs.Plain("Package name is invalid.")
	errTagName  = errs.Plain("Tag is invalid.")
	errManyTags = errs.Plain(fmt.Sprintf("Maximum number of tags (%d) exceeded", maxTags))
	errDigest   = errs.Plain("Checksums do not match the tarball.")
	errManifest = errs.Plain("Package json is too large.")
)

// manifest is a version in a package document.
type manifest map[string]json.RawMessage

// upload is what a package document has of its version.
type upload struct {
	Name        string              `json:"name"`
	Tags        map[string]string   `json:"dist-tags"`
	Versions    map[string]manifest `json:"versions"`
	Attachments map[string]struct {
		Length *int64 `json:"length"`
	} `json:"_attachments"`
}

// Put takes a package document: with an attachment it publishes a version, without one it deprecates versions.
func (s *Service) Put(ctx context.Context, as authz.Actor, p *project.Project, name string, from io.Reader) error {
	if err := s.Packages.Require(ctx, as, authz.CreatePackage, p.Place()); err != nil {
		return err
	}
	if !validName(name) {
		return errNames
	}
	d := newDocument(from)
	attached, err := d.next()
	if err != nil {
		return err
	}
	if !attached {
		return s.deprecate(ctx, as, p, name, d)
	}
	return s.publish(ctx, as, p, name, d)
}

// publish publishes the version of a document that was read to its attachment.
func (s *Service) publish(ctx context.Context, as authz.Actor, p *project.Project, name string, d *document) error {
	var u upload
	sum := sha512.New()
	content := d.attachment(s.MaxFile(), func() error { return d.parse(&u) })
	row := &versionRow{}
	var tags []string
	_, err := s.Packages.Publish(ctx, as, p, packages.Upload{
		Kind: packages.NPM, Name: name, Status: packages.Default,
		Arrived: func(to *packages.Upload, f *packages.File) error {
			version, m, err := u.version(name, f.Size)
			if err != nil {
				return err
			}
			if tags, err = u.tags(version); err != nil {
				return err
			}
			f.Name = fileName(name, version)
			to.Version = &version
			row.Manifest, row.Summary, err = m.texts(p.ID, f, sum.Sum(nil))
			return err
		},
		Begin: func(ctx context.Context, to *packages.Upload) error {
			if err := s.lock(ctx, p.ID, name); err != nil {
				return err
			}
			return s.vacant(ctx, p.ID, name, *to.Version)
		},
		End: func(ctx context.Context, _ *packages.Upload, k *packages.Package, _ *packages.File) error {
			row.PackageID = k.ID
			if _, err := db.InsertRow(ctx, s.DB, "npm_versions", row, ""); err != nil {
				return err
			}
			for _, tag := range tags {
				if err := s.tag(ctx, p.ID, name, tag, k.ID); err != nil {
					return err
				}
			}
			return s.render(ctx, p.ID, name)
		},
	}, io.TeeReader(content, sum))
	return err
}

// vacant refuses a version that is there already.
func (s *Service) vacant(ctx context.Context, p project.ID, name, version string) error {
	taken, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM packages k WHERE k.project_id = ? AND k.kind = ? AND k.name = ? AND k.version = ? AND k.status <> ?)",
		p, packages.NPM, name, version, packages.Destruction)
	if err != nil {
		return fmt.Errorf("look for package: %w", err)
	}
	if taken {
		return errExists
	}
	return nil
}

// fileName is the name of a tarball.
func fileName(name, version string) string { return name + "-" + version + ".tgz" }

// version returns the only version of the document, which was sent for a name with so many bytes attached.
func (u *upload) version(name string, size int64) (string, manifest, error) {
	if u.Name != "" && u.Name != name {
		return "", nil, errNames
	}
	if len(u.Versions) != 1 {
		return "", nil, errVersion
	}
	for _, a := range u.Attachments {
		if a.Length != nil && *a.Length != size {
			return "", nil, errDigest
		}
	}
	for version, m := range u.Versions {
		if version == "" {
			return "", nil, errVersion
		}
		var inside struct{ Name, Version string }
		if json.Unmarshal(m["name"], &inside.Name) != nil || inside.Name != name {
			return "", nil, errNames
		}
		if !validVersion(version) || json.Unmarshal(m["version"], &inside.Version) != nil || inside.Version != version {
			return "", nil, errInvalid
		}
		return version, m, nil
	}
	return "", nil, errVersion
}

// tags returns the tags of the document, which are of its version.
func (u *upload) tags(version string) ([]string, error) {
	if len(u.Tags) == 0 {
		return []string{latest}, nil
	}
	var out []string
	for tag, of := range u.Tags {
		if of != version || !validTag(tag) {
			return nil, errTagName
		}
		out = append(out, tag)
	}
	if len(out) > 10 {
		return nil, errManyTags
	}
	return out, nil
}

// versionRow is what the metadata has of a version.
type versionRow struct {
	PackageID  packages.ID `db:"package_id"`
	Manifest   string      `db:"manifest"`   // a JSON object
	Summary    string      `db:"summary"`    // what installers read of it
	Deprecated *string     `db:"deprecated"` // nil is not deprecated
}

// The fields of a version that are kept, in the order of the metadata.
var (
	summaryFields = []string{
		"name", "version", "dependencies", "optionalDependencies", "devDependencies", "bundleDependencies", "bundledDependencies", "peerDependencies", "peerDependenciesMeta",
		"acceptDependencies", "bin", "directories", "engines", "os", "cpu", "libc", "funding", "_hasShrinkwrap", "hasInstallScript",
	}
	otherFields = []string{
		"description", "keywords", "license", "author", "contributors", "maintainers", "repository", "homepage", "bugs", "main", "module", "browser", "type", "types", "typings", "packageManager",
		"gitHead", "_nodeVersion", "_npmVersion",
	}
)

const maxManifest = 256 << 10 // bytes of a version in the metadata

// dist says where a tarball is and what it is known by.
type dist struct {
	Integrity string `json:"integrity"`
	Shasum    string `json:"shasum"`
	Tarball   string `json:"tarball"`
	Files     int64  `json:"fileCount,omitempty"`
	Unpacked  int64  `json:"unpackedSize,omitempty"`
}

// root stands for the URL of the server in metadata: no JSON has it as it is.
const root = "\x01"

// texts returns a version as the metadata has it, and as installers read it. What the client says of the tarball has to be so.
func (m manifest) texts(p project.ID, f *packages.File, sum []byte) (full, short string, err error) {
	var sent dist
	if raw, ok := m["dist"]; ok && json.Unmarshal(raw, &sent) != nil {
		return "", "", errJSON
	}
	out := dist{Integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum), Shasum: f.SHA1, Files: max(sent.Files, 0), Unpacked: max(sent.Unpacked, 0)}
	if sent.Shasum != "" && !strings.EqualFold(sent.Shasum, f.SHA1) || sent.Integrity != "" && !fits(sent.Integrity, out.Integrity, f) {
		return "", "", errDigest
	}
	var name string
	if json.Unmarshal(m["name"], &name) != nil {
		return "", "", errJSON
	}
	out.Tarball = weburl.NPMTarball(int64(p), name, f.Name)
	m.installs()
	text, err := json.Marshal(out)
	if err != nil {
		return "", "", fmt.Errorf("encode dist: %w", err)
	}
	text = bytes.Replace(text, []byte(`"tarball":"`), []byte(`"tarball":"`+root), 1)
	var b bytes.Buffer
	write := func(fields []string) error {
		for _, field := range fields {
			raw, ok := m[field]
			if !ok || string(raw) == "null" {
				continue
			}
			b.WriteString(`"` + field + `":`)
			if err := json.Compact(&b, raw); err != nil {
				return errJSON
			}
			b.WriteByte(',')
		}
		return nil
	}
	if err := write(summaryFields); err != nil {
		return "", "", err
	}
	short = "{" + b.String() + `"dist":` + string(text) + "}"
	if err := write(otherFields); err != nil {
		return "", "", err
	}
	full = "{" + b.String() + `"dist":` + string(text) + "}"
	if len(full) > maxManifest {
		return "", "", errManifest
	}
	return full, short, nil
}

// installs has the version say that it runs scripts when it is installed, as installers ask.
func (m manifest) installs() {
	var scripts map[string]json.RawMessage
	if json.Unmarshal(m["scripts"], &scripts) != nil {
		return
	}
	for _, name := range []string{"preinstall", "install", "postinstall"} {
		if _, ok := scripts[name]; ok {
			m["hasInstallScript"] = json.RawMessage("true")
		}
	}
}

// fits reports whether an integrity that a client sent, which may have several digests, is that of a file: what it has of SHA-512, SHA-256 and SHA-1.
func fits(sent, sha512 string, f *packages.File) bool {
	base := func(digest string) string {
		raw, err := hex.DecodeString(digest)
		if err != nil {
			return ""
		}
		return base64.StdEncoding.EncodeToString(raw)
	}
	for one := range strings.FieldsSeq(sent) {
		one, _, _ = strings.Cut(one, "?")
		switch kind, _, _ := strings.Cut(one, "-"); {
		case kind == "sha512" && one != sha512, kind == "sha256" && one != "sha256-"+base(f.SHA256), kind == "sha1" && one != "sha1-"+base(f.SHA1):
			return false
		}
	}
	return true
}
