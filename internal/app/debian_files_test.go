package app

import "tenon/internal/base/debian/debiantest"

func debFile(control string) string { return debiantest.Deb(control) }

func binaryControl(name, version, architecture, more string) string {
	return debiantest.Control(name, version, architecture, more)
}

func dscFile(name, version string, files ...string) string {
	return debiantest.Source(name, version, files...)
}

func changesFile(name, version, distribution string, files ...string) string {
	return debiantest.Changes(name, version, distribution, files...)
}
