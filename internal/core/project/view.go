package project

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// View is a project as one caller may see it: a part that is nil is not for the caller, and
// the project has no value that a part holds.
type View struct {
	Project
	Parent *namespace.Namespace // where it stands; nil where that is being deleted
	Person *account.Summary     // the user of a personal namespace, nil for groups
	Branch string               // the default branch; before the first push, the name it will have

	Code    *CodeView    // for those who may read the code
	Storage *StorageView // for administrators
	Full    *FullView    // for callers who are signed in, unless only the basic part is wanted
}

// CodeView is what is shown of the repository.
type CodeView struct {
	ReadmePath string // "" for none
	ForksCount int64
}

// StorageView says where a repository is, and how large it may get.
type StorageView struct {
	Name      string
	SizeLimit *int64 // bytes, nil where the project has no limit of its own
}

// FullView is what the basic part leaves out.
type FullView struct {
	Settings                Settings // those that every caller sees
	Source                  *View    // what the project was forked from, its basic part; nil where hidden
	Shares                  []namespace.Share
	ImportType              string // "" of one that was not imported
	CanCreateMergeRequestIn bool
	NextExpiration          *time.Time // when old container images go

	OpenIssues       *int64                // that the caller may read
	Permissions      *Permissions          // of the caller, where wanted
	Statistics       *Statistics           // from Reporter on, where wanted
	License          *LicenseView          // where wanted
	CustomAttributes []attribute.Attribute // for administrators, where wanted; nil otherwise
	Admin            *AdminView            // for those who may administer the project
}

// Permissions are what the caller is: in the project, and in what it is in or is shared
// with. Nil is nothing.
type Permissions struct {
	Project, Group *namespace.Own
}

// Statistics are bytes, but for the commits.
type Statistics struct {
	Commits, Repository, LFS, Uploads, Wiki, Snippets, Artifacts, Packages int64
}

// Total adds up the bytes.
func (s *Statistics) Total() int64 {
	return s.Repository + s.LFS + s.Uploads + s.Wiki + s.Snippets + s.Artifacts + s.Packages
}

// LicenseView is the file with the license; it is empty where there is none, or the caller may
// not read the code.
type LicenseView struct {
	Path string
	Key  string // small SPDX id, "other" for one that is not known
}

// AdminView is what only those see who may administer the project.
type AdminView struct {
	Settings            Settings
	ImportError         *string
	GroupRunnersEnabled bool
}

// ViewOptions are the parts of a view that cost something and are not always wanted.
type ViewOptions struct {
	Basic            bool // no more than the basic part
	Permissions      bool
	Statistics       bool
	License          bool
	CustomAttributes bool
}

// Attached measures the repositories of wikis and snippets. The package repo implements it.
type Attached interface {
	// AttachedSizes returns the bytes of those of projects; projects without any are left out.
	AttachedSizes(ctx context.Context, ids []ID) (map[ID]AttachedSizes, error)
}

// AttachedSizes says how many bytes the repositories of the wiki and of the snippets of a
// project have.
type AttachedSizes struct {
	Wiki, Snippets int64
}

// LargeFiles measures what projects have in large file storage. The package lfs implements it.
type LargeFiles interface {
	Sizes(ctx context.Context, ids []ID) (map[ID]int64, error)
}

// Uploads measures the uploads of namespaces. The package upload implements it.
type Uploads interface {
	Sizes(ctx context.Context, ids []namespace.ID) (map[namespace.ID]int64, error)
}

// relations is what views show of projects and is stored elsewhere.
type relations struct {
	sources       map[ID]*Project
	parents       map[namespace.ID]*namespace.Namespace
	people        map[authz.UserID]*account.Summary
	shares        map[namespace.ID][]namespace.Share
	direct, above map[namespace.ID]namespace.Own
	attributes    map[int64][]attribute.Attribute
	large         map[ID]int64
	attached      map[ID]AttachedSizes
	uploads       map[namespace.ID]int64
	artifacts     map[ID]int64
	packages      map[ID]int64
}

// Views returns projects as the caller may see them, with as many statements for many as for one.
// They must have been read for the caller, with the level.
func (s *Service) Views(ctx context.Context, as authz.Actor, list []*Project, want ViewOptions) ([]View, error) {
	want.Basic = want.Basic || !as.SignedIn() && !as.Admin
	r, err := s.related(ctx, as, list, want)
	if err != nil {
		return nil, fmt.Errorf("views of projects: %w", err)
	}
	out := make([]View, len(list))
	for i, p := range list {
		out[i] = s.basicView(ctx, as, p, r)
		if !want.Basic {
			out[i].Full = s.fullView(ctx, as, p, want, r)
		}
	}
	return out, nil
}

