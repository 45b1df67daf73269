package ci

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

const noVariables = "Insufficient permissions to set pipeline variables"

// noLevel is above every level of membership.
const noLevel = authz.Owner + 1

// variablesLevel is the level from which on users pass variables to pipelines of a project. Where both
// settings restrict them, the stricter one counts.
func variablesLevel(p *project.Project) authz.Level {
	set := p.Settings()
	least := authz.Developer
	if set.RestrictUserDefinedVariables {
		least = authz.Maintainer
	}
	switch set.CIPipelineVariablesMinimumRole {
	case "maintainer":
		return max(least, authz.Maintainer)
	case "owner":
		return authz.Owner
	case "no_one_allowed":
		return noLevel
	}
	return least
}

// MaySetVariables reports whether the actor may pass variables to pipelines and jobs of a project, and write
// those of its schedules. It says nothing about the right to make pipelines.
func (s *Service) MaySetVariables(ctx context.Context, as authz.Actor, p *project.Project) (bool, error) {
	level, err := s.Policy.Level(ctx, as, p.Subject())
	return err == nil && level >= variablesLevel(p), err
}

// requireVariables returns the refusal where MaySetVariables is false.
func (s *Service) requireVariables(ctx context.Context, as authz.Actor, p *project.Project, refusal error) error {
	may, err := s.MaySetVariables(ctx, as, p)
	if err == nil && !may {
		return refusal
	}
	return err
}

// brings reports whether a pipeline gets variables from its user: those of a child pipeline come from the
// configuration, those of a schedule are held against the rule when they are written, and the payload of a trigger is no
// variable of its user.
func (i *RunInput) brings() bool {
	switch i.Source {
	case ByParentPipeline, BySchedule:
		return false
	}
	for _, v := range i.Variables {
		if v.Key != payloadKey {
			return true
		}
	}
	return false
}

// requireCancel refuses users below the role that a project lets cancel its pipelines and jobs.
func (s *Service) requireCancel(ctx context.Context, as authz.Actor, p *project.Project) error {
	var least authz.Level
	switch p.Settings().CIRestrictPipelineCancellationRole {
	case "maintainer":
		least = authz.Maintainer
	case "no_one":
		least = noLevel
	default:
		return nil
	}
	level, err := s.Policy.Level(ctx, as, p.Subject())
	if err == nil && level < least {
		return errs.Denied("")
	}
	return err
}
