package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// noRights is the refusal of a pipeline whose user may not make any.
const noRights = "Insufficient permissions to create a new pipeline"

// cannotRun is the refusal of a pipeline of a protected branch or tag.
func cannotRun(ref string) string {
	return fmt.Sprintf("You do not have sufficient permission to run a pipeline on '%s'. Please select a different branch or contact your administrator for assistance.", ref)
}

// DryRun says which pipeline a check of a configuration simulates. The zero value simulates none.
type DryRun struct {
	On  bool
	Ref string // branch or tag, "" is the default branch

	// Commit is the ID of the commit whose files the text includes, "" for that of Ref. LintCommit has one of its own.
	Commit string
}

// LintText checks a configuration that the caller gives, as a pipeline of the actor would read it. It requires CreatePipeline and the right to
// read code.
func (s *Service) LintText(ctx context.Context, as authz.Actor, p *project.Project, text string, run DryRun) (*ciconfig.Lint, error) {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	if _, err := s.Repos.Read(ctx, as, p); err != nil {
		return nil, err
	}
	in := RunInput{Ref: run.Ref, Source: ByPush, text: []byte(text)}
	if run.Commit != "" {
		c, err := s.Repos.FindCommit(ctx, as, p, run.Commit)
		if err != nil {
			return nil, err
		}
		in.SHA = c.ID.String()
	}
	return s.lint(ctx, as, p, in, run)
}

// LintCommit checks the configuration of a commit, which a branch, tag or ID names and "" is that of the default branch. It requires the right
// to read code; a simulation takes the right to make the pipeline, whose lack is an error of the result.
func (s *Service) LintCommit(ctx context.Context, as authz.Actor, p *project.Project, commit string, run DryRun) (*ciconfig.Lint, error) {
	g, err := s.Repos.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if p.DefaultBranch == nil {
		return nil, errs.Missing("Repository")
	}
	if _, err := g.Resolve(ctx, gitstore.Branches+*p.DefaultBranch); errors.Is(err, gitstore.ErrNotFound) && commit == "" {
		return nil, errs.Missing("Repository")
	}
	c, err := s.Repos.FindCommit(ctx, as, p, cmp.Or(commit, gitstore.Branches+*p.DefaultBranch))
	if err != nil {
		return nil, err
	}
	in := RunInput{Ref: run.Ref, SHA: c.ID.String(), Source: ByPush}
	if in.text, _, err = s.newReader(as, p).configuration(ctx, p, in.SHA); unreadable(err) {
		in.text, err = []byte{}, nil // which is an error of the result
	}
	if err != nil {
		return nil, err
	}
	return s.lint(ctx, as, p, in, run)
}

// unreadable reports whether there is no configuration, or none that the caller may read.
func unreadable(err error) bool {
	fetch := (*ciconfig.FetchError)(nil)
	return errors.Is(err, ciconfig.ErrNoFile) || errors.Is(err, ciconfig.ErrNoReference) || errors.Is(err, ciconfig.ErrNoProject) ||
		errors.Is(err, ciconfig.ErrTooLarge) || errors.As(err, &fetch)
}

// lint checks the text of a run.
func (s *Service) lint(ctx context.Context, as authz.Actor, p *project.Project, in RunInput, run DryRun) (*ciconfig.Lint, error) {
	d, config, k, why, err := s.rehearse(ctx, as, p, in)
	if err != nil {
		return nil, err
	}
	var made *ciconfig.Pipeline
	if run.On && why == "" && config.Valid() {
		if made, err = config.Evaluate(ctx, d.run(k)); err != nil {
			return nil, fmt.Errorf("evaluate configuration: %w", err)
		}
	}
	l := config.Lint(made)
	if run.On && why != "" && l.Valid {
		l.Valid, l.Errors, l.Problems, l.Jobs = false, []string{why}, []ciconfig.Problem{{Text: why}}, nil
	}
	return &l, nil
}

