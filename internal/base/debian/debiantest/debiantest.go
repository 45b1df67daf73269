// Package debiantest makes files of Debian packages for tests.
package debiantest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
)

// Deb is a binary package with a control file.
func Deb(control string) string {
	packed := func(name, content string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		t := tar.NewWriter(z)
		_ = t.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))})
		_, _ = io.WriteString(t, content)
		_, _ = t.Close(), z.Close()
		return b.String()
	}
	out := "!<arch>\n"
	for _, m := range [][2]string{{"debian-binary", "2.0\n"}, {"control.tar.gz", packed("./control", control)}, {"data.tar.gz", packed("./usr/share/doc/x", "x\n")}} {
		out += fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", m[0], 0, 0, 0, "100644", len(m[1])) + m[1]
		if len(m[1])%2 == 1 {
			out += "\n"
		}
	}
	return out
}

// Control is the control file of a binary package.
func Control(name, version, architecture, more string) string {
	return "Package: " + name + "\nVersion: " + version + "\nArchitecture: " + architecture + "\nMaintainer: Dave <dave@tenon.example>\nSection: misc\nPriority: optional\n" +
		"Installed-Size: 1\n" + more + "Description: the package " + name + "\n with two lines\n .\n and one more\n"
}

// list lists files as a .changes or .dsc does: name and content in turn.
func list(section string, files ...string) string {
	var sums, sha1s, sha256s strings.Builder
	for i := 0; i+1 < len(files); i += 2 {
		content := []byte(files[i+1])
		fmt.Fprintf(&sums, "\n %x %d %s%s", md5.Sum(content), len(content), section, files[i])
		fmt.Fprintf(&sha1s, "\n %x %d %s", sha1.Sum(content), len(content), files[i])
		fmt.Fprintf(&sha256s, "\n %x %d %s", sha256.Sum256(content), len(content), files[i])
	}
	return "Checksums-Sha1:" + sha1s.String() + "\nChecksums-Sha256:" + sha256s.String() + "\nFiles:" + sums.String() + "\n"
}

// Source is a source package of files.
func Source(name, version string, files ...string) string {
	return "Format: 3.0 (quilt)\nSource: " + name + "\nBinary: " + name + "\nArchitecture: any\nVersion: " + version +
		"\nMaintainer: Dave <dave@tenon.example>\nStandards-Version: 4.6.2\nBuild-Depends: debhelper-compat (= 13)\n" + list("", files...)
}

// Changes is the description of an upload of files.
func Changes(name, version, distribution string, files ...string) string {
	return "Format: 1.8\nDate: Mon, 30 Nov 2026 08:00:00 +0000\nSource: " + name + "\nBinary: " + name + "\nArchitecture: source amd64\nVersion: " + version +
		"\nDistribution: " + distribution + "\nUrgency: medium\nMaintainer: Dave <dave@tenon.example>\nChanges:\n " + name + " (" + version + ") " + distribution +
		"; urgency=medium\n .\n   * New.\n" + list("misc optional ", files...)
}
