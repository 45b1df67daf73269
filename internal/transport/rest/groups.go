package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("groups", (*Server).groupRoutes)

func (s *Server) groupRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/groups", s.listGroups).Doc("List groups").Needs(authz.ListGroups).Public(),
		api.Post("/groups", s.createGroup).Doc("Create a group").Needs(authz.CreateTopGroup, authz.CreateSubgroup),
		api.Get("/groups/:id", s.getGroup).Doc("Get a group").Needs(authz.ReadGroup).Public().Rate(limit.GroupGet).DeprecatedWith("with_projects"),
		api.Put("/groups/:id", s.updateGroup).Timed().Doc("Update a group").Needs(authz.AdminGroup),
		api.Delete("/groups/:id", s.deleteGroup).Timed().Doc("Delete a group").Needs(authz.DeleteGroup).Status(http.StatusAccepted),
		api.Post("/groups/:id/restore", s.restoreGroup).Doc("Restore a group").Needs(authz.DeleteGroup),
		api.Post("/groups/:id/archive", s.archiveGroup).Doc("Archive a group").Needs(authz.ArchiveGroup).Status(http.StatusOK),
		api.Post("/groups/:id/unarchive", s.unarchiveGroup).Doc("Unarchive a group").Needs(authz.ArchiveGroup).Status(http.StatusOK),
		api.Get("/groups/:id/projects", s.listGroupProjects).Doc("List the projects of a group").Needs(authz.ListProjects).Public().Rate(limit.GroupProjects),
		api.Get("/groups/:id/subgroups", s.listSubgroups).Doc("List the subgroups of a group").Needs(authz.ListGroups).Public(),
		api.Get("/groups/:id/descendant_groups", s.listDescendants).Doc("List the descendant groups of a group").Needs(authz.ListGroups).Public(),
	)
}

// groupPath names a group by its number or its full path.
type groupPath struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the group"`
}

// groupFilter are the parameters of every list of groups.
type groupFilter struct {
	Statistics     bool              `param:"statistics" default:"false" doc:"Include statistics"`
	Archived       *bool             `param:"archived" doc:"Filter by archived status"`
	Active         *bool             `param:"active" doc:"Filter by groups that are neither archived nor marked for deletion"`
	SkipGroups     api.Ints          `param:"skip_groups" doc:"IDs of groups to exclude"`
	AllAvailable   *bool             `param:"all_available" doc:"Return all groups the current user can see"`
	Visibility     *string           `param:"visibility" values:"private,internal,public" doc:"Filter by visibility"`
	Search         string            `param:"search" doc:"Search in names and paths"`
	Owned          bool              `param:"owned" default:"false" doc:"Return only those owned by the current user"`
	OrderBy        string            `param:"order_by" default:"name" values:"name,path,id,similarity" doc:"Column to order by"`
	Sort           string            `param:"sort" default:"asc" values:"asc,desc" doc:"asc or desc"`
	MinAccessLevel *int              `param:"min_access_level" values:"5,10,15,20,25,30,40,50" doc:"Minimum access level of the current user"`
	MarkedOn       api.Date          `param:"marked_for_deletion_on" doc:"Return items marked for deletion on this date, YYYY-MM-DD"`
	Attributes     map[string]string `param:"custom_attributes" doc:"Return those with these custom attributes (administrators only)"`
	Custom         bool              `param:"with_custom_attributes" default:"false" doc:"Include custom attributes (administrators only)"`
}

func (p *groupFilter) filter(page api.Page) namespace.GroupFilter {
	f := namespace.GroupFilter{
		Search: p.Search, Visibility: visibilityOf(p.Visibility), Archived: p.Archived, Active: p.Active, MarkedOn: string(p.MarkedOn),
		Attributes: p.Attributes, Owned: p.Owned,
		OrderBy: p.OrderBy, Desc: p.Sort == "desc", Range: page.Range(),
	}
	for _, id := range p.SkipGroups {
		f.Skip = append(f.Skip, namespace.ID(id))
	}
	if p.MinAccessLevel != nil {
		f.MinLevel = authz.Level(*p.MinAccessLevel)
	}
	f.MemberOnly = p.AllAvailable != nil && !*p.AllAvailable
	return f
}

