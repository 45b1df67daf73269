package graphql

import (
	"context"
	"slices"

	"tenon/internal/base/starter"
	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/transport/graphql/exec"
)

// ciConfigStage is the jobs of one stage of a configuration.
type ciConfigStage struct {
	Name string

	jobs []*ciconfig.LintJob
}

// ciConfigGroup is jobs of a stage that belong together.
type ciConfigGroup struct {
	Name string
	Size int

	jobs []*ciconfig.LintJob
}

// ciGroupName names the group of a job of a configuration.
func ciGroupName(j *ciconfig.LintJob) string { return ci.GroupName(j.Name) }

// ciConfigStages sorts the jobs of a configuration into stages; those without jobs are left out.
func ciConfigStages(l *ciconfig.Lint) []*ciConfigStage {
	var out []*ciConfigStage
	for _, name := range l.Stages {
		s := &ciConfigStage{Name: name}
		for i := range l.Jobs {
			if l.Jobs[i].Stage == name {
				s.jobs = append(s.jobs, &l.Jobs[i])
			}
		}
		if len(s.jobs) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// groups sorts the jobs of a stage into groups.
func (s *ciConfigStage) groups() []*ciConfigGroup {
	var out []*ciConfigGroup
	for _, j := range s.jobs {
		name := ciGroupName(j)
		at := slices.IndexFunc(out, func(g *ciConfigGroup) bool { return g.Name == name })
		if at < 0 {
			at, out = len(out), append(out, &ciConfigGroup{Name: name})
		}
		out[at].jobs = append(out[at].jobs, j)
		out[at].Size++
	}
	return out
}

// ciLint binds the check of a configuration that is a mutation, although it changes nothing.
func (b *binder) ciLint() {
	type lint struct {
		Content     string
		DryRun      *bool
		ProjectPath string
		Ref         *string
	}
	type linted struct{ Config *ciconfig.Lint }
	exec.Mutation(b.Schema, "ciLint", func(ctx context.Context, c *exec.Call[lint]) (linted, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return linted{}, err
		}
		l, err := b.CI.LintText(ctx, c.As, p, c.Args.Content, ci.DryRun{On: zeroOr(c.Args.DryRun), Ref: zeroOr(c.Args.Ref)})
		return linted{l}, err
	})
}

// ciTemplate is a configuration that a project may begin with.
type ciTemplate struct{ Name, Content string }

// ciTemplates binds configurations that projects may begin with.
func (b *binder) ciTemplates() {
	type which struct{ Name string }
	exec.ValueWith(b.Schema, "Project.ciTemplate", func(_ *project.Project, in which) *ciTemplate {
		content, ok := starter.Find(starter.Pipelines, in.Name)
		if !ok {
			return nil
		}
		return &ciTemplate{in.Name, content}
	})
	exec.Struct[*ciTemplate](b.Schema, "CiTemplate")
}

// ciConfigs binds checks of configurations.
func (b *binder) ciConfigs() {
	type check struct {
		Content     string
		DryRun      *bool
		ProjectPath string
		SHA         *string
	}
	exec.Root(b.Schema, "ciConfig", func(ctx context.Context, c *exec.Call[check]) (*ciconfig.Lint, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return nil, err
		}
		return b.CI.LintText(ctx, c.As, p, c.Args.Content, ci.DryRun{On: zeroOr(c.Args.DryRun), Commit: zeroOr(c.Args.SHA)})
	}, exec.ReadsGit)
	b.ciLint()
	b.ciTemplates()
	kept(b, "CiConfig.stages", ciConfigStages)
	value(b, "CiConfigV2.stages", ciConfigStages)
	for _, typ := range []string{"CiConfig", "CiConfigV2"} {
		value(b, typ+".mergedYaml", func(l *ciconfig.Lint) *string { return text(l.MergedYAML) })
		value(b, typ+".status", func(l *ciconfig.Lint) string {
			if l.Valid {
				return "VALID"
			}
			return "INVALID"
		})
		value(b, typ+".includes", func(l *ciconfig.Lint) []*ciconfig.LintInclude { return pointers(l.Includes) })
		exec.Struct[*ciconfig.Lint](b.Schema, typ)
	}
	exec.Struct[*ciconfig.LintInclude](b.Schema, "CiConfigInclude")
	kept(b, "CiConfigStage.groups", (*ciConfigStage).groups)
	value(b, "CiConfigStageV2.groups", (*ciConfigStage).groups)
	exec.Struct[*ciConfigStage](b.Schema, "CiConfigStage")
	exec.Struct[*ciConfigStage](b.Schema, "CiConfigStageV2")
	exec.Connection[*ciConfigStage](b.Schema, "CiConfigStage")
	jobs := func(g *ciConfigGroup) []*ciconfig.LintJob { return g.jobs }
	kept(b, "CiConfigGroup.jobs", jobs)
	value(b, "CiConfigGroupV2.jobs", jobs)
	exec.Struct[*ciConfigGroup](b.Schema, "CiConfigGroup")
	exec.Struct[*ciConfigGroup](b.Schema, "CiConfigGroupV2")
	exec.Connection[*ciConfigGroup](b.Schema, "CiConfigGroup")

	kept(b, "CiConfigJob.needs", func(j *ciconfig.LintJob) []*ciconfig.Need { return pointers(j.Needs) })
	for _, typ := range []string{"CiConfigJob", "CiConfigJobV2"} {
		value(b, typ+".groupName", ciGroupName)
		value(b, typ+".tags", func(j *ciconfig.LintJob) []string { return j.TagList })
		exec.Struct[*ciconfig.LintJob](b.Schema, typ)
	}
	exec.Connection[*ciconfig.LintJob](b.Schema, "CiConfigJob")
	value(b, "CiConfigJobRestriction.refs", func(f *ciconfig.Filter) []string { return f.Refs })
	value(b, "CiConfigNeed.name", func(n *ciconfig.Need) *string { return text(n.Job) })
	exec.Connection[*ciconfig.Need](b.Schema, "CiConfigNeed")

	exec.Batch(b.Schema, "Project.ciConfigVariables", func(ctx context.Context, c *exec.Call[struct{ Ref string }], of []*project.Project) ([][]*ciconfig.Variable, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) ([]*ciconfig.Variable, error) {
			found, err := b.CI.ConfigVariables(ctx, c.As, p, c.Args.Ref)
			if err != nil || found == nil {
				return nil, err
			}
			return pointers(found), nil
		})
	}, exec.ReadsGit)
	value(b, "CiConfigVariable.description", func(v *ciconfig.Variable) *string { return text(v.Description) })
	value(b, "CiConfigVariable.valueOptions", func(v *ciconfig.Variable) []string { return v.Options })
	exec.Struct[*ciconfig.Variable](b.Schema, "CiConfigVariable")
}
