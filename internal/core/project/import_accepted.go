package project

import (
	"encoding/json"
	"strings"

	"tenon/internal/core/authz"
)

// accepted are attributes of a project that archives may have, and seldom do. One of another type is left aside.
type accepted struct {
	VisibilityName         json.RawMessage `tree:"visibility"`
	MergeMethodName        json.RawMessage `tree:"merge_method"`
	GitStrategy            json.RawMessage `tree:"build_git_strategy"`
	AutoDevops             json.RawMessage `tree:"auto_devops_enabled"`
	AutoDevopsStrategy     json.RawMessage `tree:"auto_devops_deploy_strategy"`
	IssuesOn               json.RawMessage `tree:"issues_enabled"`
	MergeRequestsOn        json.RawMessage `tree:"merge_requests_enabled"`
	WikiOn                 json.RawMessage `tree:"wiki_enabled"`
	SnippetsOn             json.RawMessage `tree:"snippets_enabled"`
	JobsOn                 json.RawMessage `tree:"jobs_enabled"`
	RegistryOn             json.RawMessage `tree:"container_registry_enabled"`
	SecurityOn             json.RawMessage `tree:"security_and_compliance_enabled"`
	RequirementsOn         json.RawMessage `tree:"requirements_enabled"`
	IssuesLevel            json.RawMessage `tree:"issues_access_level"`
	MergeRequestsLevel     json.RawMessage `tree:"merge_requests_access_level"`
	WikiLevel              json.RawMessage `tree:"wiki_access_level"`
	SnippetsLevel          json.RawMessage `tree:"snippets_access_level"`
	BuildsLevel            json.RawMessage `tree:"builds_access_level"`
	RepositoryLevel        json.RawMessage `tree:"repository_access_level"`
	PagesLevel             json.RawMessage `tree:"pages_access_level"`
	ForkingLevel           json.RawMessage `tree:"forking_access_level"`
	MonitorLevel           json.RawMessage `tree:"monitor_access_level"`
	AnalyticsLevel         json.RawMessage `tree:"analytics_access_level"`
	SecurityLevel          json.RawMessage `tree:"security_and_compliance_access_level"`
	ContainerRegistryLevel json.RawMessage `tree:"container_registry_access_level"`
	PackageRegistryLevel   json.RawMessage `tree:"package_registry_access_level"`
	EnvironmentsLevel      json.RawMessage `tree:"environments_access_level"`
	FeatureFlagsLevel      json.RawMessage `tree:"feature_flags_access_level"`
	ReleasesLevel          json.RawMessage `tree:"releases_access_level"`
	InfrastructureLevel    json.RawMessage `tree:"infrastructure_access_level"`
	ModelExperimentsLevel  json.RawMessage `tree:"model_experiments_access_level"`
	ModelRegistryLevel     json.RawMessage `tree:"model_registry_access_level"`
	RequirementsLevel      json.RawMessage `tree:"requirements_access_level"`
}

// as decodes a value; nil where it is absent or of another type.
func as[T any](text json.RawMessage) *T {
	var out *T
	if len(text) == 0 || json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

// oneOf decodes a word of a list; nil for anything else.
func oneOf(text json.RawMessage, words string) *string {
	word := as[string](text)
	if word == nil || strings.ContainsAny(*word, " ") || !strings.Contains(" "+words+" ", " "+*word+" ") {
		return nil
	}
	return word
}

// visibility is that of the archive, nil for none.
func (e *importedProject) visibility() *authz.Visibility {
	if e.Visibility != nil {
		return new(authz.Visibility(*e.Visibility))
	}
	word := oneOf(e.VisibilityName, "private internal public")
	if word == nil {
		return nil
	}
	return new(map[string]authz.Visibility{"private": authz.Private, "internal": authz.Internal, "public": authz.Public}[*word])
}

// apply adds what the archive has to the changes. Levels go before switches.
func (a *accepted) apply(c *Changes) {
	if c.MergeMethod == nil {
		c.MergeMethod = oneOf(a.MergeMethodName, "merge rebase_merge ff")
	}
	if c.Settings.BuildGitStrategy == nil {
		c.Settings.BuildGitStrategy = oneOf(a.GitStrategy, "fetch clone")
	}
	c.Settings.AutoDevopsEnabled = as[bool](a.AutoDevops)
	c.Settings.AutoDevopsDeployStrategy = oneOf(a.AutoDevopsStrategy, "continuous manual timed_incremental")
	levels := importedFeatures{
		MergeRequests: as[int64](a.MergeRequestsLevel), Issues: as[int64](a.IssuesLevel), Wiki: as[int64](a.WikiLevel), Snippets: as[int64](a.SnippetsLevel),
		Builds: as[int64](a.BuildsLevel), Repository: as[int64](a.RepositoryLevel), Pages: as[int64](a.PagesLevel), Forking: as[int64](a.ForkingLevel),
		Monitor: as[int64](a.MonitorLevel), Analytics: as[int64](a.AnalyticsLevel), SecurityAndCompliance: as[int64](a.SecurityLevel),
		ContainerRegistry: as[int64](a.ContainerRegistryLevel), PackageRegistry: as[int64](a.PackageRegistryLevel), Environments: as[int64](a.EnvironmentsLevel),
		FeatureFlags: as[int64](a.FeatureFlagsLevel), Releases: as[int64](a.ReleasesLevel), Infrastructure: as[int64](a.InfrastructureLevel),
		ModelExperiments: as[int64](a.ModelExperimentsLevel), ModelRegistry: as[int64](a.ModelRegistryLevel), Requirements: as[int64](a.RequirementsLevel),
	}
	features := levels.changes()
	for feature, on := range map[string]json.RawMessage{
		"issues": a.IssuesOn, "merge_requests": a.MergeRequestsOn, "wiki": a.WikiOn, "snippets": a.SnippetsOn, "builds": a.JobsOn, "container_registry": a.RegistryOn,
		"security_and_compliance": a.SecurityOn, "requirements": a.RequirementsOn,
	} {
		if on := as[bool](on); on != nil && features[feature] == "" {
			features[feature] = map[bool]string{false: "disabled", true: "enabled"}[*on]
		}
	}
	if len(features) > 0 {
		c.Features = features
	}
}