type listGroupsParams struct {
	api.Page
	groupFilter
	TopLevelOnly bool `param:"top_level_only" doc:"Return only top-level groups"`
}

func (s *Server) listGroups(ctx context.Context, as authz.Actor, p listGroupsParams) (api.List[groupEntity], error) {
	f := p.filter(p.Page)
	f.TopLevel = p.TopLevelOnly
	f.Reachable = p.AllAvailable == nil
	return s.pageOfGroups(ctx, as, p.Page, &p.groupFilter, f)
}

func (s *Server) pageOfGroups(ctx context.Context, as authz.Actor, page api.Page, p *groupFilter, f namespace.GroupFilter,
) (api.List[groupEntity], error) {
	if err := page.CheckOffset("Group"); err != nil {
		return api.List[groupEntity]{}, err
	}
	list, err := s.Namespaces.List(ctx, as, f)
	if err != nil {
		return api.List[groupEntity]{}, err
	}
	views, err := s.Namespaces.Views(ctx, as, list.Items, namespace.GroupViewOptions{Sizes: p.Statistics, CustomAttributes: p.Custom})
	if err != nil {
		return api.List[groupEntity]{}, err
	}
	items := make([]groupEntity, len(views))
	for i := range views {
		items[i] = s.group(&views[i])
	}
	return api.Listed(list, items), nil
}

type listSubgroupsParams struct {
	groupPath
	api.Page
	groupFilter
}

func (s *Server) listSubgroups(ctx context.Context, as authz.Actor, p listSubgroupsParams) (api.List[groupEntity], error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[groupEntity]{}, err
	}
	f := p.filter(p.Page)
	f.Parent = &g.ID
	return s.pageOfGroups(ctx, as, p.Page, &p.groupFilter, f)
}

func (s *Server) listDescendants(ctx context.Context, as authz.Actor, p listSubgroupsParams) (api.List[groupEntity], error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[groupEntity]{}, err
	}
	f := p.filter(p.Page)
	f.Ancestor = &g.ID
	return s.pageOfGroups(ctx, as, p.Page, &p.groupFilter, f)
}

// groupParams are what both creating and changing a group take.
type groupParams struct {
	avatarParam
	namespace.GroupAttributes
	Visibility     *string           `param:"visibility" values:"private,internal,public" doc:"Visibility of the group"`
	EmailsDisabled *bool             `param:"emails_disabled" doc:"Deprecated: use emails_enabled"`
	Protections    *branchProtection `param:"default_branch_protection_defaults" doc:"Default branch protection options"`

	SizeLimit           api.Opt[int64] `param:"repository_size_limit" doc:"Size limit of repositories in MB; null inherits, 0 is unlimited (administrators only)"`
	PreventSharing      *bool          `param:"prevent_sharing_groups_outside_hierarchy" doc:"Prevent sharing outside of the group hierarchy"`
	PreventForking      *bool          `param:"prevent_forking_outside_group" doc:"Prevent forking outside of the group"`
	MembershipLock      *bool          `param:"membership_lock" doc:"Prevent adding new members to projects of this group"`
	MaxArtifactsSize    api.Opt[int64] `param:"max_artifacts_size" doc:"Maximum size of job artifacts in MB; null inherits (above that of the instance administrators only)"`
	RunnersMinutes      *int64         `param:"shared_runners_minutes_limit" doc:"Compute minutes per month (administrators only)"`
	ExtraRunnersMinutes *int64         `param:"extra_shared_runners_minutes_limit" doc:"Extra compute minutes (administrators only)"`
	FileTemplateProject api.Opt[int64] `param:"file_template_project_id" doc:"ID of the project with custom file templates"`
	WikiAccessLevel     *string        `param:"wiki_access_level" values:"disabled,private,enabled" doc:"Access level of the wiki"`
	IPRanges            *string        `param:"ip_restriction_ranges" doc:"IP addresses or subnets that may access the group, separated by commas"`
	EmailDomains        *string        `param:"allowed_email_domains_list" doc:"Email domains allowed for members, separated by commas"`
	GitProtocol         *string        `param:"enabled_git_access_protocol" values:"ssh,http,all" doc:"Enabled Git access protocol"`
	ShowDiffPreview     *bool          `param:"show_diff_preview_in_email" doc:"Include diff previews in email notifications"`
	MathLimits          *bool          `param:"math_rendering_limits_enabled" doc:"Enable math rendering limits"`
	LockMathLimits      *bool          `param:"lock_math_rendering_limits_enabled" doc:"Lock the setting for all descendant groups"`
	ServiceTokensExpire *bool          `param:"service_access_tokens_expiration_enforced" doc:"Tokens of the group's service accounts need an expiry date, also where the instance does not ask for one"`
}

