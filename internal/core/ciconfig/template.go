package ciconfig

import (
	"strings"

	"tenon/internal/base/starter"
)

// TemplateFile gives the file that include: template names, such as Go.gitlab-ci.yml or Workflows/Branch-Pipelines.gitlab-ci.yml, for a
// Reader. The error is ErrNoFile.
func TemplateFile(path string) (File, error) {
	name, ok := strings.CutSuffix(path, ".gitlab-ci.yml")
	if !ok {
		return File{}, ErrNoFile
	}
	text, ok := starter.Find(starter.Pipelines, strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "-"))
	if !ok {
		return File{}, ErrNoFile
	}
	return File{Text: []byte(text), Place: Place{Path: path}}, nil
}