func (s *Service) related(ctx context.Context, as authz.Actor, list []*Project, want ViewOptions) (*relations, error) {
	r := &relations{}
	ids, owners := make([]ID, len(list)), make([]int64, len(list))
	places, twins := make([]namespace.ID, len(list)), make([]namespace.ID, len(list))
	for i, p := range list {
		ids[i], owners[i], places[i], twins[i] = p.ID, int64(p.ID), p.ParentID, p.NamespaceID
	}
	var err error
	if !want.Basic {
		if r.sources, err = s.Sources(ctx, as, list); err != nil {
			return nil, err
		}
		for _, p := range r.sources {
			places = append(places, p.ParentID)
		}
	}
	if r.parents, r.people, err = s.Parents(ctx, places); err != nil || want.Basic {
		return r, err
	}
	if r.shares, err = s.Namespaces.Shares(ctx, as, twins); err != nil {
		return nil, err
	}
	if want.Permissions {
		if r.direct, r.above, err = s.Namespaces.Direct(ctx, as, twins); err != nil {
			return nil, err
		}
	}
	if want.CustomAttributes && as.Admin {
		if r.attributes, err = s.Attributes.ByOwners(ctx, attribute.Project, owners); err != nil {
			return nil, err
		}
	}
	if !want.Statistics {
		return r, nil
	}
	if r.large, err = s.above.LargeFiles.Sizes(ctx, ids); err != nil {
		return nil, err
	}
	if r.attached, err = s.above.Attached.AttachedSizes(ctx, ids); err != nil {
		return nil, err
	}
	if r.uploads, err = s.above.Uploads.Sizes(ctx, twins); err != nil {
		return nil, err
	}
	if r.artifacts, err = s.sizes(ctx, "job_artifacts", ids); err != nil {
		return nil, err
	}
	r.packages, err = s.sizes(ctx, "package_files", ids)
	return r, err
}

// sizes returns the bytes that the rows of a table have in projects; projects without any are left out.
func (s *Service) sizes(ctx context.Context, table string, ids []ID) (map[ID]int64, error) {
	out := make(map[ID]int64, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	type row struct {
		ID   ID    `db:"project_id"`
		Size int64 `db:"size"`
	}
	var w db.Where
	w.In("a.project_id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT a.project_id, CAST(SUM(a.size) AS BIGINT) AS size FROM "+table+" a"+w.SQL()+" GROUP BY a.project_id ORDER BY a.project_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", table, err)
	}
	for _, r := range rows {
		out[r.ID] = r.Size
	}
	return out, nil
}

// Parents returns namespaces by their ids, with the users of the personal ones. It asks for no
// permission: the projects in them were read for the caller.
func (s *Service) Parents(ctx context.Context, places []namespace.ID) (map[namespace.ID]*namespace.Namespace, map[authz.UserID]*account.Summary, error) {
	found, err := s.Namespaces.Load(ctx, places)
	if err != nil {
		return nil, nil, err
	}
	var people []authz.UserID
	for _, n := range found {
		if n.OwnerID != nil {
			people = append(people, *n.OwnerID)
		}
	}
	users, err := s.Accounts.ByIDs(ctx, people)
	return found, users, err
}

// can asks for a permission whose level was read with the project, so that it costs no
// statement.
func (s *Service) can(ctx context.Context, as authz.Actor, ability authz.Ability, p *Project) bool {
	ok, err := s.Policy.Can(ctx, as, ability, p.Subject())
	return ok && err == nil
}

func (s *Service) basicView(ctx context.Context, as authz.Actor, p *Project, r *relations) View {
	v := View{Project: *p, Parent: r.parents[p.ParentID], Branch: s.branch(p)}
	if v.Parent != nil && v.Parent.OwnerID != nil {
		v.Person = r.people[*v.Parent.OwnerID]
	}
	if s.can(ctx, as, authz.ReadCode, p) {
		v.Code = &CodeView{ReadmePath: p.ReadmePath, ForksCount: p.ForksCount}
	}
	if as.Admin {
		v.Storage = &StorageView{Name: p.Storage, SizeLimit: p.RepositorySizeLimit}
	}
	v.ReadmePath, v.ForksCount, v.LicensePath, v.LicenseKey = "", 0, "", ""
	v.CommitCount, v.RepositorySize, v.OpenIssuesCount, v.PublicIssues = 0, 0, 0, 0
	v.Project.Storage, v.RepositorySizeLimit, v.ImportError, v.SettingsJSON, v.GroupRunnersEnabled = "", nil, nil, "", false
	return v
}

