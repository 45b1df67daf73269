package limit

import (
	"time"

	"tenon/internal/base/ratelimit"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Traffic is a kind of request that throttles tell apart.
type Traffic int

// The kinds.
const (
	API Traffic = iota
	FilesAPI
	PackagesAPI
	Web
	GitHTTP
	GitLFS
	DeprecatedAPI
	ProtectedPath
)

// throttle bounds requests whatever they ask for.
type throttle struct {
	name string
	read func(s *setting.Settings) (on bool, requests, seconds int)
}

// The throttles, with the names of their settings.
var (
	anonymousAPI = throttle{"throttle_unauthenticated_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleUnauthenticatedAPIEnabled, s.ThrottleUnauthenticatedAPIRequestsPerPeriod, s.ThrottleUnauthenticatedAPIPeriodInSeconds
	}}
	knownAPI = throttle{"throttle_authenticated_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleAuthenticatedAPIEnabled, s.ThrottleAuthenticatedAPIRequestsPerPeriod, s.ThrottleAuthenticatedAPIPeriodInSeconds
	}}
	anonymousFiles = throttle{"throttle_unauthenticated_files_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleUnauthenticatedFilesAPIEnabled, s.ThrottleUnauthenticatedFilesAPIRequestsPerPeriod, s.ThrottleUnauthenticatedFilesAPIPeriodInSeconds
	}}
	knownFiles = throttle{"throttle_authenticated_files_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleAuthenticatedFilesAPIEnabled, s.ThrottleAuthenticatedFilesAPIRequestsPerPeriod, s.ThrottleAuthenticatedFilesAPIPeriodInSeconds
	}}
	anonymousPackages = throttle{"throttle_unauthenticated_packages_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleUnauthenticatedPackagesAPIEnabled, s.ThrottleUnauthenticatedPackagesAPIRequestsPerPeriod, s.ThrottleUnauthenticatedPackagesAPIPeriodInSeconds
	}}
	knownPackages = throttle{"throttle_authenticated_packages_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleAuthenticatedPackagesAPIEnabled, s.ThrottleAuthenticatedPackagesAPIRequestsPerPeriod, s.ThrottleAuthenticatedPackagesAPIPeriodInSeconds
	}}
	anonymousWeb = throttle{"throttle_unauthenticated_web", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleUnauthenticatedEnabled, s.ThrottleUnauthenticatedRequestsPerPeriod, s.ThrottleUnauthenticatedPeriodInSeconds
	}}
	knownWeb = throttle{"throttle_authenticated_web", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleAuthenticatedWebEnabled, s.ThrottleAuthenticatedWebRequestsPerPeriod, s.ThrottleAuthenticatedWebPeriodInSeconds
	}}
	anonymousGit = throttle{"throttle_unauthenticated_git_http", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleUnauthenticatedGitHTTPEnabled, s.ThrottleUnauthenticatedGitHTTPRequestsPerPeriod, s.ThrottleUnauthenticatedGitHTTPPeriodInSeconds
	}}
	knownGit = throttle{"throttle_authenticated_git_http", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleAuthenticatedGitHTTPEnabled, s.ThrottleAuthenticatedGitHTTPRequestsPerPeriod, s.ThrottleAuthenticatedGitHTTPPeriodInSeconds
	}}
	anonymousDeprecated = throttle{"throttle_unauthenticated_deprecated_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleUnauthenticatedDeprecatedAPIEnabled, s.ThrottleUnauthenticatedDeprecatedAPIRequestsPerPeriod, s.ThrottleUnauthenticatedDeprecatedAPIPeriodInSeconds
	}}
	knownDeprecated = throttle{"throttle_authenticated_deprecated_api", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleAuthenticatedDeprecatedAPIEnabled, s.ThrottleAuthenticatedDeprecatedAPIRequestsPerPeriod, s.ThrottleAuthenticatedDeprecatedAPIPeriodInSeconds
	}}
	protectedPaths = throttle{"throttle_protected_paths", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleProtectedPathsEnabled, s.ThrottleProtectedPathsRequestsPerPeriod, s.ThrottleProtectedPathsPeriodInSeconds
	}}
	knownLFS = throttle{"throttle_authenticated_git_lfs", func(s *setting.Settings) (bool, int, int) {
		return s.ThrottleAuthenticatedGitLFSEnabled, s.ThrottleAuthenticatedGitLFSRequestsPerPeriod, s.ThrottleAuthenticatedGitLFSPeriodInSeconds
	}}
)

// throttles names those of a kind of request for callers who are not signed on and who
// are. The first that is switched on counts: files of repositories, packages and deprecated requests are of the API, and
// git and protected paths are of the web, where they have no throttle of their own.
var throttles = map[Traffic]struct{ anonymous, known []throttle }{
	API:         {[]throttle{anonymousAPI}, []throttle{knownAPI}},
	FilesAPI:    {[]throttle{anonymousFiles, anonymousAPI}, []throttle{knownFiles, knownAPI}},
	PackagesAPI: {[]throttle{anonymousPackages, anonymousAPI}, []throttle{knownPackages, knownAPI}},
	Web:         {[]throttle{anonymousWeb}, []throttle{knownWeb}},
	GitHTTP:     {[]throttle{anonymousGit, anonymousWeb}, []throttle{knownGit, knownWeb}},
	GitLFS:      {[]throttle{anonymousGit, anonymousWeb}, []throttle{knownLFS, knownGit, knownWeb}},

	DeprecatedAPI: {[]throttle{anonymousDeprecated, anonymousAPI}, []throttle{knownDeprecated, knownAPI}},
	ProtectedPath: {[]throttle{protectedPaths, anonymousWeb}, []throttle{protectedPaths, knownWeb}},
}

// Throttle counts a request against the throttle of its kind: nil where the caller may go
// on or no throttle is switched on. A user who comes from too many addresses is barred.
func (s *Service) Throttle(t Traffic, as authz.Actor) *ratelimit.Exceeded {
	if s.crowded(as) {
		return &ratelimit.Exceeded{Barred: true, Text: tooManyAddresses}
	}
	if s.off() {
		return nil
	}
	set := s.Settings.Current()
	list := throttles[t].anonymous
	if as.Known() {
		list = throttles[t].known
	}
	for _, h := range list {
		on, requests, seconds := h.read(set)
		if !on {
			continue
		}
		var key ratelimit.Key
		caller(&key, as)
		used := s.counter.Add(ratelimit.Limit{Name: h.name, Most: requests, Every: time.Duration(seconds) * time.Second}, key)
		if !used.Exceeded() {
			return nil
		}
		s.Refused(h.name)
		text := ""
		if set.RateLimitingResponseText != nil {
			text = *set.RateLimitingResponseText
		}
		return &ratelimit.Exceeded{Usage: used, After: used.Wait, Text: text}
	}
	return nil
}
