package ci

import (
	"slices"

	"tenon/internal/base/secret"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
	"tenon/internal/core/trigger"
)

// Assignment is a job that a runner got, with all it takes to run it.
type Assignment struct {
	Job          *Job
	Config       *ciconfig.Job
	Pipeline     *Pipeline
	Project      *project.Project
	Token        string // of the job
	Runner       *runner.Runner
	Variables    []Variable // a later one is above an earlier one of the same name
	Dependencies []Dependency
	GitDepth     int
}

// Dependency is a job whose artifacts another one gets.
type Dependency struct {
	ID       StatusID
	Name     string
	Filename string
	Size     int64 // bytes
}

// Credentials returns the user name and the password with which the job reaches the instance.
func (a *Assignment) Credentials() (name, password string) { return jobUser, a.Token }

// Fetches reports whether the job may fetch into the working copy of an earlier job instead of cloning.
func (a *Assignment) Fetches() bool { return a.Project.Settings().BuildGitStrategy != "clone" }

// Caches returns the caches of the job, with what its configuration leaves open. Jobs of protected
// references have caches of their own where the project separates them.
func (a *Assignment) Caches() []ciconfig.Cache {
	out := make([]ciconfig.Cache, len(a.Config.Cache))
	for i, c := range a.Config.Cache {
		c.FallbackKeys = append([]string{}, c.FallbackKeys...)
		for field, otherwise := range map[*string]string{&c.Key: "default", &c.Policy: "pull-push", &c.When: "on_success"} {
			if *field == "" {
				*field = otherwise
			}
		}
		if a.Project.Settings().CISeparatedCaches && !c.Unprotect {
			suffix := "-non_protected"
			if a.Pipeline.Protected {
				suffix = "-protected"
			}
			c.Key += suffix
			for n := range c.FallbackKeys {
				c.FallbackKeys[n] += suffix
			}
		}
		out[i] = c
	}
	return out
}

// TokenPrefixes returns what tokens begin with, for runners to mask in logs: personal access tokens with own, and those from
// before that was set with the usual prefix. The last two begin feed tokens and application secrets, which jobs may have from
// other instances.
func TokenPrefixes(own string) []string {
	out := []string{
		secret.AccessTokenPrefix, secret.DeployTokenPrefix, runner.TokenPrefix, jobTokenPrefix, trigger.TokenPrefix, "glft-", "glsoat-",
	}
	if own != "" && !slices.Contains(out, own) {
		out = append(out, own)
	}
	return out
}
