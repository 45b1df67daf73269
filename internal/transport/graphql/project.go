package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// projectFilter is the arguments of lists of projects.
type projectFilter struct {
	paging
	FullPaths, Topics                           []string
	IDs                                         []globalID
	Membership, Personal, SearchNamespaces      *bool
	WithIssuesEnabled, WithMergeRequestsEnabled *bool
	Search, Sort                                *string
}

// projects binds projects.
func (b *binder) projects() {
	exec.Root(b.Schema, "project", func(ctx context.Context, c *exec.Call[struct{ FullPath string }]) (*project.Project, error) {
		p, err := b.project(ctx, c.As, c.Args.FullPath)
		return p, hidden(err)
	})
	exec.Root(b.Schema, "projects", func(ctx context.Context, c *exec.Call[projectFilter]) (*exec.Page[*project.Project], error) {
		f := c.Args.filter(c.As)
		return list(ctx, part(b, c, c.Args.paging, maxPage), func(ctx context.Context, r page.Range) (page.Page[*project.Project], error) {
			f.Range = r
			return b.Projects.List(ctx, c.As, f)
		}, same)
	})
	exec.Connection[*project.Project](b.Schema, "Project")

	value(b, "Project.id", func(p *project.Project) string { return gid("Project", p.ID) })
	value(b, "Project.nameWithNamespace", func(p *project.Project) string { return p.FullName })
	value(b, "Project.descriptionHtml", func(p *project.Project) *string { return b.described(reference.Of(p), p.Description) })
	value(b, "Project.visibility", func(p *project.Project) string { return p.Visibility.String() })
	value(b, "Project.webUrl", func(p *project.Project) string { return b.URLs.Project(p.FullPath) })
	value(b, "Project.avatarUrl", func(p *project.Project) *string { return b.avatar("project", int64(p.ID), p.Avatar) })
	value(b, "Project.httpUrlToRepo", func(p *project.Project) string { return b.URLs.HTTPRepository(p.FullPath) })
	value(b, "Project.sshUrlToRepo", func(p *project.Project) string { return b.URLs.SSHRepository(p.FullPath) })
	value(b, "Project.tagList", func(p *project.Project) string { return strings.Join(p.Topics(), ", ") })
	value(b, "Project.topics", func(p *project.Project) []string { return p.Topics() })
	value(b, "Project.importStatus", func(p *project.Project) string {
		if p.ImportStatus == "" {
			return project.ImportNone
		}
		return p.ImportStatus
	})
	b.projectSwitches()
	projectView(b, "Project.forksCount", func(v *project.View) int64 {
		if v.Code == nil {
			return 0
		}
		return v.Code.ForksCount
	})
	projectView(b, "Project.openIssuesCount", func(v *project.View) *int64 {
		if v.Full == nil {
			return nil
		}
		return v.Full.OpenIssues
	})
	b.projectStatistics()
	b.projectPermissions()
	exec.Struct[*project.Project](b.Schema, "Project")
}

// avatar is the URL of an uploaded picture, nil for none.
func (b *binder) avatar(kind string, id int64, stored string) *string {
	if stored == "" {
		return nil
	}
	url := b.URLs.Avatar(kind, id, stored)
	return &url
}

