package namespace

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
)

// FileTemplateProject is a project whose files a group or the instance offers as templates.
type FileTemplateProject struct {
	ID    int64
	Group string // full path of the group, "" for the instance
}

// Holds reports whether a project with a full path may be the one: a group offers files of the projects in it and below it alone, so that
// its owners do not read others through it.
func (t FileTemplateProject) Holds(project string) bool {
	return t.Group == "" || strings.HasPrefix(project, t.Group+"/")
}

// FileTemplateProjects returns the projects that the groups above a project name, the nearest group first.
func FileTemplateProjects(ctx context.Context, d *db.DB, at ID) ([]FileTemplateProject, error) {
	type row struct {
		Settings string `db:"settings"`
		Path     string `db:"path"`
	}
	rows, err := db.Select[row](ctx, d, `SELECT g.settings, r.path FROM namespace_ancestors a JOIN groups g ON g.namespace_id = a.ancestor_id
		JOIN routes r ON r.namespace_id = g.namespace_id WHERE a.namespace_id = ? ORDER BY a.depth`, at)
	if err != nil {
		return nil, fmt.Errorf("read settings of groups: %w", err)
	}
	var out []FileTemplateProject
	for _, r := range rows {
		g := Group{SettingsJSON: r.Settings}
		if id := g.Settings().FileTemplateProjectID; id != nil {
			out = append(out, FileTemplateProject{*id, r.Path})
		}
	}
	return out, nil
}
