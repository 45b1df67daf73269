package project

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// Changes are the attributes of a project that a call sets; nil leaves one alone.
type Changes struct {
	Name, Path    *string
	Description   *string
	DefaultBranch *string
	Visibility    *authz.Visibility
	Storage       *string // administrators only
	Topics        *[]string
	Features      map[string]string // access by API name without the suffix _access_level

	MergeMethod                     *string
	SquashOption                    *string
	OnlyMergeIfPipelineSucceeds     *bool
	AllowMergeOnSkippedPipeline     *bool
	OnlyMergeIfDiscussionsResolved  *bool
	RemoveSourceBranchAfterMerge    *bool
	PrintingMergeRequestLinkEnabled *bool
	MergeCommitTemplate             *string
	SquashCommitTemplate            *string
	SuggestionCommitMessage         *string
	IssueBranchTemplate             *string
	RequestAccessEnabled            *bool
	LFSEnabled                      *bool
	AutocloseReferencedIssues       *bool
	EmailsEnabled                   *bool
	ApprovalsBeforeMerge            *int64

	Settings SettingsChanges
	Mirror   Mirror
}

// Mirror is what a call says of a pull mirror. There are none: whoever asks for one is
// told so, rather than left to wait for commits that do not come.
type Mirror struct {
	Asked []string // parameters that ask for one
	From  *string  // address to pull from; nil, or where the project came from, asks for nothing
}

func (m Mirror) check(f *errs.Fields, p *Project) {
	for _, name := range m.Asked {
		f.Add(name, messageNoMirror)
	}
	if m.From == nil {
		return
	}
	from, err := url.Parse(*m.From)
	if err != nil {
		f.Add("import_url", messageNoMirror)
		return
	}
	from.User = nil // credentials are never shown
	f.Check(from.String() == p.ImportedFrom(), "import_url", messageNoMirror)
}

const messageNoMirror = "is not supported: this server has no pull mirrors"

// apply sets what the changes hold, but for the default branch, and names what is
// different now.
func (c *Changes) apply(p *Project) ([]string, error) {
	var changed []string
	set(&changed, "name", &p.Name, c.Name)
	set(&changed, "path", &p.Path, c.Path)
	set(&changed, "visibility", &p.Visibility, c.Visibility)
	setText(&changed, "description", &p.Description, c.Description)
	set(&changed, "merge_method", &p.MergeMethod, c.MergeMethod)
	set(&changed, "squash_option", &p.SquashOption, c.SquashOption)
	set(&changed, "only_allow_merge_if_pipeline_succeeds", &p.OnlyMergeIfPipelineSucceeds, c.OnlyMergeIfPipelineSucceeds)
	setText(&changed, "allow_merge_on_skipped_pipeline", &p.AllowMergeOnSkippedPipeline, c.AllowMergeOnSkippedPipeline)
	set(&changed, "only_allow_merge_if_all_discussions_are_resolved", &p.OnlyMergeIfDiscussionsResolved, c.OnlyMergeIfDiscussionsResolved)
	set(&changed, "remove_source_branch_after_merge", &p.RemoveSourceBranchAfterMerge, c.RemoveSourceBranchAfterMerge)
	set(&changed, "printing_merge_request_link_enabled", &p.PrintingMergeRequestLinkEnabled, c.PrintingMergeRequestLinkEnabled)
	setTemplate(&changed, "merge_commit_template", &p.MergeCommitTemplate, c.MergeCommitTemplate)
	setTemplate(&changed, "squash_commit_template", &p.SquashCommitTemplate, c.SquashCommitTemplate)
	setTemplate(&changed, "suggestion_commit_message", &p.SuggestionCommitMessage, c.SuggestionCommitMessage)
	setTemplate(&changed, "issue_branch_template", &p.IssueBranchTemplate, c.IssueBranchTemplate)
	set(&changed, "request_access_enabled", &p.RequestAccessEnabled, c.RequestAccessEnabled)
	set(&changed, "lfs_enabled", &p.LFSEnabled, c.LFSEnabled)
	set(&changed, "autoclose_referenced_issues", &p.AutocloseReferencedIssues, c.AutocloseReferencedIssues)
	set(&changed, "emails_enabled", &p.EmailsEnabled, c.EmailsEnabled)
	set(&changed, "approvals_before_merge", &p.ApprovalsBeforeMerge, c.ApprovalsBeforeMerge)
	if c.Topics != nil && !slices.Equal(*c.Topics, p.Topics()) {
		text, err := json.Marshal(cleanTopics(*c.Topics))
		if err != nil {
			return nil, err
		}
		p.TopicsJSON = string(text)
		changed = append(changed, "topics")
	}
	for _, feature := range slices.Sorted(maps.Keys(c.Features)) {
		if p.Access(feature) == c.Features[feature] {
			continue
		}
		if !p.setFeature(feature, c.Features[feature]) {
			return nil, errs.Plain(feature + "_access_level does not have a valid value")
		}
		changed = append(changed, feature+"_access_level")
	}
	merged, err := p.Settings().with(c.Settings)
	if err != nil {
		return nil, err
	}
	if old, err := p.Settings().with(SettingsChanges{}); err != nil || merged != old {
		changed = append(changed, "settings")
	}
	p.SettingsJSON = merged
	return changed, nil
}

