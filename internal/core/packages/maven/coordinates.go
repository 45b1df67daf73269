package maven

import (
	"strings"

	"tenon/internal/core/packages"
)

// Coordinates are by what Maven names a package, without its version.
type Coordinates struct {
	Group, Artifact string
	Path            string // of the version in a repository
}

// CoordinatesOf returns the coordinates of a Maven package.
func CoordinatesOf(k *packages.Package) Coordinates {
	c := Coordinates{Artifact: k.Name, Path: k.Name}
	if n := strings.LastIndexByte(k.Name, '/'); n >= 0 {
		c.Group, c.Artifact = strings.ReplaceAll(k.Name[:n], "/", "."), k.Name[n+1:]
	}
	if k.Version != nil {
		c.Path += "/" + *k.Version
	}
	return c
}
