package ci

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// ConfigVariables returns the variables of all jobs that the configuration of a branch or tag declares, with their descriptions: what a user may set
// when a pipeline is made. It requires CreatePipeline and the right to read code. Nil is a configuration that is not there or not valid.
func (s *Service) ConfigVariables(ctx context.Context, as authz.Actor, p *project.Project, ref string) ([]ciconfig.Variable, error) {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	g, err := s.Repos.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	at, err := findRef(ctx, g, ref)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrBadName) {
		return nil, errs.Missing("Reference")
	}
	if err != nil {
		return nil, fmt.Errorf("find reference: %w", err)
	}
	run := RunInput{Ref: string(at.Ref), SHA: at.Commit.String(), Source: ByPush}
	if run.text, _, err = s.newReader(as, p).configuration(ctx, p, run.SHA); unreadable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, config, _, _, err := s.rehearse(ctx, as, p, run)
	if err != nil || !config.Valid() {
		return nil, err
	}
	return config.Variables, nil
}
