package setting

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/pattern"
	"tenon/internal/base/secret"
)

// levels are the visibilities that may be restricted.
var levels = []string{"private", "internal", "public"}

// sources are the places that projects can be imported from, by the contract.
var sources = []string{"github", "bitbucket", "bitbucket_server", "fogbugz", "git", "gitlab_project", "gitea", "manifest"}

// hostText holds what the commits of users may name as the host of their addresses.
var hostText = pattern.New(`\A[a-zA-Z0-9_.-]{1,253}\z`)

var (
	prefixText = regexp.MustCompile(`\A[a-zA-Z0-9_+=/@:.-]*\z`)
	account    = regexp.MustCompile(`\A[0-9]{12}\z`)
	accessKey  = regexp.MustCompile(`\A\w{16,128}\z`)
)

// problems lists what is wrong with the settings: each by itself, and several beside each other.
func (s *Settings) problems() errs.Fields {
	f := &errs.Fields{}
	for _, e := range Table() {
		if text := e.problem(e.in(s)); text != "" {
			f.Add(e.Name, text)
		}
		for _, name := range e.Needs {
			f.Check(!e.in(s).Bool() || !Lookup(name).blank(s), name, "can't be blank")
		}
	}
	s.places.conflicts(f, s)
	s.tokens.conflicts(f)
	s.accounts.conflicts(f)
	s.signOn.conflicts(f)
	s.ci.conflicts(f, s)
	s.absent.conflicts(f)
	s.integrations.conflicts(f)
	s.imports.conflicts(f)
	_, ok := prefixes(s.GloballyAllowedIPs)
	f.Check(ok, "globally_allowed_ips", "has an IP address or subnet that is not valid")
	f.Check(s.PollingIntervalMultiplier >= 0, "polling_interval_multiplier", "must be greater than or equal to 0")
	return *f
}

func (p *places) conflicts(f *errs.Fields, s *Settings) {
	for _, v := range []struct{ name, level string }{
		{"default_group_visibility", p.DefaultGroupVisibility},
		{"default_project_visibility", p.DefaultProjectVisibility},
		{"default_snippet_visibility", p.DefaultSnippetVisibility},
	} {
		f.Check(!slices.Contains(p.RestrictedVisibilityLevels, v.level), v.name, "cannot be set to a restricted visibility level")
	}
	for _, level := range p.RestrictedVisibilityLevels {
		f.Check(slices.Contains(levels, level), "restricted_visibility_levels", fmt.Sprintf("'%s' is not a valid visibility level", level))
	}
	f.Check(p.DefaultBranchName == nil || gitstore.ValidBranchName(*p.DefaultBranchName), "default_branch_name", "is not a valid branch name")
	f.Check(validProtection(p.DefaultBranchProtectionDefaults), "default_branch_protection_defaults", "must be a valid json schema")
	f.Check(!p.DelayedProjectDeletion || p.DelayedGroupDeletion, "delayed_project_deletion", "can't be enabled when delayed group deletion is disabled")
	f.Check(p.InactiveProjectsSendWarningEmailAfterMonths < p.InactiveProjectsDeleteAfterMonths,
		"inactive_projects_send_warning_email_after_months", fmt.Sprintf("must be less than %d", p.InactiveProjectsDeleteAfterMonths))
	f.Check(p.GitalyTimeoutFast <= p.GitalyTimeoutDefault, "gitaly_timeout_fast", fmt.Sprintf("must be less than or equal to %d", p.GitalyTimeoutDefault))
	f.Check(p.GitalyTimeoutMedium <= p.GitalyTimeoutDefault, "gitaly_timeout_medium", fmt.Sprintf("must be less than or equal to %d", p.GitalyTimeoutDefault))
	f.Check(p.GitalyTimeoutMedium >= p.GitalyTimeoutFast, "gitaly_timeout_medium", fmt.Sprintf("must be greater than or equal to %d", p.GitalyTimeoutFast))
	for name, weight := range p.RepositoryStoragesWeighted {
		f.Check(slices.Contains(p.RepositoryStorages, name), "repository_storages_weighted", "can't include: "+name)
		f.Check(weight >= 0 && weight <= 100, "repository_storages_weighted", fmt.Sprintf("value for '%s' must be between 0 and 100", name))
	}
}

func (t *tokens) conflicts(f *errs.Fields) {
	f.Check(prefixText.MatchString(t.PersonalAccessTokenPrefix), "personal_access_token_prefix",
		"can contain only letters of the Base64 alphabet (RFC4648) with the addition of '@', ':' and '.'")
	f.Check(prefixText.MatchString(t.InstanceTokenPrefix), "instance_token_prefix",
		"can contain only letters of the Base64 alphabet (RFC4648) with the addition of '@', ':' and '.'")
	f.Check(slices.ContainsFunc([]int{
		t.DSAKeyRestriction, t.ECDSAKeyRestriction, t.ECDSASKKeyRestriction, t.ED25519KeyRestriction, t.ED25519SKKeyRestriction, t.RSAKeyRestriction,
	}, func(bits int) bool { return bits >= 0 }), "allowed_key_types", "can't be blank")
}

