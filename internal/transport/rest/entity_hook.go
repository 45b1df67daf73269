package rest

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/webhook"
	"tenon/internal/transport/rest/api"
)

// hookEntity is what hooks of all places have.
type hookEntity struct {
	ID                     webhook.ID     `json:"id"`
	URL                    string         `json:"url"`
	Name                   *string        `json:"name"`
	Description            *string        `json:"description"`
	CreatedAt              api.Time       `json:"created_at"`
	PushEvents             bool           `json:"push_events"`
	TagPushEvents          bool           `json:"tag_push_events"`
	MergeRequestsEvents    bool           `json:"merge_requests_events"`
	RepositoryUpdateEvents bool           `json:"repository_update_events"`
	EnableSSLVerification  bool           `json:"enable_ssl_verification"`
	AlertStatus            webhook.Status `json:"alert_status"`
	DisabledUntil          *api.Time      `json:"disabled_until"`
	DisabledReason         *string        `json:"disabled_reason" doc:"Why the last call failed, while the hook is not executable"`
	URLVariables           []hookKey      `json:"url_variables"`
	PushEventsBranchFilter *string        `json:"push_events_branch_filter"`
	BranchFilterStrategy   string         `json:"branch_filter_strategy"`
	CustomWebhookTemplate  *string        `json:"custom_webhook_template"`
	CustomHeaders          []hookKey      `json:"custom_headers"`
}

type hookKey struct {
	Key string `json:"key"`
}

// hookFlagsEntity is what hooks of projects and groups have beside.
type hookFlagsEntity struct {
	IssuesEvents              bool `json:"issues_events"`
	ConfidentialIssuesEvents  bool `json:"confidential_issues_events"`
	NoteEvents                bool `json:"note_events"`
	ConfidentialNoteEvents    bool `json:"confidential_note_events"`
	PipelineEvents            bool `json:"pipeline_events"`
	WikiPageEvents            bool `json:"wiki_page_events"`
	DeploymentEvents          bool `json:"deployment_events"`
	FeatureFlagEvents         bool `json:"feature_flag_events"`
	JobEvents                 bool `json:"job_events"`
	ReleasesEvents            bool `json:"releases_events"`
	MilestoneEvents           bool `json:"milestone_events"`
	EmojiEvents               bool `json:"emoji_events"`
	ResourceAccessTokenEvents bool `json:"resource_access_token_events"`
	VulnerabilityEvents       bool `json:"vulnerability_events"`
}

type projectHookEntity struct {
	hookEntity
	ProjectID int64 `json:"project_id"`
	hookFlagsEntity
}

type groupHookEntity struct {
	hookEntity
	GroupID int64 `json:"group_id"`
	hookFlagsEntity
	SubgroupEvents bool `json:"subgroup_events"`
	MemberEvents   bool `json:"member_events"`
	ProjectEvents  bool `json:"project_events"`
}

type systemHookEntity struct{ hookEntity }

func hookKeys(names []string) []hookKey {
	out := make([]hookKey, len(names))
	for i, name := range names {
		out[i].Key = name
	}
	return out
}

func newHook(h *webhook.Hook) hookEntity {
	out := hookEntity{
		ID: h.ID, URL: h.URL, Name: h.Name, Description: h.Description, CreatedAt: api.Time(h.CreatedAt.Time), PushEvents: h.Push, TagPushEvents: h.TagPush,
		MergeRequestsEvents: h.MergeRequests, RepositoryUpdateEvents: h.RepositoryUpdate, EnableSSLVerification: h.VerifyTLS, AlertStatus: h.Status,
		DisabledReason: h.Reason,
		URLVariables:   hookKeys(h.Variables), PushEventsBranchFilter: h.BranchFilter, BranchFilterStrategy: h.Strategy, CustomWebhookTemplate: h.Template,
		CustomHeaders: hookKeys(h.Headers),
	}
	if h.Status == webhook.TemporarilyDisabled {
		until := api.Time(h.DisabledUntil.V.Time)
		out.DisabledUntil = &until
	}
	return out
}