// branchProtection says how default branches are protected.
type branchProtection struct {
	Push  []protectionLevel `param:"allowed_to_push" json:"allowed_to_push" doc:"Users, groups, deploy keys and access levels allowed to push"`
	Force *bool             `param:"allow_force_push" json:"allow_force_push" doc:"Allow force push"`
	Merge []protectionLevel `param:"allowed_to_merge" json:"allowed_to_merge" doc:"Users, groups and access levels allowed to merge"`
	First *bool             `param:"developer_can_initial_push" json:"developer_can_initial_push,omitempty" doc:"Allow Developers to push the initial commit"`
}

// protectionDefaults is the JSON of a branchProtection.
type protectionDefaults json.RawMessage

// MarshalJSON returns the JSON as it is.
func (d protectionDefaults) MarshalJSON() ([]byte, error) { return json.RawMessage(d).MarshalJSON() }

// Shape says what the JSON holds.
func (protectionDefaults) Shape() reflect.Type { return reflect.TypeFor[branchProtection]() }

type protectionLevel struct {
	Level int64 `param:"access_level" values:"0,30,40,60" json:"access_level" doc:"Access level"`
}

func (p *groupParams) changes() (namespace.GroupChanges, error) {
	c := namespace.GroupChanges{
		GroupAttributes: p.GroupAttributes, Visibility: visibilityOf(p.Visibility), SizeLimit: sizeLimit(p.SizeLimit),
		Settings: namespace.GroupSettingsChanges{
			PreventSharingGroupsOutsideHierarchy: p.PreventSharing, PreventForkingOutsideGroup: p.PreventForking,
			SharedRunnersMinutesLimit: p.RunnersMinutes, ExtraSharedRunnersMinutesLimit: p.ExtraRunnersMinutes,
			MembershipLock: p.MembershipLock, MaxArtifactsSize: number(p.MaxArtifactsSize), FileTemplateProjectID: p.FileTemplateProject.OrZero(),
			WikiAccessLevel: p.WikiAccessLevel, IPRestrictionRanges: p.IPRanges, AllowedEmailDomainsList: p.EmailDomains,
			EnabledGitAccessProtocol: p.GitProtocol, ShowDiffPreviewInEmail: p.ShowDiffPreview,
			MathRenderingLimitsEnabled: p.MathLimits, LockMathRenderingLimitsEnabled: p.LockMathLimits,
			ServiceTokensExpire: p.ServiceTokensExpire,
		},
	}
	if c.EmailsEnabled == nil && p.EmailsDisabled != nil {
		on := !*p.EmailsDisabled
		c.EmailsEnabled = &on
	}
	if p.DefaultBranchProtection != nil {
		c.Settings.DefaultBranchProtectionDefaults = json.RawMessage(protections[*p.DefaultBranchProtection])
	}
	if p.Protections != nil {
		text, err := json.Marshal(p.Protections)
		if err != nil {
			return c, err
		}
		c.Settings.DefaultBranchProtectionDefaults = text
	}
	return c, nil
}

// sizeLimit returns a limit of repositories that was sent in MB; nil where none was.
func sizeLimit(sent api.Opt[int64]) *namespace.SizeLimit {
	if !sent.Set {
		return nil
	}
	out := &namespace.SizeLimit{Bytes: sent.Ptr()}
	if out.Bytes != nil {
		bytes := max(min(*out.Bytes, 1<<40), -1) << 20
		out.Bytes = &bytes
	}
	return out
}

type createGroupParams struct {
	Name     string        `param:"name,required" doc:"Name of the group"`
	Path     string        `param:"path,required" doc:"Path"`
	ParentID *namespace.ID `param:"parent_id" doc:"ID of the parent group; unset for a top-level group"`
	groupParams
}

