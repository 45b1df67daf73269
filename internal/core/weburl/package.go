package weburl

// Packages lists the packages of a project.
func (s *Site) Packages(path string) string { return s.inside(path, "packages") }

// Package is a package of a project.
func (s *Site) Package(path string, id int64) string { return s.numbered(path, "packages", id) }

// GroupPackages lists the packages of the projects below a group.
func (s *Site) GroupPackages(path string) string { return s.Group(path) + "/-/packages" }
