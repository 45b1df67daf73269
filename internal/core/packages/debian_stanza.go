package packages

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"tenon/internal/base/debian"
	"tenon/internal/base/pattern"
)

// stanzaFields are the fields of a stanza in their order.
var stanzaFields = strings.Fields(`Package Source Binary Version Essential Installed-Size Maintainer Uploaders Original-Maintainer Build-Depends Build-Depends-Arch
	Build-Depends-Indep Build-Conflicts Build-Conflicts-Arch Build-Conflicts-Indep Architecture Standards-Version Format Files Dm-Upload-Allowed Vcs-Browse Vcs-Hg Vcs-Darcs
	Vcs-Svn Vcs-Git Vcs-Browser Vcs-Arch Vcs-Bzr Vcs-Mtn Vcs-Cvs Checksums-Sha256 Checksums-Sha1 Replaces Provides Depends Pre-Depends Recommends Suggests Enhances
	Conflicts Breaks Description Origin Bugs Multi-Arch Homepage Tag Package-Type Installer-Menu-Item Build-Ids`)

var (
	debianName   = pattern.New(`\A[a-z0-9][a-z0-9+.-]*\z`)
	sourceAndVer = pattern.New(`\A([a-z0-9][a-z0-9+.-]*)(?:[ \t]+\(([^()\s]+)\))?\z`)
)

// refused is why a Debian file is not published, for the user who uploaded it.
type refused string

// Error returns the reason.
func (r refused) Error() string { return string(r) }

func refusal(format string, args ...any) error { return refused(fmt.Sprintf(format, args...)) }

// stanza writes the fields of a paragraph that stanzas have, in their order, with a section and a priority.
func stanza(p debian.Paragraph, section, priority string) string {
	var out []byte
	for _, name := range stanzaFields {
		if p.Has(name) {
			out = debian.Append(out, name, p.Get(name))
		}
	}
	out = debian.Append(out, "Section", cmp.Or(section, "misc"))
	return string(debian.Append(out, "Priority", cmp.Or(priority, "extra")))
}

// binary is what the control file of a binary package says about it.
type binary struct {
	source, version string // of the source package that it is made from
	architecture    string
	stanza          string
}

// binaryOf reads the control file of a binary package.
func binaryOf(file string, p debian.Paragraph) (*binary, error) {
	name, version := p.Get("Package"), p.Get("Version")
	switch {
	case !debianName().MatchString(name) || len(name) > maxText:
		return nil, refusal("%s has no valid Package", file)
	case !debianVersion().MatchString(version) || len(version) > maxText:
		return nil, refusal("%s has no valid Version", file)
	case !architectureName().MatchString(p.Get("Architecture")) || len(p.Get("Architecture")) > maxText:
		return nil, refusal("%s has no valid Architecture", file)
	}
	b := &binary{source: name, version: version, architecture: p.Get("Architecture"), stanza: stanza(p, p.Get("Section"), p.Get("Priority"))}
	if p.Has("Source") {
		m := sourceAndVer().FindStringSubmatch(p.Get("Source"))
		if m == nil || len(m[1]) > maxText || m[2] != "" && (!debianVersion().MatchString(m[2]) || len(m[2]) > maxText) {
			return nil, refusal("%s has no valid Source", file)
		}
		b.source, b.version = m[1], cmp.Or(m[2], version)
	}
	return b, nil
}

// directory is the folder of the index that has a binary package.
func (b *binary) directory(kind debianKind, component string) string {
	if kind == kindUdeb {
		return component + "/debian-installer/binary-" + b.architecture
	}
	return component + "/binary-" + b.architecture
}

// sourceStanza is the stanza of a source package: its .dsc, which lists itself in an index.
func sourceStanza(p debian.Paragraph, dsc *File, listed *debian.Listed) string {
	more := map[string]string{"files": dsc.MD5, "checksums-sha1": dsc.SHA1, "checksums-sha256": dsc.SHA256}
	out := make(debian.Paragraph, 0, len(p))
	for _, f := range p {
		switch fold := strings.ToLower(f.Name); {
		case fold == "source":
			f.Name = "Package"
		case fold == "package":
			continue
		case more[fold] != "":
			f.Value = fmt.Sprintf("%s\n%s %d %s", strings.TrimRight(f.Value, "\n"), more[fold], dsc.Size, dsc.Name)
		}
		out = append(out, f)
	}
	return stanza(out, listed.Section, listed.Priority)
}

// letter is the folder of the packages whose name begins alike.
func letter(name string) string {
	if strings.HasPrefix(name, "lib") {
		return name[:min(4, len(name))]
	}
	return name[:1]
}

// componentOf is the component that a section names: contrib of contrib/misc, and main of misc.
func componentOf(section string) string {
	if component, _, ok := strings.Cut(section, "/"); ok {
		return component
	}
	return defaultComponent
}

// poolPath is the path of a file in a repository; below is the folder of the distribution.
func poolPath(below, name, version, file string) string {
	return path.Join(below, letter(name), name, version, file)
}