func (s *Server) createGroup(ctx context.Context, as authz.Actor, p createGroupParams) (*groupDetails, error) {
	sent, err := s.picture(p.avatarParam)
	if err != nil {
		return nil, err
	}
	c, err := p.changes()
	if err != nil {
		return nil, err
	}
	c.Name, c.Path = &p.Name, &p.Path
	g, err := s.Namespaces.Create(ctx, as, namespace.GroupInput{ParentID: p.ParentID, GroupChanges: c})
	if err != nil {
		return nil, err
	}
	if err := s.groupPortrayed(ctx, as, g, sent); err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{projects: true})
}

type getGroupParams struct {
	groupPath
	Custom   bool `param:"with_custom_attributes" doc:"Include custom attributes (administrators only)"`
	Projects bool `param:"with_projects" default:"true" doc:"Include the projects of the group, at most 100"`
}

func (s *Server) getGroup(ctx context.Context, as authz.Actor, p getGroupParams) (*groupDetails, error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{custom: p.Custom, projects: p.Projects})
}

type updateGroupParams struct {
	groupPath
	Name *string `param:"name" doc:"Name of the group"`
	Path *string `param:"path" doc:"Path"`
	groupParams
}

func (s *Server) updateGroup(ctx context.Context, as authz.Actor, p updateGroupParams) (*groupDetails, error) {
	sent, err := s.picture(p.avatarParam)
	if err != nil {
		return nil, err
	}
	c, err := p.changes()
	if err != nil {
		return nil, err
	}
	c.Name, c.Path = p.Name, p.Path
	g, err := s.Namespaces.Update(ctx, as, p.ID, c)
	if err != nil {
		return nil, err
	}
	if err := s.groupPortrayed(ctx, as, g, sent); err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{projects: true})
}

type deleteGroupParams struct {
	groupPath
	Permanently bool   `param:"permanently_remove" doc:"Delete a subgroup that is marked for deletion at once"`
	FullPath    string `param:"full_path" doc:"Full path of the group; required with permanently_remove"`
}

func (s *Server) deleteGroup(ctx context.Context, as authz.Actor, p deleteGroupParams) (accepted, error) {
	if p.Permanently {
		return accepted{"202 Accepted"}, s.Projects.DeleteGroup(ctx, as, p.ID, p.FullPath)
	}
	return accepted{"202 Accepted"}, s.Projects.MarkGroup(ctx, as, p.ID)
}

func (s *Server) restoreGroup(ctx context.Context, as authz.Actor, p groupPath) (*groupDetails, error) {
	g, err := s.Namespaces.Restore(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{projects: true})
}

func (s *Server) archiveGroup(ctx context.Context, as authz.Actor, p groupPath) (*groupDetails, error) {
	g, err := s.Namespaces.Archive(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{projects: true})
}

func (s *Server) unarchiveGroup(ctx context.Context, as authz.Actor, p groupPath) (*groupDetails, error) {
	g, err := s.Namespaces.Unarchive(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.groupDetails(ctx, as, g, groupView{projects: true})
}

type listGroupProjectsParams struct {
	groupPath
	api.Page
	projectFilter
	WithShared       bool `param:"with_shared" default:"true" doc:"Include projects shared with the group"`
	IncludeSubgroups bool `param:"include_subgroups" default:"false" doc:"Include projects of subgroups"`
	IncludeAncestors bool `param:"include_ancestor_groups" default:"false" doc:"Include projects of ancestor groups"`
	SecurityReports  bool `param:"with_security_reports" default:"false" doc:"Return only projects with security reports; no project has any"`
}

func (s *Server) listGroupProjects(ctx context.Context, as authz.Actor, p listGroupProjectsParams) (api.List[projectForm], error) {
	g, err := s.Namespaces.Find(ctx, as, p.ID)
	if err != nil {
		return api.List[projectForm]{}, err
	}
	f := p.filter()
	f.Parent, f.Shared, f.Subgroups, f.Ancestors = &g.ID, p.WithShared, p.IncludeSubgroups, p.IncludeAncestors
	f.Nothing = f.Nothing || p.SecurityReports
	return s.pageOfProjects(ctx, as, p.Page, &p.projectFilter, f)
}
