package project

import (
	"context"
	"encoding/json"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/tree"
)

// ImportTypeFile is the import type of projects from archives.
const ImportTypeFile = "gitlab_project"

// ImportTypeTransfer is the import type of projects from direct transfers.
const ImportTypeTransfer = "gitlab_project_migration"

// FromFile says that a project is filled from an archive. Such a project is private until everything is there.
type FromFile struct {
	Type string // of the import, "" is that of archives

	// Begin stores what is to be done, in the transaction that makes the project.
	Begin func(ctx context.Context, p *Project) error
}

// Writers says how the settings of a project are imported.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{
		tree.Write("project", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedProject]) error {
			for _, r := range rows {
				if label := r.Value.ExternalAuthorizationLabel; label != nil && *label != "" {
					r.Change("external_authorization_classification_label is lost")
				}
			}
			return importEach(ctx, s, w, rows, func(p *Project, row *importedProject) (Changes, error) { return row.changes(p) })
		}),
		tree.Write("project_feature", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedFeatures]) error {
			return importEach(ctx, s, w, rows, func(_ *Project, row *importedFeatures) (Changes, error) { return Changes{Features: row.changes()}, nil })
		}),
		tree.Write("ci_cd_settings", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedCI]) error {
			return importEach(ctx, s, w, rows, func(_ *Project, row *importedCI) (Changes, error) { return row.changes(), nil })
		}),
		tree.Write("container_expiration_policy", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedExpiration]) error {
			return importEach(ctx, s, w, rows, func(_ *Project, row *exportedExpiration) (Changes, error) {
				return Changes{Settings: SettingsChanges{At: s.Now(), ContainerExpirationPolicy: &ExpirationChange{
					Cadence: &row.Cadence, Enabled: &row.Enabled, KeepN: row.KeepN, OlderThan: row.OlderThan, NameRegex: row.NameRegex, NameRegexKeep: row.NameRegexKeep,
				}}}, nil
			})
		}),
		tree.Write("auto_devops", func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedDevops]) error {
			return importEach(ctx, s, w, rows, func(_ *Project, row *exportedDevops) (Changes, error) {
				return Changes{Settings: SettingsChanges{PlainSettings: PlainSettings{AutoDevopsEnabled: &row.Enabled, AutoDevopsDeployStrategy: &row.DeployStrategy}}}, nil
			})
		}),
	}
}

