package ciconfig

import (
	"strings"

	"tenon/internal/base/starter"
)

// template returns the file that include: template names, such as Go.gitlab-ci.yml or Workflows/Branch-Pipelines.gitlab-ci.yml. The
// error is ErrNoFile.
func template(path string) (File, error) {
	name, ok := strings.CutSuffix(path, ".gitlab-ci.yml")
	if !ok {
		return File{}, ErrNoFile
	}
	text, ok := starter.Find(starter.Pipelines, strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "-"))
	if !ok {
		return File{}, ErrNoFile
	}
	return File{Text: []byte(text), Location: Location{Path: path}}, nil
}
