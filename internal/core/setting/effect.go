package setting

import (
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/secret"
	"tenon/internal/core/ciconfig"
)

// Branch gives the name a new repository's first branch gets.
func (s *Settings) Branch() string {
	if s.DefaultBranchName == nil || *s.DefaultBranchName == "" {
		return "main"
	}
	return *s.DefaultBranchName
}

// ArchiveAge is how old jobs are that are not run again; ok is false where none is too old.
func (s *Settings) ArchiveAge() (age time.Duration, ok bool) {
	if s.ArchiveBuilds == nil || len(*s.ArchiveBuilds) > 255 {
		return 0, false
	}
	age, ok = ciconfig.ParseDuration(*s.ArchiveBuilds)
	return age, ok && age >= 24*time.Hour
}

// PipelineAge is the longest age after which a project may have its pipelines deleted.
func (s *Settings) PipelineAge() time.Duration {
	age, ok := ciconfig.ParseDuration(s.CIDeletePipelinesInSecondsLimitHumanReadable)
	if !ok {
		age, _ = ciconfig.ParseDuration("1 year")
	}
	return age
}

// Writable is nil unless maintenance mode is on: then nothing is changed, and the error has its message.
func (s *Store) Writable() error {
	set := s.Current()
	if !set.MaintenanceMode {
		return nil
	}
	message := "This instance is in maintenance mode"
	if own := set.MaintenanceModeMessage; own != nil && *own != "" {
		message = *own
	}
	return &errs.Error{Kind: errs.Unavailable, Code: CodeMaintenance, Message: message}
}

// CodeMaintenance is the code of what is refused in maintenance mode.
const CodeMaintenance errs.Code = "maintenance"

// TokenPrefix returns what a token begins with whose type has a prefix of its own.
func (s *Settings) TokenPrefix(of string) string {
	if s.InstanceTokenPrefix == "" {
		return of
	}
	return s.InstanceTokenPrefix + "-" + of
}

// AccessTokenPrefix returns what access tokens of users, projects and groups begin with. The prefix of the instance
// replaces the one that is set for them.
func (s *Settings) AccessTokenPrefix() string {
	if s.InstanceTokenPrefix == "" {
		return s.PersonalAccessTokenPrefix
	}
	return s.TokenPrefix(secret.AccessTokenPrefix)
}

// CloneRoot is where repositories are cloned from over HTTP, without a trailing slash; "" is the URL of the instance.
func (s *Settings) CloneRoot() string {
	if s.CustomHTTPCloneURLRoot == nil {
		return ""
	}
	return strings.TrimRight(*s.CustomHTTPCloneURLRoot, "/")
}
