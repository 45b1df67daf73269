package ciconfig

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Compose reads a configuration and resolves include, inputs, references, extends, default and inherit. What is wrong with it
// is in Problems of the result; an error is one of ctx or a failure of Options.Files.
func Compose(ctx context.Context, text []byte, o Options) (*Config, error) {
	c := &Config{options: o}
	err := c.compose(ctx, text)
	if r := (*refusal)(nil); errors.As(err, &r) {
		c.Problems = append(c.Problems, r.Problem)
		return c, nil
	}
	return c, err
}

func (c *Config) compose(ctx context.Context, text []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root := &source{c.options.Place, c.options.Place.Path}
	at := position{file: root}
	if len(bytes.TrimSpace(text)) == 0 {
		return refuse(at, textEmpty)
	}
	if len(text) > cmp.Or(c.options.MaxBytes, MaxBytes) {
		return refuse(at, textTooBig)
	}
	docs, err := parse(text, root)
	if err != nil {
		return err
	}
	if len(docs) == 0 || docs[0].kind != mapping {
		return refuse(at, textFormat)
	}
	return c.declare(docs[0])
}

// declaration is a job of a configuration, before rules and parallel.
type declaration struct {
	job Job
	at  position
}

type rule struct{}

func (c *Config) declare(root *value) error {
	c.Stages = []string{".pre", "build", "test", "deploy", ".post"}
	if own := root.get("stages"); own != nil {
		c.Stages = slices.Concat([]string{".pre"}, texts(own), []string{".post"})
	}
	c.Variables = variables(root.get("variables"))
	for i, k := range root.keys {
		v := root.items[i]
		if v.kind != mapping || strings.HasPrefix(k.name, ".") || slices.Contains([]string{"default", "include", "workflow", "variables", "stages", "image", "cache"}, k.name) {
			continue
		}
		j := Job{
			Name: k.name, Stage: "test", When: "on_success", Script: texts(v.get("script")), BeforeScript: texts(v.get("before_script")), AfterScript: texts(v.get("after_script")),
			Tags: texts(v.get("tags")), Variables: slices.Concat(c.Variables, variables(v.get("variables"))),
		}
		if s := v.get("stage"); s != nil {
			j.Stage = s.text
		}
		if s := v.get("image"); s != nil && s.isScalar() {
			j.Image = &Image{Name: s.text}
		}
		if n := v.get("needs"); n != nil {
			j.Needs = []Need{}
			for _, name := range texts(n) {
				j.Needs = append(j.Needs, Need{Job: name, Artifacts: true})
			}
		}
		if j.StageIndex = slices.Index(c.Stages, j.Stage); j.StageIndex < 0 {
			return refuse(k.at, fmt.Sprintf("%s job: chosen stage %s does not exist; available stages are %s", j.Name, j.Stage, strings.Join(c.Stages, ", ")))
		}
		if j.Script == nil {
			return refuse(k.at, "jobs "+j.Name+" config should implement the script:, run:, or trigger: keyword")
		}
		c.jobs = append(c.jobs, &declaration{job: j, at: k.at})
	}
	if len(c.jobs) == 0 {
		return refuse(root.at, "jobs config should contain at least one visible job")
	}
	return nil
}

// texts gives the scalars of a list, or the one that stands alone.
func texts(v *value) []string {
	if v.isScalar() {
		return []string{v.text}
	}
	if v == nil || v.kind != list {
		return nil
	}
	var out []string
	for _, i := range v.items {
		out = append(out, i.text)
	}
	return out
}

func variables(v *value) []Variable {
	var out []Variable
	if v == nil || v.kind != mapping {
		return nil
	}
	for i, k := range v.keys {
		out = append(out, Variable{Key: k.name, Value: v.items[i].text})
	}
	return out
}

// Evaluate finds the pipeline that a configuration has for a run. What keeps it from having one is in Problems of the result; an
// error is one of ctx or a failure of the functions of the run.
func (c *Config) Evaluate(ctx context.Context, _ Run) (*Pipeline, error) {
	p := &Pipeline{Problems: c.Problems}
	if len(c.Problems) > 0 {
		return p, ctx.Err()
	}
	for _, d := range c.jobs {
		p.Jobs = append(p.Jobs, d.job)
		p.Explanations = append(p.Explanations, Explanation{Job: d.job.Name, Present: true, Line: int(d.at.line), Reason: "it has no rules"})
	}
	slices.SortStableFunc(p.Jobs, func(a, b Job) int { return a.StageIndex - b.StageIndex })
	for _, j := range p.Jobs {
		if !slices.Contains(p.Stages, j.Stage) {
			p.Stages = append(p.Stages, j.Stage)
		}
	}
	p.Variables = c.Variables
	return p, ctx.Err()
}