func set[T comparable](changed *[]string, name string, field, value *T) {
	if value != nil && *field != *value {
		*field = *value
		*changed = append(*changed, name)
	}
}

func setText[T comparable](changed *[]string, name string, field **T, value *T) {
	if value != nil && (*field == nil || **field != *value) {
		*field = value
		*changed = append(*changed, name)
	}
}

// setTemplate sets a text that is absent where it is empty.
func setTemplate(changed *[]string, name string, field **string, value *string) {
	if value == nil {
		return
	}
	if *value == "" {
		if *field != nil {
			*field = nil
			*changed = append(*changed, name)
		}
		return
	}
	setText(changed, name, field, value)
}

// cleanTopics drops what is blank or said before.
func cleanTopics(topics []string) []string {
	out := make([]string, 0, len(topics))
	seen := make(map[string]bool, len(topics))
	for _, t := range topics {
		fold := db.Fold(strings.TrimSpace(t))
		if fold != "" && !seen[fold] {
			seen[fold] = true
			out = append(out, strings.TrimSpace(t))
		}
	}
	return out
}

// maxTopics is how many topics a project may have: each costs a few statements.
const maxTopics = 100

func checkTopics(f *errs.Fields, topics []string) {
	f.Check(len(topics) <= maxTopics, "topics", fmt.Sprintf("are too many (maximum is %d)", maxTopics))
	for _, t := range topics {
		if utf8.RuneCountInString(t) > namespace.MaxName {
			f.Add("topics", namespace.MessageLongName)
			return
		}
	}
}

const (
	messagePath = "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"
	messageSlug = "can only include non-accented letters, digits, '_', '-' and '.'. It must not start with '-', '_', or '.', " +
		"nor end with '-', '_', '.', '.git', or '.atom'."
	messageName = "can contain only letters, digits, emoji, '_', '.', '+', dashes, or spaces. " +
		"It must start with a letter, digit, emoji, or '_'."
	messageConfigPath = "cannot include leading slash or directory traversal."
	messageTimeout    = "needs to be between 10 minutes and 1 month"
)

var slugPattern = pattern.New(`\A[a-zA-Z0-9]+([._-][a-zA-Z0-9]+)*\z`)

// check validates what stands in p itself; old is nil for a new project.
func check(p, old *Project) errs.Fields {
	var f errs.Fields
	if old == nil || p.Name != old.Name {
		switch {
		case strings.TrimSpace(p.Name) == "":
			f.Add("name", namespace.MessageBlank)
		case utf8.RuneCountInString(p.Name) > namespace.MaxName:
			f.Add("name", namespace.MessageLongName)
		case !namespace.ValidName(p.Name, ".+ "):
			f.Add("name", messageName)
		}
	}
	if old == nil || p.Path != old.Path {
		checkPath(&f, p.Path)
	}
	f.Length("description", p.Description, namespace.MaxDescription)
	set := p.Settings()
	if path := set.CIConfigPath; path != nil {
		f.Check(!strings.HasPrefix(*path, "/") && !slices.Contains(strings.Split(*path, "/"), ".."), "ci_config_path", messageConfigPath)
	}
	checkTexts(&f, p, set)
	if old == nil || p.TopicsJSON != old.TopicsJSON {
		checkTopics(&f, p.Topics())
	}
	checkNumbers(&f, p, set)
	return f
}

