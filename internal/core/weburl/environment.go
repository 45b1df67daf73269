package weburl

import "strconv"

// Environments lists the environments of a project.
func (s *Site) Environments(path string) string { return s.inside(path, "environments") }

// Environment is an environment of a project.
func (s *Site) Environment(path string, id int64) string {
	return s.Environments(path) + "/" + strconv.FormatInt(id, 10)
}