// projectSwitches binds what is on or off in a project.
func (b *binder) projectSwitches() {
	feature := func(field string, f authz.Feature) {
		value(b, "Project."+field, func(p *project.Project) bool { return p.Features.Of(f) != authz.FeatureDisabled })
	}
	feature("issuesEnabled", authz.Issues)
	feature("mergeRequestsEnabled", authz.MergeRequests)
	feature("wikiEnabled", authz.Wiki)
	feature("jobsEnabled", authz.Builds)
	feature("snippetsEnabled", authz.Snippets)
	value(b, "Project.containerRegistryEnabled", func(p *project.Project) bool { return p.Access("container_registry") != "disabled" })
	value(b, "Project.sharedRunnersEnabled", func(p *project.Project) bool { return p.SharedRunnersEnabled })
	value(b, "Project.serviceDeskEnabled", func(p *project.Project) bool { return p.Settings().ServiceDeskEnabled })
	value(b, "Project.publicJobs", func(p *project.Project) bool { return p.Settings().PublicJobs })
	value(b, "Project.onlyAllowMergeIfPipelineSucceeds", func(p *project.Project) bool { return p.OnlyMergeIfPipelineSucceeds })
	value(b, "Project.onlyAllowMergeIfAllDiscussionsAreResolved", func(p *project.Project) bool { return p.OnlyMergeIfDiscussionsResolved })
	value(b, "Project.onlyAllowMergeIfAllStatusChecksPassed", func(p *project.Project) bool { return p.Settings().OnlyMergeIfAllStatusChecksPassed })
	value(b, "Project.mergeRequestsFfOnlyEnabled", func(p *project.Project) bool { return p.MergeMethod == "ff" })
	value(b, "Project.squashReadOnly", func(p *project.Project) bool { return p.SquashFixed() })
}

// projectView binds a field of what callers may see of projects beside their row.
func projectView[R any](b *binder, field string, of func(v *project.View) R) {
	exec.Batch(b.Schema, field, func(ctx context.Context, c *exec.Call[exec.None], list []*project.Project) ([]R, error) {
		views, err := b.projectViews(ctx, c, "projects", list, project.ViewOptions{})
		out := make([]R, len(list))
		for i, v := range views {
			out[i] = of(v)
		}
		return out, err
	})
}

func (b *binder) projectViews(ctx context.Context, c *exec.Call[exec.None], name string, list []*project.Project, want project.ViewOptions) ([]*project.View, error) {
	rows := map[project.ID]*project.Project{}
	for _, p := range list {
		rows[p.ID] = p
	}
	return exec.LoadEach(ctx, c, "views of "+name, list, func(p *project.Project) project.ID { return p.ID }, func(ctx context.Context, ids []project.ID) (map[project.ID]*project.View, error) {
		in := make([]*project.Project, len(ids))
		for i, id := range ids {
			in[i] = rows[id]
		}
		views, err := b.Projects.Views(ctx, c.As, in, want)
		out := make(map[project.ID]*project.View, len(views))
		for i := range views {
			out[views[i].ID] = &views[i]
		}
		return out, err
	})
}

// projectStatistics binds what a project takes up.
func (b *binder) projectStatistics() {
	exec.Batch(b.Schema, "Project.statistics", func(ctx context.Context, c *exec.Call[exec.None], list []*project.Project) ([]*project.Statistics, error) {
		views, err := b.projectViews(ctx, c, "statistics", list, project.ViewOptions{Statistics: true})
		out := make([]*project.Statistics, len(list))
		for i, v := range views {
			if v.Full != nil {
				out[i] = v.Full.Statistics
			}
		}
		return out, err
	})
	none := func(*project.Statistics) int64 { return 0 }
	for field, of := range map[string]func(s *project.Statistics) int64{
		"commitCount": func(s *project.Statistics) int64 { return s.Commits }, "lfsObjectsSize": func(s *project.Statistics) int64 { return s.LFS },
		"repositorySize": func(s *project.Statistics) int64 { return s.Repository }, "snippetsSize": func(s *project.Statistics) int64 { return s.Snippets },
		"storageSize": (*project.Statistics).Total, "uploadsSize": func(s *project.Statistics) int64 { return s.Uploads },
		"wikiSize": func(s *project.Statistics) int64 { return s.Wiki }, "buildArtifactsSize": func(s *project.Statistics) int64 { return s.Artifacts },
		"packagesSize": func(s *project.Statistics) int64 { return s.Packages }, "pipelineArtifactsSize": none, "containerRegistrySize": none,
	} {
		value(b, "ProjectStatistics."+field, func(s *project.Statistics) float64 { return float64(of(s)) })
	}
}