func (a *accounts) conflicts(f *errs.Fields) {
	f.Check(a.CommitEmailHostname == nil || hostText().MatchString(*a.CommitEmailHostname), "commit_email_hostname", "is invalid")
	f.Check(!a.DeactivateDormantUsers || a.DeactivateDormantUsersPeriod >= 90, "deactivate_dormant_users_period",
		fmt.Sprintf("'%d' days of inactivity must be greater than or equal to 90", a.DeactivateDormantUsersPeriod))
}

func (o *signOn) conflicts(f *errs.Fields) {
	f.Check(!o.DomainDenylistEnabled || len(o.DomainDenylist) > 0, "domain_denylist", "Domain denylist cannot be empty if denylist is enabled.")
	f.Check(!o.EnforceTerms || o.Terms != nil && strings.TrimSpace(*o.Terms) != "", "base", "You need to set terms to be enforced")
	f.Check(!o.UniqueIPsLimitEnabled || o.UniqueIPsLimitPerUser >= 1, "unique_ips_limit_per_user", "must be greater than or equal to 1")
	f.Check(o.ExternalAuthorizationServiceTimeout > 0, "external_authorization_service_timeout", "must be greater than 0")
	f.Check(o.ExternalAuthorizationServiceTimeout <= 10, "external_authorization_service_timeout", "must be less than or equal to 10")
	o.credentials(f)
}

// credentials checks that the certificate of the client belongs to its key.
func (o *signOn) credentials(f *errs.Fields) {
	if o.ExternalAuthClientCert == nil || *o.ExternalAuthClientCert == "" {
		return
	}
	if o.ExternalAuthClientKey == nil || *o.ExternalAuthClientKey == "" {
		f.Add("external_auth_client_key", "can't be blank")
		return
	}
	passphrase := ""
	if o.ExternalAuthClientKeyPass != nil {
		passphrase = *o.ExternalAuthClientKeyPass
	}
	_, err := secret.KeyPair(*o.ExternalAuthClientCert, *o.ExternalAuthClientKey, passphrase)
	f.Check(!errors.Is(err, secret.ErrKey), "external_auth_client_key", "could not read private key, is the passphrase correct?")
	f.Check(err == nil || errors.Is(err, secret.ErrKey), "external_auth_client_key", "private key does not match certificate.")
}

func (c *ci) conflicts(f *errs.Fields, s *Settings) {
	if c.ArchiveBuilds != nil && *c.ArchiveBuilds != "" {
		_, ok := s.ArchiveAge()
		f.Check(ok, "archive_builds_in_seconds", "must be at least 1 day")
	}
	for _, kind := range c.ValidRunnerRegistrars {
		f.Check(kind == "project" || kind == "group", "valid_runner_registrars", "is not included in the list")
	}
	if path := c.DefaultCIConfigPath; path != nil {
		f.Check(!strings.HasPrefix(*path, "/") && !slices.Contains(strings.Split(*path, "/"), ".."),
			"default_ci_config_path", "cannot include leading slash or directory traversal.")
	}
}

func (a *absent) conflicts(f *errs.Fields) {
	f.Check(!a.ElasticsearchIndexing || len(a.ElasticsearchURL) > 0, "elasticsearch_url", "can't be blank when indexing is enabled")
	f.Check(!a.ElasticsearchAWS || a.ElasticsearchAWSRegion != nil, "elasticsearch_aws_region", "can't be blank when using aws hosted elasticsearch")
	f.Check(!a.AutoDevopsEnabled || a.AutoDevopsDomain == nil || formats["hostname"](*a.AutoDevopsDomain) == "", "auto_devops_domain", "is invalid")
	rate := a.SentryClientsideTracesSampleRate
	f.Check(rate >= 0, "sentry_clientside_traces_sample_rate", "must be greater than or equal to 0")
	f.Check(rate <= 1, "sentry_clientside_traces_sample_rate", "must be less than or equal to 1")
}

func (i *integrations) conflicts(f *errs.Fields) {
	for name := range i.KrokiFormats {
		f.Check(slices.Contains([]string{"blockdiag", "bpmn", "excalidraw", "mermaid"}, name), "kroki_formats", "is invalid")
	}
	if i.EKSIntegrationEnabled {
		f.Check(i.EKSAccountID != nil && account.MatchString(*i.EKSAccountID), "eks_account_id", "is invalid")
		f.Check(i.EKSAccessKeyID != nil && accessKey.MatchString(*i.EKSAccessKeyID), "eks_access_key_id", "is invalid")
		f.Check(i.EKSSecretAccessKey != nil, "eks_secret_access_key", "can't be blank")
	}
}

func (i *imports) conflicts(f *errs.Fields) {
	for _, source := range i.ImportSources {
		f.Check(slices.Contains(sources, source), "import_sources", fmt.Sprintf("'%s' is not a import source", source))
	}
	f.Check(i.MirrorCapacityThreshold <= i.MirrorMaxCapacity, "mirror_capacity_threshold", fmt.Sprintf("must be less than or equal to %d", i.MirrorMaxCapacity))
}

// added returns the problems that were not there before: values that were stored before a rule came are no
// reason to refuse another change.
func added(before, after errs.Fields) errs.Fields {
	var out errs.Fields
	for _, f := range after {
		for _, message := range f.Messages {
			known := slices.ContainsFunc(before, func(b errs.Field) bool { return b.Name == f.Name && slices.Contains(b.Messages, message) })
			if !known {
				out.Add(f.Name, message)
			}
		}
	}
	return out
}