// importEach changes the project by each row, without an event. What breaks a rule fails the row.
func importEach[T any](ctx context.Context, s *Service, w *tree.Writing, rows []*tree.Row[T], of func(p *Project, row *T) (Changes, error)) error {
	for _, r := range rows {
		_, err := s.update(ctx, w.As, ID(w.At.ID), func(ctx context.Context, p *Project) error {
			before := *p
			c, err := of(p, r.Value)
			if err == nil {
				err = c.apply(p)
			}
			if err == nil {
				bad := check(p, &before)
				err = bad.Err()
			}
			if err != nil {
				r.Fail(err.Error())
				*p = before
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("import settings of project: %w", err)
		}
	}
	return nil
}

// importedFeatures are the levels that a row has: one that it lacks stays as it is.
type importedFeatures struct {
	MergeRequests         *int64 `tree:"merge_requests_access_level"`
	Issues                *int64 `tree:"issues_access_level"`
	Wiki                  *int64 `tree:"wiki_access_level"`
	Snippets              *int64 `tree:"snippets_access_level"`
	Builds                *int64 `tree:"builds_access_level"`
	Repository            *int64 `tree:"repository_access_level"`
	Pages                 *int64 `tree:"pages_access_level"`
	Forking               *int64 `tree:"forking_access_level"`
	Monitor               *int64 `tree:"monitor_access_level"`
	Analytics             *int64 `tree:"analytics_access_level"`
	SecurityAndCompliance *int64 `tree:"security_and_compliance_access_level"`
	ContainerRegistry     *int64 `tree:"container_registry_access_level"`
	PackageRegistry       *int64 `tree:"package_registry_access_level"`
	Environments          *int64 `tree:"environments_access_level"`
	FeatureFlags          *int64 `tree:"feature_flags_access_level"`
	Releases              *int64 `tree:"releases_access_level"`
	Infrastructure        *int64 `tree:"infrastructure_access_level"`
	ModelExperiments      *int64 `tree:"model_experiments_access_level"`
	ModelRegistry         *int64 `tree:"model_registry_access_level"`
	Requirements          *int64 `tree:"requirements_access_level"`
}

func (e *importedFeatures) changes() map[string]string {
	out := map[string]string{}
	for feature, level := range map[string]*int64{
		"merge_requests": e.MergeRequests, "issues": e.Issues, "wiki": e.Wiki, "snippets": e.Snippets, "builds": e.Builds, "repository": e.Repository, "pages": e.Pages,
		"forking": e.Forking, "monitor": e.Monitor, "analytics": e.Analytics, "security_and_compliance": e.SecurityAndCompliance,
		"container_registry": e.ContainerRegistry, "package_registry": e.PackageRegistry, "environments": e.Environments, "feature_flags": e.FeatureFlags,
		"releases": e.Releases, "infrastructure": e.Infrastructure, "model_experiments": e.ModelExperiments, "model_registry": e.ModelRegistry,
		"requirements": e.Requirements,
	} {
		if level == nil {
			continue
		}
		if word, known := map[int64]string{0: "disabled", 10: "private", 20: "enabled", 30: "public"}[*level]; known {
			if word == "public" && feature != "pages" && feature != "package_registry" {
				word = "enabled"
			}
			out[feature] = word
		}
	}
	return out
}

// importedCI are the settings of pipelines that a row has.
type importedCI struct {
	DefaultGitDepth            *int64 `tree:"default_git_depth"`
	MergePipelinesEnabled      *bool  `tree:"merge_pipelines_enabled"`
	MergeTrainsEnabled         *bool  `tree:"merge_trains_enabled"`
	ForwardDeploymentEnabled   *bool  `tree:"forward_deployment_enabled"`
	KeepLatestArtifact         *bool  `tree:"keep_latest_artifact"`
	SeparatedCaches            *bool  `tree:"separated_caches"`
	AllowForkPipelinesInParent *bool  `tree:"allow_fork_pipelines_to_run_in_parent_project"`
	GroupRunnersEnabled        *bool  `tree:"group_runners_enabled"`
}

func (e *importedCI) changes() Changes {
	return Changes{
		Attributes: Attributes{GroupRunnersEnabled: e.GroupRunnersEnabled},
		Settings: SettingsChanges{PlainSettings: PlainSettings{
			CIDefaultGitDepth: e.DefaultGitDepth, MergePipelinesEnabled: e.MergePipelinesEnabled, MergeTrainsEnabled: e.MergeTrainsEnabled,
			CIForwardDeploymentEnabled: e.ForwardDeploymentEnabled, KeepLatestArtifact: e.KeepLatestArtifact, CISeparatedCaches: e.SeparatedCaches,
			CIAllowForkPipelinesInParent: e.AllowForkPipelinesInParent,
		}},
	}
}

// importedProject is what a row has of the project itself: what it lacks stays as it is.
type importedProject struct {
	Description                    *string         `tree:"description,max=2000"`
	Visibility                     *int64          `tree:"visibility_level"`
	Archived                       *bool           `tree:"archived"`
	Topics                         json.RawMessage `tree:"topics"`
	IssuesTemplate                 *string         `tree:"issues_template"`
	MergeRequestsTemplate          *string         `tree:"merge_requests_template"`
	ApprovalsBeforeMerge           *int64          `tree:"approvals_before_merge"`
	AutoCancelPendingPipelines     *string         `tree:"auto_cancel_pending_pipelines,names=enabled|disabled"`
	AutocloseReferencedIssues      *bool           `tree:"autoclose_referenced_issues"`
	BuildAllowGitFetch             *bool           `tree:"build_allow_git_fetch"`
	BuildCoverageRegex             *string         `tree:"build_coverage_regex"`
	BuildTimeout                   *int64          `tree:"build_timeout"`
	CIConfigPath                   *string         `tree:"ci_config_path"`
	FastForwardOnly                *bool           `tree:"merge_requests_ff_only_enabled"`
	Rebase                         *bool           `tree:"merge_requests_rebase_enabled"`
	OnlyMergeIfDiscussionsResolved *bool           `tree:"only_allow_merge_if_all_discussions_are_resolved"`
	OnlyMergeIfPipelineSucceeds    *bool           `tree:"only_allow_merge_if_pipeline_succeeds"`
	AllowMergeOnSkippedPipeline    *bool           `tree:"allow_merge_on_skipped_pipeline"`
	PrintingMergeRequestLink       *bool           `tree:"printing_merge_request_link_enabled"`
	PublicJobs                     *bool           `tree:"public_builds"`
	RemoveSourceBranchAfterMerge   *bool           `tree:"remove_source_branch_after_merge"`
	RequestAccessEnabled           *bool           `tree:"request_access_enabled"`
	ResolveOutdatedDiffDiscussions *bool           `tree:"resolve_outdated_diff_discussions"`
	ServiceDeskEnabled             *bool           `tree:"service_desk_enabled"`
	SharedRunnersEnabled           *bool           `tree:"shared_runners_enabled"`
	SuggestionCommitMessage        *string         `tree:"suggestion_commit_message"`
	SquashOption                   *string         `tree:"squash_option,names=never|always|default_on|default_off"`
	MergeCommitTemplate            *string         `tree:"merge_commit_template"`
	SquashCommitTemplate           *string         `tree:"squash_commit_template"`
	ExternalAuthorizationLabel     *string         `tree:"external_authorization_classification_label"` // is the server's to give

	accepted
}

// changes are those that the row of a project makes. The visibility is kept for the end of the import.
func (e *importedProject) changes(p *Project) (Changes, error) {
	own := p.Settings()
	if level := e.visibility(); level != nil {
		if v := *level; v == authz.Private || v == authz.Internal || v == authz.Public {
			own.ImportVisibility = &v
		}
	}
	text, err := own.with(SettingsChanges{})
	if err != nil {
		return Changes{}, fmt.Errorf("encode settings: %w", err)
	}
	p.SettingsJSON = text
	if e.Archived != nil {
		p.ArchivedSelf = *e.Archived
	}
	c := Changes{
		Attributes: Attributes{
			Description: e.Description, ApprovalsBeforeMerge: e.ApprovalsBeforeMerge, AutocloseReferencedIssues: e.AutocloseReferencedIssues,
			OnlyMergeIfDiscussionsResolved: e.OnlyMergeIfDiscussionsResolved, OnlyMergeIfPipelineSucceeds: e.OnlyMergeIfPipelineSucceeds,
			AllowMergeOnSkippedPipeline: e.AllowMergeOnSkippedPipeline, PrintingMergeRequestLinkEnabled: e.PrintingMergeRequestLink,
			RemoveSourceBranchAfterMerge: e.RemoveSourceBranchAfterMerge, RequestAccessEnabled: e.RequestAccessEnabled, SuggestionCommitMessage: e.SuggestionCommitMessage,
			SquashOption: e.SquashOption, MergeCommitTemplate: e.MergeCommitTemplate, SquashCommitTemplate: e.SquashCommitTemplate,
		},
		Settings: SettingsChanges{PlainSettings: PlainSettings{
			IssuesTemplate: e.IssuesTemplate, MergeRequestsTemplate: e.MergeRequestsTemplate, AutoCancelPendingPipelines: e.AutoCancelPendingPipelines,
			BuildCoverageRegex: e.BuildCoverageRegex, BuildTimeout: e.BuildTimeout, CIConfigPath: e.CIConfigPath, PublicJobs: e.PublicJobs,
			ResolveOutdatedDiffDiscussions: e.ResolveOutdatedDiffDiscussions, ServiceDeskEnabled: e.ServiceDeskEnabled,
		}},
	}
	if e.SharedRunnersEnabled != nil && !*e.SharedRunnersEnabled {
		c.SharedRunnersEnabled = e.SharedRunnersEnabled
	}
	if e.BuildAllowGitFetch != nil {
		c.Settings.BuildGitStrategy = new(map[bool]string{true: "fetch", false: "clone"}[*e.BuildAllowGitFetch])
	}
	switch {
	case e.FastForwardOnly != nil && *e.FastForwardOnly:
		c.MergeMethod = new("ff")
	case e.Rebase != nil && *e.Rebase:
		c.MergeMethod = new("rebase_merge")
	}
	e.accepted.apply(&c)
	var topics []string
	if e.Topics != nil && json.Unmarshal(e.Topics, &topics) == nil && topics != nil {
		c.Topics = &topics
	}
	return c, nil
}

// Finish says how the import of a project ends.
type Finish struct {
	Over     Changes // what the importing user asked for: it goes before what the archive says
	Replaces *ID     // project whose place it takes
	Suffix   int     // characters that its path and name have more than those of that project
}

// LoweredImport returns the visibility that FinishImport gives a project, nil where it is the one that was asked for or that the archive says.
func (s *Service) LoweredImport(ctx context.Context, as authz.Actor, id ID, f Finish) (*authz.Visibility, error) {
	p, err := s.FindByID(ctx, as, id)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	wanted := p.Visibility
	if own := p.Settings().ImportVisibility; own != nil {
		wanted = *own
	}
	if f.Over.Visibility != nil {
		wanted = *f.Over.Visibility
	}
	may, err := s.importedVisibility(ctx, as, p, wanted)
	if err != nil || may == wanted {
		return nil, err
	}
	return &may, nil
}

// importedVisibility is the one that a project gets: the wanted one, as far as namespace and instance allow it.
func (s *Service) importedVisibility(ctx context.Context, as authz.Actor, p *Project, wanted authz.Visibility) (authz.Visibility, error) {
	above, err := s.Namespaces.Load(ctx, []namespace.ID{p.ParentID})
	if err != nil {
		return wanted, err
	}
	if in := above[p.ParentID]; in != nil && in.Kind == namespace.GroupKind {
		wanted = min(wanted, in.Visibility)
	}
	for wanted > authz.Private && !as.Admin && s.restricted(wanted) {
		wanted -= authz.Internal
	}
	return wanted, nil
}

// FinishImport ends the import of a project, in the caller's transaction. The visibility is the lower one of what was asked for, or else the
// archive says, and of what namespace and instance allow. A project that it replaces is deleted; only who may delete that replaces it.
func (s *Service) FinishImport(ctx context.Context, as authz.Actor, id ID, f Finish) error {
	as = as.Unconditional()
	if f.Replaces != nil {
		if err := s.makeWay(ctx, as, *f.Replaces); err != nil {
			return err
		}
	}
	_, err := s.update(ctx, as, id, func(ctx context.Context, p *Project) error {
		set := p.Settings()
		if set.ImportVisibility != nil {
			p.Visibility = *set.ImportVisibility
		}
		set.ImportVisibility = nil
		text, err := set.with(SettingsChanges{})
		if err != nil {
			return fmt.Errorf("encode settings: %w", err)
		}
		p.SettingsJSON = text
		f.Over.Name, f.Over.Path = nil, nil
		if err := f.Over.apply(p); err != nil {
			return err
		}
		if p.Visibility, err = s.importedVisibility(ctx, as, p, p.Visibility); err != nil {
			return err
		}
		if f.Replaces != nil {
			p.Path, p.Name = p.Path[:len(p.Path)-f.Suffix], p.Name[:len(p.Name)-f.Suffix]
		}
		p.ImportStatus, p.ImportError = ImportFinished, nil
		return nil
	})
	if err != nil && !errs.Is(err, errs.NotFound) {
		return fmt.Errorf("end import: %w", err)
	}
	return nil
}

// makeWay deletes a project whose place another one takes. One that is not there any more is in no way.
func (s *Service) makeWay(ctx context.Context, as authz.Actor, id ID) error {
	old, err := s.FindByID(ctx, as, id)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.DeleteProject, old.Subject()); err != nil {
		return err
	}
	return s.remove(ctx, as, old)
}