// projectAbilities are the permissions of a project and what each of them means.
var projectAbilities = map[string]authz.Ability{
	"adminProject": authz.AdminProject, "archiveProject": authz.ArchiveProject, "changeNamespace": authz.TransferProject,
	"changeVisibilityLevel": authz.ChangeVisibility, "createIssue": authz.CreateIssue, "createLabel": authz.AdminLabel,
	"createMergeRequestFrom": authz.CreateMergeRequestFrom, "createMergeRequestIn": authz.CreateMergeRequestIn,
	"createSnippet": authz.CreateSnippet, "createWiki": authz.WriteWiki, "updateWiki": authz.WriteWiki, "adminWiki": authz.DeleteWikiPage, "destroyWiki": authz.DeleteWikiPage,
	"downloadCode": authz.ReadCode, "downloadWikiCode": authz.ReadWiki, "forkProject": authz.ForkProject, "pushCode": authz.PushCode,
	"readCommitStatus": authz.ReadPipeline, "readMergeRequest": authz.ReadMergeRequest, "readProject": authz.ReadProject,
	"readProjectMember": authz.ReadMembers, "readWiki": authz.ReadWiki, "removeForkProject": authz.RemoveForkLink,
	"removeProject": authz.DeleteProject, "renameProject": authz.AdminProject, "requestAccess": authz.RequestAccess, "uploadFile": authz.UploadFile,
}

// permitted is what the caller may do with a thing.
type permitted map[authz.Ability]bool

func (b *binder) projectPermissions() {
	exec.Batch(b.Schema, "Project.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], list []*project.Project) ([]permitted, error) {
		return forEach(ctx, b, c, list, func(ctx context.Context, p *project.Project) (permitted, error) { return b.permitted(ctx, c.As, p) })
	})
	for field, ability := range projectAbilities {
		value(b, "ProjectPermissions."+field, func(p permitted) bool { return p[ability] })
	}
}

// permitted says what the caller may do in a project: nothing in one that is hidden.
func (b *binder) permitted(ctx context.Context, as authz.Actor, p *project.Project) (permitted, error) {
	out := permitted{}
	for _, a := range projectAbilities {
		if _, known := out[a]; known || p == nil {
			continue
		}
		may, err := b.Projects.May(ctx, as, p, a)
		if err != nil {
			return nil, err
		}
		out[a] = may
	}
	return out, nil
}

// filter makes the filter of core.
func (f *projectFilter) filter(as authz.Actor) project.Filter {
	out := project.Filter{
		Search: strings.TrimSpace(zeroOr(f.Search)), SearchNamespaces: zeroOr(f.SearchNamespaces), Membership: zeroOr(f.Membership), Topics: f.Topics,
		Issues: zeroOr(f.WithIssuesEnabled), MergeRequests: zeroOr(f.WithMergeRequestsEnabled), Paths: f.FullPaths,
	}
	for _, id := range f.IDs {
		out.IDs = append(out.IDs, project.ID(id.ID))
	}
	if zeroOr(f.Personal) {
		out.PersonalOf = as.UserID
		out.Nothing = !as.SignedIn()
	}
	sort := zeroOr(f.Sort)
	if sort == "" {
		sort = "id_desc"
	}
	column, direction, _ := strings.Cut(sort, "_")
	if i := strings.LastIndexByte(sort, '_'); i > 0 {
		column, direction = sort[:i], sort[i+1:]
	}
	out.Asc = direction == "asc"
	switch column {
	case "name", "path":
		out.OrderBy = column
	case "latest_activity", "last_activity_at":
		out.OrderBy = "last_activity_at"
	case "stars":
		out.OrderBy = "star_count"
	case "updated", "updated_at":
		out.OrderBy = "updated_at"
	case "similarity":
		if out.Search != "" {
			out.OrderBy = "similarity"
		}
	}
	return out
}
