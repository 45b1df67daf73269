package packages

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// View is a package as one caller may see it.
type View struct {
	Package
	Project *project.Project

	// Pipeline is the newest whose job uploaded a file of the package; nil for none, and for who may not read pipelines of the project.
	Pipeline *ci.Pipeline
	User     *account.Summary // who started the pipeline; nil for an account that was deleted
	Deletes  bool             // whether the caller may delete the package
	Open     bool             // whether anybody may read the package, without a token
}

// ViewOptions names the parts of a View that are not always wanted.
type ViewOptions struct {
	Projects map[project.ID]*project.Project // that were read for the actor before; nil reads them
	Pipeline bool                            // the newest pipeline and who started it
}

// View is Views, with all parts, for one package of a project.
func (s *Service) View(ctx context.Context, as authz.Actor, p *project.Project, k *Package) (*View, error) {
	out, err := s.Views(ctx, as, []Package{*k}, ViewOptions{Projects: map[project.ID]*project.Project{p.ID: p}, Pipeline: true})
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// Views returns packages as the caller may see them, with as many statements for many as for one. They must have been read for the caller.
// A package whose project the actor does not see is left out.
func (s *Service) Views(ctx context.Context, as authz.Actor, list []Package, want ViewOptions) ([]View, error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids, of := make([]ID, len(list)), make([]project.ID, len(list))
	for i := range list {
		ids[i], of[i] = list[i].ID, list[i].ProjectID
	}
	projects, err := want.Projects, error(nil)
	if projects == nil {
		if projects, err = s.Projects.ByIDs(ctx, as, of); err != nil {
			return nil, fmt.Errorf("views of packages: %w", err)
		}
	}
	var newest map[ID]PipelineView
	if want.Pipeline {
		if newest, err = s.newestPipelines(ctx, as, ids); err != nil {
			return nil, err
		}
	}
	out, deletes := make([]View, 0, len(list)), map[project.ID]bool{}
	for i := range list {
		p := projects[list[i].ProjectID]
		if p == nil {
			continue
		}
		if _, asked := deletes[p.ID]; !asked {
			if deletes[p.ID], err = s.Policy.Can(ctx, as, authz.DestroyPackage, s.subject(p)); err != nil {
				return nil, fmt.Errorf("views of packages: %w", err)
			}
		}
		v := View{Package: list[i], Project: p, Deletes: deletes[p.ID], Open: s.open(p)}
		if made := newest[list[i].ID]; made.Pipeline != nil && made.ProjectID == p.ID {
			v.Pipeline, v.User = made.Pipeline, made.User
		}
		out = append(out, v)
	}
	return out, nil
}

// open reports whether anybody may read the packages of a project, without a token.
func (s *Service) open(p *project.Project) bool {
	level := s.access(p)
	return level == public || level == "enabled" && p.Visibility == authz.Public
}

// ByIDs returns packages as the actor may see them, and leaves out those that it may not read. Private projects with a public registry show theirs to
// members alone.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*View, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("k.id", ids)
	w.And("k.status <> ?", Destruction)
	list, err := db.Select[Package](ctx, s.DB, "SELECT "+packageColumns+" FROM packages k"+w.SQL()+" ORDER BY k.id", w.Args()...)
	if err != nil {
		return nil, errs.Wrap(err, "read packages")
	}
	views, err := s.Views(ctx, as, list, ViewOptions{})
	if err != nil {
		return nil, err
	}
	out, reads := make(map[ID]*View, len(views)), map[project.ID]error{}
	for i := range views {
		p := views[i].Project
		if _, asked := reads[p.ID]; !asked {
			reads[p.ID] = s.MayRead(ctx, as, p.Place())
		}
		switch err := reads[p.ID]; errs.KindOf(err) {
		case errs.NotFound, errs.Forbidden, errs.Unauthorized:
		default:
			if err != nil {
				return nil, err
			}
			out[views[i].ID] = &views[i]
		}
	}
	return out, nil
}

// uploadedBy is the pipeline whose job uploaded something.
type uploadedBy struct {
	PackageID  ID             `db:"package_id"`
	PipelineID *ci.PipelineID `db:"pipeline_id"`
}

// newestPipelines returns the newest pipeline that uploaded a file of each package, of those that the actor may read, with who started it.
func (s *Service) newestPipelines(ctx context.Context, as authz.Actor, ids []ID) (map[ID]PipelineView, error) {
	var w db.Where
	w.In("k.id", ids)
	rows, err := db.Select[uploadedBy](ctx, s.DB, `SELECT k.id AS package_id, (SELECT MAX(f.pipeline_id) FROM package_files f
		WHERE f.package_id = k.id AND f.pipeline_id IS NOT NULL) AS pipeline_id FROM packages k`+w.SQL()+" ORDER BY k.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("newest pipelines of packages: %w", err)
	}
	var wanted []ci.PipelineID
	for _, row := range rows {
		if row.PipelineID != nil {
			wanted = append(wanted, *row.PipelineID)
		}
	}
	found, err := s.CI.ByIDs(ctx, as, wanted)
	if err != nil {
		return nil, err
	}
	people, err := s.startedBy(ctx, slices.Collect(maps.Values(found)))
	if err != nil {
		return nil, err
	}
	out := make(map[ID]PipelineView, len(found))
	for _, row := range rows {
		if row.PipelineID == nil || found[*row.PipelineID] == nil {
			continue
		}
		v := PipelineView{Pipeline: found[*row.PipelineID]}
		if v.UserID != nil {
			v.User = people[*v.UserID]
		}
		out[row.PackageID] = v
	}
	return out, nil
}

// startedBy returns the users who started pipelines.
func (s *Service) startedBy(ctx context.Context, pipelines []*ci.Pipeline) (map[authz.UserID]*account.Summary, error) {
	var ids []authz.UserID
	for _, p := range pipelines {
		if p.UserID != nil {
			ids = append(ids, *p.UserID)
		}
	}
	people, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("who started pipelines of packages: %w", err)
	}
	return people, nil
}

// PipelineView is a pipeline whose job uploaded a file, with the user who started it; nil for an account that was deleted.
type PipelineView struct {
	*ci.Pipeline

	User *account.Summary
}

// PipelineViews returns pipelines that were read for the caller with the users who started them.
func (s *Service) PipelineViews(ctx context.Context, list []ci.Pipeline) ([]PipelineView, error) {
	out, pipelines := make([]PipelineView, len(list)), make([]*ci.Pipeline, len(list))
	for i := range list {
		out[i].Pipeline, pipelines[i] = &list[i], &list[i]
	}
	people, err := s.startedBy(ctx, pipelines)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if list[i].UserID != nil {
			out[i].User = people[*list[i].UserID]
		}
	}
	return out, nil
}

// PipelinesOfFiles returns the pipelines whose jobs uploaded files of a package, of those that the actor may read and that are of the project.
func (s *Service) PipelinesOfFiles(ctx context.Context, as authz.Actor, p *project.Project, files []File) (map[ci.PipelineID]PipelineView, error) {
	var ids []ci.PipelineID
	for i := range files {
		if files[i].PipelineID != nil {
			ids = append(ids, *files[i].PipelineID)
		}
	}
	found, err := s.CI.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	var list []ci.Pipeline
	for _, made := range found {
		if made.ProjectID == p.ID {
			list = append(list, *made)
		}
	}
	views, err := s.PipelineViews(ctx, list)
	out := make(map[ci.PipelineID]PipelineView, len(views))
	for _, v := range views {
		out[v.ID] = v
	}
	return out, err
}
