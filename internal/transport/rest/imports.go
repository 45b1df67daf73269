package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// importEntity says how far an import has come.
type importEntity struct {
	ID                project.ID `json:"id"`
	Description       *string    `json:"description"`
	Name              string     `json:"name"`
	NameWithNamespace string     `json:"name_with_namespace"`
	Path              string     `json:"path"`
	PathWithNamespace string     `json:"path_with_namespace"`
	CreatedAt         api.Time   `json:"created_at"`
	Status            string     `json:"import_status"`
	Type              *string    `json:"import_type"`
	CorrelationID     *string    `json:"correlation_id" later:"imports of exports"`
	FailedRelations   []struct{} `json:"failed_relations" later:"imports of exports"`
	Error             *string    `json:"import_error"` // for those who may administer the project
}

func (s *Server) getImport(ctx context.Context, as authz.Actor, p projectPath) (importEntity, error) {
	found, err := s.Projects.ImportOf(ctx, as, p.ID)
	if err != nil {
		return importEntity{}, err
	}
	return importEntity{
		ID: found.ID, Description: found.Description, Name: found.Name, NameWithNamespace: found.FullName, Path: found.Path,
		PathWithNamespace: found.FullPath, CreatedAt: api.Time(found.CreatedAt.Time), Status: importStatus(found),
		Type: importType(found), FailedRelations: []struct{}{}, Error: found.ImportError,
	}, nil
}

// importType says what a project was imported from, nil for nothing.
func importType(p *project.Project) *string {
	if p.ImportedFrom() == "" {
		return nil
	}
	return new("git")
}