// rehearse reads a configuration as a pipeline would, and says why the actor could not make that pipeline, "" where it could. What the actor
// may not see in a pipeline of its own counts as absent: variables of the project, and those for protected branches and tags.
func (s *Service) rehearse(ctx context.Context, as authz.Actor, p *project.Project, in RunInput) (d *draft, config *ciconfig.Config, k known, why string, err error) {
	if in.Ref == "" && p.DefaultBranch != nil {
		in.Ref = *p.DefaultBranch
	}
	may, err := s.Policy.Can(ctx, as, authz.CreatePipeline, p.Subject())
	if err != nil {
		return nil, nil, k, "", err
	}
	if !may {
		why = noRights
	}
	d, err = s.draft(ctx, as, p, in)
	switch {
	case errs.Is(err, errs.Invalid):
		d, why = s.draftWithoutRef(as, p, in), cmp.Or(why, noReference)
	case err != nil:
		return nil, nil, k, "", err
	default:
		if err = s.mayRun(ctx, as, p, d.row.Ref, d.row.Tag); errs.Is(err, errs.Forbidden) {
			d.row.Protected, why, err = false, cmp.Or(why, cannotRun(d.row.Ref)), nil
		}
		if err != nil {
			return nil, nil, k, "", err
		}
	}
	if k, err = d.known(ctx); err != nil {
		return nil, nil, k, "", err
	}
	if !may {
		k.above = d.in.Variables
	}
	o := d.options(ciconfig.Location{Project: p.FullPath, Commit: d.row.SHA, Path: configPath(p, s.Settings.Current().DefaultCIConfigPath)}, k)
	if d.commit == nil {
		o.Changes = nil
	}
	if config, err = ciconfig.Compose(ctx, in.text, o); err != nil {
		return nil, nil, k, "", fmt.Errorf("read configuration: %w", err)
	}
	return d, config, k, why, nil
}

// draftWithoutRef is the draft of a pipeline whose branch or tag does not exist.
func (s *Service) draftWithoutRef(as authz.Actor, p *project.Project, in RunInput) *draft {
	row := s.newRow(as, p, in)
	row.SHA, row.Ref = in.SHA, in.Ref
	return &draft{Service: s, as: as, project: p, in: in, row: row, reader: s.newReader(as, p)}
}

// ExplainInput says which pipeline is explained.
type ExplainInput struct {
	Ref       string // branch or tag, "" is the default branch
	Source    Source // "" is a push
	Variables []Variable
}

// Explain says which jobs a pipeline of a branch or tag would have, and why, with the configuration of its commit. It requires CreatePipeline and the right to
// read code. Variables for protected branches and tags count where the actor may run pipelines of it.
func (s *Service) Explain(ctx context.Context, as authz.Actor, p *project.Project, in ExplainInput) (*ciconfig.Why, error) {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject().Reading()); err != nil {
		return nil, err
	}
	if err := checkVariables(in.Variables); err != nil {
		return nil, err
	}
	ref := in.Ref
	if ref == "" && p.DefaultBranch != nil {
		ref = *p.DefaultBranch
	}
	g, err := s.Repos.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	at, err := findRef(ctx, g, ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, errs.Missing("Reference")
	}
	if err != nil {
		return nil, fmt.Errorf("find reference: %w", err)
	}
	run := RunInput{Ref: string(at.Ref), SHA: at.Commit.String(), Source: cmp.Or(in.Source, ByPush), Variables: in.Variables}
	if run.text, _, err = s.newReader(as, p).configuration(ctx, p, run.SHA); unreadable(err) {
		return nil, errs.Missing("CI config file")
	}
	if err != nil {
		return nil, err
	}
	d, config, k, why, err := s.rehearse(ctx, as, p, run)
	if err != nil {
		return nil, err
	}
	made, err := config.Evaluate(ctx, d.run(k))
	if err != nil {
		return nil, fmt.Errorf("evaluate configuration: %w", err)
	}
	out := made.Why()
	if why != "" {
		out.Runs, out.Problems = false, append(out.Problems, ciconfig.Problem{Text: why})
	}
	return &out, nil
}
