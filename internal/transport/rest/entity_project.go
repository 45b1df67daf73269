package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// projectBasic is what everybody sees of a project, and what short lists show.
type projectBasic struct {
	ID                project.ID `json:"id"`
	Description       *string    `json:"description"`
	Name              string     `json:"name"`
	NameWithNamespace string     `json:"name_with_namespace"`
	Path              string     `json:"path"`
	PathWithNamespace string     `json:"path_with_namespace"`
	CreatedAt         api.Time   `json:"created_at"`
	DefaultBranch     *string    `json:"default_branch"`
	TagList           []string   `json:"tag_list"`
	Topics            []string   `json:"topics"`
	SSHURL            string     `json:"ssh_url_to_repo"`
	HTTPURL           string     `json:"http_url_to_repo"`
	WebURL            string     `json:"web_url"`
	*projectCode                 // for those who may read code
	AvatarURL         *string    `json:"avatar_url"`
	StarCount         int64      `json:"star_count"`
	LastActivityAt    api.Time   `json:"last_activity_at"`
	Visibility        string     `json:"visibility"`

	Namespace         projectNamespace   `json:"namespace"`
	RepositoryStorage string             `json:"repository_storage,omitempty"`    // for administrators
	SizeLimit         *int64             `json:"repository_size_limit,omitempty"` // bytes, where it is the project's own; for administrators
	CustomAttributes  *[]attributeEntity `json:"custom_attributes,omitempty"`
}

// projectForm is a project, as much of it as the caller sees or asks for.
type projectForm interface {
	OneOf(basic *projectBasic, full *projectEntity)
}

// OneOf names the forms of a project.
func (*projectBasic) OneOf(*projectBasic, *projectEntity) {}

type projectCode struct {
	ReadmeURL  *string `json:"readme_url"`
	ForksCount int64   `json:"forks_count"`
}

// projectNamespace is where a project stands.
type projectNamespace struct {
	ID        namespace.ID   `json:"id"`
	Name      string         `json:"name"`
	Path      string         `json:"path"`
	Kind      namespace.Kind `json:"kind"`
	FullPath  string         `json:"full_path"`
	ParentID  *namespace.ID  `json:"parent_id"`
	AvatarURL *string        `json:"avatar_url"`
	WebURL    string         `json:"web_url"`
}

// projectLinks are addresses in this API.
type projectLinks struct {
	Self          string `json:"self"`
	Issues        string `json:"issues,omitempty"`
	MergeRequests string `json:"merge_requests,omitempty"`
	Branches      string `json:"repo_branches"`
	Labels        string `json:"labels"`
	Events        string `json:"events"`
	Members       string `json:"members"`
	ClusterAgents string `json:"cluster_agents"`
}

type expirationPolicy struct {
	Cadence       string    `json:"cadence"`
	Enabled       bool      `json:"enabled"`
	KeepN         *int64    `json:"keep_n"`
	OlderThan     *string   `json:"older_than"`
	NameRegex     *string   `json:"name_regex"`
	NameRegexKeep *string   `json:"name_regex_keep"`
	NextRunAt     *api.Time `json:"next_run_at"`
}

type sharedGroup struct {
	ID       namespace.ID `json:"group_id"`
	Name     string       `json:"group_name"`
	FullPath string       `json:"group_full_path"`
	Level    authz.Level  `json:"group_access_level"`
	Expires  *string      `json:"expires_at"`
}

type projectAccess struct {
	Level        authz.Level `json:"access_level"`
	Notification int         `json:"notification_level"`
}

type projectPermissions struct {
	Project *projectAccess `json:"project_access"`
	Group   *projectAccess `json:"group_access"`
}

type projectStatistics struct {
	CommitCount           int64 `json:"commit_count"`
	StorageSize           int64 `json:"storage_size"` // all below
	RepositorySize        int64 `json:"repository_size"`
	WikiSize              int64 `json:"wiki_size"`
	LFSObjectsSize        int64 `json:"lfs_objects_size"`
	JobArtifactsSize      int64 `json:"job_artifacts_size"`
	PipelineArtifactsSize int64 `json:"pipeline_artifacts_size"` // 0: nothing is kept of a pipeline but what its jobs have
	PackagesSize          int64 `json:"packages_size"`
	SnippetsSize          int64 `json:"snippets_size"`
	UploadsSize           int64 `json:"uploads_size"`
	ContainerRegistrySize int64 `json:"container_registry_size" later:"container registry"`
}