// branch is the branch of the repository's HEAD; before the first push, the name that the
// first branch is expected to have.
func (s *Service) branch(p *Project) string {
	if p.DefaultBranch != nil {
		return *p.DefaultBranch
	}
	if name := p.InitialBranch(); name != "" {
		return name
	}
	return s.Settings.Current().Branch()
}

func (s *Service) fullView(ctx context.Context, as authz.Actor, p *Project, want ViewOptions, r *relations) *FullView {
	set := p.Settings()
	if set.ExternalAuthorizationLabel == nil {
		set.ExternalAuthorizationLabel = s.Settings.Current().ExternalAuthorizationServiceDefaultLabel
	}
	v := &FullView{
		Shares: r.shares[p.NamespaceID], ImportType: p.ImportType(), CanCreateMergeRequestIn: s.can(ctx, as, authz.CreateMergeRequestIn, p),
		NextExpiration: p.NextRun(set.ContainerExpirationPolicy, s.Now()), CustomAttributes: r.attributes[int64(p.ID)],
	}
	if p.ForkedFromID != nil && r.sources[*p.ForkedFromID] != nil {
		source := s.basicView(ctx, as, r.sources[*p.ForkedFromID], r)
		v.Source = &source
	}
	if s.can(ctx, as, authz.ReadIssue, p) {
		open := p.OpenIssues(as)
		v.OpenIssues = &open
	}
	if want.Permissions {
		v.Permissions = &Permissions{r.direct[p.NamespaceID].OrNil(), r.above[p.NamespaceID].OrNil()}
	}
	if want.Statistics && (as.Admin || p.Level >= authz.Reporter) {
		v.Statistics = &Statistics{Commits: p.CommitCount, Repository: p.RepositorySize, LFS: r.large[p.ID], Uploads: r.uploads[p.NamespaceID]}
		v.Statistics.Wiki, v.Statistics.Snippets = r.attached[p.ID].Wiki, r.attached[p.ID].Snippets
		v.Statistics.Artifacts, v.Statistics.Packages = r.artifacts[p.ID], r.packages[p.ID]
	}
	if want.License {
		v.License = &LicenseView{}
		if s.can(ctx, as, authz.ReadCode, p) {
			*v.License = LicenseView{Path: p.LicensePath, Key: p.LicenseKey}
		}
	}
	if p.administers(as) {
		v.Admin = &AdminView{Settings: set, ImportError: p.ImportError, GroupRunnersEnabled: p.GroupRunnersEnabled}
	}
	v.Settings = set.public()
	return v
}

// administers reports whether the actor sees how the project is set up, which a closed
// project does not end.
func (p *Project) administers(as authz.Actor) bool { return as.Admin || p.Level >= authz.Maintainer }

// Administers reports whether the actor who read the project sees how it is set up.
func (p *Project) Administers(as authz.Actor) bool { return p.administers(as) }

// public is what every caller who sees the whole project sees of its settings.
func (s Settings) public() Settings {
	s.ImportURL = ""
	s.CIDefaultGitDepth, s.CIDeletePipelinesInSeconds = nil, nil
	s.CIForwardDeploymentEnabled, s.CIForwardDeploymentRollbackAllowed = false, false
	s.CIJobTokenScopeEnabled, s.CISeparatedCaches, s.CIAllowForkPipelinesInParent = false, false, false
	s.CIIDTokenSubClaimComponents, s.BuildGitStrategy, s.KeepLatestArtifact = nil, "", false
	s.RestrictUserDefinedVariables, s.CIPipelineVariablesMinimumRole = false, ""
	s.RunnerTokenExpirationInterval = nil
	s.ResourceGroupDefaultProcessMode, s.AutoCancelPendingPipelines, s.BuildTimeout = "", "", 0
	s.AutoDevopsEnabled, s.AutoDevopsDeployStrategy = false, ""
	s.CIPushRepositoryForJobToken, s.CIRestrictPipelineCancellationRole = false, ""
	return s
}
