package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/project"
)

// maxReleaseDescription is how many characters of the description of a release a variable holds.
const maxReleaseDescription = 1024

// releaseVariable describes the release of the tag that a pipeline runs for.
func releaseVariable(ctx context.Context, d *db.DB, l *list, p *project.Project, of *Pipeline) error {
	if !of.Tag {
		return nil
	}
	found, err := db.Select[string](ctx, d, `SELECT SUBSTR(r.description, 1, ?) FROM releases r WHERE r.project_id = ? AND r.tag_name = ? AND r.pending IS NULL
		AND r.description IS NOT NULL ORDER BY r.id`, maxReleaseDescription, p.ID, of.Ref)
	if err != nil {
		return fmt.Errorf("release of pipeline: %w", err)
	}
	for _, text := range found {
		l.text("CI_RELEASE_DESCRIPTION", text)
	}
	return nil
}