// projects renders projects as the caller may see them: callers who are not signed in get the
// basic form.
func (s *Server) projects(ctx context.Context, as authz.Actor, list []*project.Project, want project.ViewOptions) ([]projectForm, error) {
	views, err := s.Projects.Views(ctx, as, list, want)
	if err != nil {
		return nil, err
	}
	out := make([]projectForm, len(views))
	for i := range views {
		if v := &views[i]; v.Full == nil {
			out[i] = s.projectBasic(v)
		} else {
			out[i] = s.projectFull(v)
		}
	}
	return out, nil
}

func (s *Server) project(ctx context.Context, as authz.Actor, p *project.Project, want project.ViewOptions) (projectForm, error) {
	list, err := s.projects(ctx, as, []*project.Project{p}, want)
	if err != nil {
		return nil, err
	}
	if e, ok := list[0].(*projectEntity); ok && e.projectAdmin != nil {
		if e.RunnersToken, err = s.runnersToken(ctx, as, p.Place()); err != nil {
			return nil, err
		}
	}
	return list[0], nil
}

// runnersToken is the token with which runners of a place are registered, nil for those who do
// not administrate it. Lists do not show it.
func (s *Server) runnersToken(ctx context.Context, as authz.Actor, at authz.Place) (*string, error) {
	tokens, err := s.Runners.RegistrationTokens(ctx, as, []authz.Place{at})
	if err != nil {
		return nil, err
	}
	return present(tokens[at.Namespace]), nil
}

func access(own *namespace.Own) *projectAccess {
	if own == nil {
		return nil
	}
	level, ok := notificationLevels[own.Notification]
	if !ok {
		level = globalLevel
	}
	return &projectAccess{Level: own.Level, Notification: level}
}

// globalLevel is the notification level of callers who chose none for a place.
const globalLevel = 3

// notificationLevels are the numbers of notification levels.
var notificationLevels = map[string]int{"disabled": 0, "participating": 1, "watch": 2, "global": globalLevel, "mention": 4, "custom": 5}

func sharedGroups(shares []namespace.Share) []sharedGroup {
	out := make([]sharedGroup, len(shares))
	for i, share := range shares {
		out[i] = sharedGroup{share.GroupID, share.Name, share.FullPath, share.Level, share.ExpiresOn}
	}
	return out
}

func (s *Server) projectBasic(p *project.View) *projectBasic {
	topics := p.Topics()
	e := &projectBasic{
		ID: p.ID, Description: p.Description, Name: p.Name, NameWithNamespace: p.FullName, Path: p.Path,
		PathWithNamespace: p.FullPath, CreatedAt: api.Time(p.CreatedAt.Time), DefaultBranch: &p.Branch,
		TagList: topics, Topics: topics, SSHURL: s.URLs.SSHRepository(p.FullPath), HTTPURL: s.URLs.HTTPRepository(p.FullPath),
		WebURL: s.URLs.Project(p.FullPath), AvatarURL: s.upload("project", int64(p.ID), p.Avatar), StarCount: p.StarCount,
		LastActivityAt: api.Time(p.LastActivityAt.Time), Visibility: p.Visibility.String(),
	}
	if p.Parent != nil {
		e.Namespace = s.projectNamespace(p.Parent, p.Person)
	}
	if c := p.Code; c != nil {
		e.projectCode = &projectCode{ReadmeURL: s.blobURL(p, c.ReadmePath), ForksCount: c.ForksCount}
	}
	if p.Storage != nil {
		e.RepositoryStorage, e.SizeLimit = p.Storage.Name, p.Storage.SizeLimit
	}
	return e
}

func (s *Server) projectNamespace(n *namespace.Namespace, owner *account.Summary) projectNamespace {
	e := projectNamespace{
		ID: n.ID, Name: n.Name, Path: n.Path, Kind: n.Kind, FullPath: n.FullPath, ParentID: n.ParentID,
		AvatarURL: s.upload("group", int64(n.ID), n.Avatar), WebURL: s.namespaceURL(n),
	}
	if n.Kind == namespace.UserKind {
		e.AvatarURL = nil
		if owner != nil {
			e.AvatarURL = owner.AvatarURL
		}
	}
	return e
}

func (s *Server) namespaceURL(n *namespace.Namespace) string {
	if n.Kind == namespace.GroupKind {
		return s.URLs.Group(n.FullPath)
	}
	return s.URLs.Project(n.FullPath)
}

// blobURL is the page of a file of the default branch, nil where there is no file.
func (s *Server) blobURL(p *project.View, path string) *string {
	if path == "" || p.DefaultBranch == nil {
		return nil
	}
	address := s.URLs.Blob(p.FullPath, *p.DefaultBranch, path)
	return &address
}

// upload returns the address of a stored picture, nil for none.
func (s *Server) upload(kind string, id int64, stored string) *string {
	if stored == "" {
		return nil
	}
	address := s.URLs.Avatar(kind, id, stored)
	return &address
}
