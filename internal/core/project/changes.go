package project

import (
	"encoding/json"
	"fmt"
	"maps"
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
	Attributes
	DefaultBranch *string
	Visibility    *authz.Visibility
	Storage       *string              // administrators only
	SizeLimit     *namespace.SizeLimit // administrators only; others leave it alone
	Topics        *[]string
	Features      map[string]string // access by API name without the suffix _access_level

	Settings SettingsChanges
	Mirror   Mirror
}

// Mirror is what a call says of a pull mirror. There are none: a user who asks for one is
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

// apply sets what the changes hold, but for the default branch and the storage.
func (c *Changes) apply(p *Project) error {
	db.Assign(p, &c.Attributes)
	if c.Visibility != nil {
		p.Visibility = *c.Visibility
	}
	if c.Topics != nil && !slices.Equal(*c.Topics, p.Topics()) {
		text, err := json.Marshal(cleanTopics(*c.Topics))
		if err != nil {
			return err
		}
		p.TopicsJSON = string(text)
	}
	for _, feature := range slices.Sorted(maps.Keys(c.Features)) {
		if p.Access(feature) != c.Features[feature] && !p.setFeature(feature, c.Features[feature]) {
			return errs.Plain(feature + "_access_level does not have a valid value")
		}
	}
	old, err := p.Settings().with(SettingsChanges{})
	if err != nil {
		return err
	}
	merged, err := p.Settings().with(c.Settings)
	if err == nil && merged != old {
		p.SettingsJSON = merged
	}
	return err
}

// changedNames names what differs between two states of a project in the words of the API.
func changedNames(c *db.Change[Project]) []string {
	out := []string{}
	for _, column := range c.Columns {
		switch column {
		case "updated_at":
		case "features":
			was, is := c.Before.Accesses(), c.After.Accesses()
			for _, feature := range slices.Sorted(maps.Keys(otherDefaults)) {
				if was(feature) != is(feature) {
					out = append(out, feature+"_access_level")
				}
			}
		default:
			name, feature := strings.CutSuffix(column, "_access")
			if _, known := columnFeatures[name]; known && feature {
				column += "_level"
			}
			out = append(out, column)
		}
	}
	if c.After.Visibility != c.Before.Visibility {
		out = append(out, "visibility")
	}
	return out
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

// check validates what is in p itself; old is nil for a new project.
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
	checkTitleRegex(&f, old, set)
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

// checkTitleRegex refuses an expression that titles cannot be compared with. One that is stored already stays.
func checkTitleRegex(f *errs.Fields, old *Project, set Settings) {
	text := set.MergeRequestTitleRegex
	if text == nil || old != nil && old.Settings().MergeRequestTitleRegex != nil && *old.Settings().MergeRequestTitleRegex == *text {
		return
	}
	if _, err := pattern.Compile(*text); err != nil {
		f.Add("merge_request_title_regex", "not valid RE2 syntax: "+err.Error())
	}
}

// checkNumbers bounds the numbers that are kept as they are sent, and what is one of a few words.
func checkNumbers(f *errs.Fields, p *Project, set Settings) {
	f.Check(set.BuildTimeout >= 600 && set.BuildTimeout <= 30*24*3600, "build_timeout", messageTimeout)
	f.Range("ci_cd_settings.default_git_depth", set.CIDefaultGitDepth, 0, maxGitDepth)
	f.Range("approvals_before_merge", &p.ApprovalsBeforeMerge, 0, maxApprovals)
	f.Range("repository_size_limit", p.RepositorySizeLimit, 0, namespace.MaxSizeLimit)
	policy := set.ContainerExpirationPolicy
	f.Range("container_expiration_policy.keep_n", policy.KeepN, 1, 100)
	f.Check(cadences[policy.Cadence] > 0, "container_expiration_policy.cadence", messageNotListed)
	if older := policy.OlderThan; older != nil && *older != "" {
		f.Check(slices.Contains([]string{"7d", "14d", "30d", "60d", "90d"}, *older), "container_expiration_policy.older_than", messageNotListed)
	}
}

// checkPipelineAge bounds a new age after which pipelines are deleted by the setting of the instance. What is stored stays when that falls.
func (s *Service) checkPipelineAge(f *errs.Fields, old, age *int64) {
	if equal(age, old) {
		return
	}
	f.Range("ci_cd_settings.delete_pipelines_in_seconds", age, 24*3600, int64(s.Settings.Current().PipelineAge().Seconds()))
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