func newHookFlags(h *webhook.Hook) hookFlagsEntity {
	return hookFlagsEntity{
		IssuesEvents: h.Issues, ConfidentialIssuesEvents: h.ConfidentialIssues, NoteEvents: h.Note, ConfidentialNoteEvents: h.ConfidentialNote,
		PipelineEvents: h.Pipeline, WikiPageEvents: h.WikiPage, DeploymentEvents: h.Deployment, FeatureFlagEvents: h.FeatureFlag, JobEvents: h.Job,
		ReleasesEvents: h.Releases, MilestoneEvents: h.Milestone, EmojiEvents: h.Emoji, ResourceAccessTokenEvents: h.ResourceAccessToken,
		VulnerabilityEvents: h.Vulnerability,
	}
}

func newProjectHook(at authz.Place, h *webhook.Hook) projectHookEntity {
	return projectHookEntity{newHook(h), at.ID, newHookFlags(h)}
}

func newGroupHook(at authz.Place, h *webhook.Hook) groupHookEntity {
	return groupHookEntity{newHook(h), at.ID, newHookFlags(h), h.Subgroup, h.Member, h.Project}
}

func newSystemHook(_ authz.Place, h *webhook.Hook) systemHookEntity {
	return systemHookEntity{newHook(h)}
}

// hookItem is a URL variable or a custom header of a hook.
type hookItem struct {
	Key   string `param:"key,required" doc:"Name"`
	Value string `param:"value,required" doc:"Value, which is never returned"`
}

// hookParams are parameters that all hooks have.
type hookParams struct {
	webhook.CodeChanges
	webhook.Attributes
	Token        *string    `param:"token" doc:"Secret token that is sent along; never returned"`
	URLVariables []hookItem `param:"url_variables" doc:"Variables of the URL, which are merged into those that are there"`
	Headers      []hookItem `param:"custom_headers" doc:"Headers that are sent along, which are merged into those that are there"`
}

func hookItems(list []hookItem) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for _, item := range list {
		out[item.Key] = item.Value
	}
	return out
}

func (p *hookParams) of(url *string) webhook.Changes {
	return webhook.Changes{
		URL: url, CodeChanges: p.CodeChanges, Attributes: p.Attributes, Token: p.Token, Variables: hookItems(p.URLVariables), Headers: hookItems(p.Headers),
	}
}

type (
	newHookURL struct {
		URL string `param:"url,required" doc:"URL of the receiver, in which {name} stands for a variable"`
	}

	hookURL struct {
		URL *string `param:"url" doc:"URL of the receiver; another one removes the token, variables and headers that are not sent along"`
	}

	createProjectHookParams struct {
		placePath
		newHookURL
		hookParams
		webhook.PlaceChanges
	}

	updateProjectHookParams struct {
		hookPath
		hookURL
		hookParams
		webhook.PlaceChanges
	}

	createGroupHookParams struct {
		placePath
		newHookURL
		hookParams
		webhook.PlaceChanges
		webhook.GroupChanges
	}

	updateGroupHookParams struct {
		hookPath
		hookURL
		hookParams
		webhook.PlaceChanges
		webhook.GroupChanges
	}

	createSystemHookParams struct {
		noPlace
		newHookURL
		hookParams
		webhook.SystemChanges
	}

	updateSystemHookParams struct {
		systemHookPath
		hookURL
		hookParams
		webhook.SystemChanges
	}
)

func (p createProjectHookParams) changes() webhook.Changes {
	c := p.of(&p.newHookURL.URL)
	c.PlaceChanges = p.PlaceChanges
	return c
}

func (p updateProjectHookParams) changes() webhook.Changes {
	c := p.of(p.hookURL.URL)
	c.PlaceChanges = p.PlaceChanges
	return c
}

func (p createGroupHookParams) changes() webhook.Changes {
	c := p.of(&p.newHookURL.URL)
	c.PlaceChanges, c.GroupChanges = p.PlaceChanges, p.GroupChanges
	return c
}

func (p updateGroupHookParams) changes() webhook.Changes {
	c := p.of(p.hookURL.URL)
	c.PlaceChanges, c.GroupChanges = p.PlaceChanges, p.GroupChanges
	return c
}

func (p createSystemHookParams) changes() webhook.Changes {
	c := p.of(&p.newHookURL.URL)
	c.SystemChanges = p.SystemChanges
	return c
}

func (p updateSystemHookParams) changes() webhook.Changes {
	c := p.of(p.hookURL.URL)
	c.SystemChanges = p.SystemChanges
	return c
}