// checkTexts bounds the texts that are kept as they are sent.
func checkTexts(f *errs.Fields, p *Project, set Settings) {
	for _, text := range []struct {
		name string
		text *string
		most int
	}{
		{"ci_config_path", set.CIConfigPath, namespace.MaxName},
		{"suggestion_commit_message", p.SuggestionCommitMessage, namespace.MaxName},
		{"issue_branch_template", p.IssueBranchTemplate, namespace.MaxName},
		{"merge_request_title_regex", set.MergeRequestTitleRegex, namespace.MaxName},
		{"merge_request_title_regex_description", set.MergeRequestTitleRegexDescription, namespace.MaxName},
		{"merge_commit_template", p.MergeCommitTemplate, maxTemplate},
		{"squash_commit_template", p.SquashCommitTemplate, maxTemplate},
		{"mr_default_title_template", set.MRDefaultTitleTemplate, maxTemplate},
		{"build_coverage_regex", set.BuildCoverageRegex, namespace.MaxName},
		{"external_authorization_classification_label", set.ExternalAuthorizationLabel, namespace.MaxName},
		{"issues_template", set.IssuesTemplate, maxForm},
		{"merge_requests_template", set.MergeRequestsTemplate, maxForm},
		{"container_expiration_policy.name_regex", set.ContainerExpirationPolicy.NameRegex, namespace.MaxName},
		{"container_expiration_policy.name_regex_keep", set.ContainerExpirationPolicy.NameRegexKeep, namespace.MaxName},
	} {
		f.Length(text.name, text.text, text.most)
	}
	f.Check(len(set.CIIDTokenSubClaimComponents) <= maxClaims, "ci_id_token_sub_claim_components", fmt.Sprintf("are too many (maximum is %d)", maxClaims))
	for _, claim := range set.CIIDTokenSubClaimComponents {
		f.Length("ci_id_token_sub_claim_components", &claim, namespace.MaxName)
	}
}

// checkNumbers bounds the numbers that are kept as they are sent, and what is one of a few words.
func checkNumbers(f *errs.Fields, p *Project, set Settings) {
	f.Check(set.BuildTimeout >= 600 && set.BuildTimeout <= 30*24*3600, "build_timeout", messageTimeout)
	f.Range("ci_cd_settings.default_git_depth", set.CIDefaultGitDepth, 0, maxGitDepth)
	f.Range("ci_cd_settings.delete_pipelines_in_seconds", set.CIDeletePipelinesInSeconds, 24*3600, 366*24*3600)
	f.Range("approvals_before_merge", &p.ApprovalsBeforeMerge, 0, maxApprovals)
	f.Range("max_artifacts_size", set.MaxArtifactsSize, 1, math.MaxInt32)
	policy := set.ContainerExpirationPolicy
	f.Range("container_expiration_policy.keep_n", policy.KeepN, 1, 100)
	f.Check(cadences[policy.Cadence] > 0, "container_expiration_policy.cadence", messageNotListed)
	if older := policy.OlderThan; older != nil && *older != "" {
		f.Check(slices.Contains([]string{"7d", "14d", "30d", "60d", "90d"}, *older), "container_expiration_policy.older_than", messageNotListed)
	}
}

const (
	maxTemplate  = 500    // characters of the message of a merge or squash commit, or of a title
	maxForm      = 65_536 // characters that the description of a new issue or merge request starts with
	maxGitDepth  = 1000
	maxClaims    = 10
	maxApprovals = 100

	messageBranch    = "is not a valid branch name"
	messageNotListed = "is not included in the list"
)

func checkPath(f *errs.Fields, path string) {
	switch {
	case path == "":
		f.Add("path", namespace.MessageBlank)
		return
	case utf8.RuneCountInString(path) > namespace.MaxName:
		f.Add("path", namespace.MessageLongName)
		return
	}
	f.Check(account.ValidPath(path), "path", messagePath)
	f.Check(slugPattern().MatchString(path) && !strings.HasSuffix(strings.ToLower(path), ".git") &&
		!strings.HasSuffix(strings.ToLower(path), ".atom"), "path", messageSlug)
	f.Check(!account.ReservedInside(path), "path", namespace.MessageReserved)
}

// slug derives a path from a name: accents go, letters become small, and whatever a
// path cannot hold becomes a dash. Of several dashes, dots and underscores in a row one stays.
// The result has the form of a path, or is empty.
func slug(name string) string {
	const separators = "-_."
	out := make([]byte, 0, len(name))
	for _, r := range strings.ToLower(norm.NFKD.String(name)) {
		if r >= 0x300 && r <= 0x36F { // accents, split off by the decomposition
			continue
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			out = append(out, byte(r))
			continue
		}
		if r != '_' && r != '.' {
			r = '-'
		}
		switch last := len(out) - 1; {
		case last < 0:
		case !strings.ContainsRune(separators, rune(out[last])):
			out = append(out, byte(r))
		case r == '-':
			out[last] = '-'
		}
	}
	path := string(out[:min(len(out), namespace.MaxName)])
	for before := ""; before != path; {
		before = path
		path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(path, separators), ".git"), ".atom")
	}
	return path
}
