package setting

import (
	"time"

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
