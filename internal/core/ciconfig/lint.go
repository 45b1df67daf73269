package ciconfig

// Lint is a configuration as lint shows it.
type Lint struct {
	Valid      bool          `json:"valid"`
	Errors     []string      `json:"errors"`                // not nil
	Warnings   []string      `json:"warnings"`              // not nil
	MergedYAML string        `json:"merged_yaml,omitempty"` // "" where it could not be resolved
	Includes   []LintInclude `json:"includes"`              // not nil
	Jobs       []LintJob     `json:"jobs,omitempty"`
	Stages     []string      `json:"-"`                  // in order, with .pre and .post
	Problems   []Problem     `json:"problems,omitempty"` // Errors with their places
}

// LintInclude is an included file.
type LintInclude struct {
	Type           Kind           `json:"type"`
	Location       string         `json:"location"`
	Blob           *string        `json:"blob"`
	Raw            *string        `json:"raw"`
	Extra          map[string]any `json:"extra"`
	ContextProject *string        `json:"context_project"`
	ContextSHA     *string        `json:"context_sha"`
}

// LintJob is a job of the configuration, or of the pipeline in a simulation.
type LintJob struct {
	Name         string   `json:"name"`
	Stage        string   `json:"stage"`
	BeforeScript []string `json:"before_script"` // not nil
	Script       []string `json:"script"`        // not nil
	AfterScript  []string `json:"after_script"`  // not nil
	TagList      []string `json:"tag_list"`      // not nil
	Only         *Filter  `json:"only"`
	Except       *Filter  `json:"except"`
	Environment  *string  `json:"environment"` // name
	When         string   `json:"when"`
	AllowFailure bool     `json:"allow_failure"`
	Needs        []Need   `json:"needs"` // nil without needs
}

// Lint describes a configuration. p is what Evaluate found in a simulation, nil without one: the jobs are then those of the
// configuration, each as if no rule decided about it.
func (c *Config) Lint(p *Pipeline) Lint {
	l := Lint{
		Valid: c.Valid(), Errors: []string{}, Warnings: append([]string{}, c.Warnings...), MergedYAML: c.Merged(), Includes: []LintInclude{}, Problems: c.Problems, Stages: c.Stages,
	}
	if p != nil && c.Valid() {
		l.Problems, l.Valid = p.Problems, len(p.Problems) == 0
	}
	for _, problem := range l.Problems {
		l.Errors = append(l.Errors, problem.Text)
	}
	for _, i := range c.Includes {
		l.Includes = append(l.Includes, i.lint())
	}
	if !l.Valid {
		return l
	}
	if p != nil {
		for i := range p.Jobs {
			l.Jobs = append(l.Jobs, p.Jobs[i].lint())
		}
		return l
	}
	for _, d := range c.jobs {
		j := d.job
		if d.hasNeeds {
			j.Needs = make([]Need, len(d.needs))
			for i, n := range d.needs {
				j.Needs[i] = n.Need
			}
		}
		for i := range max(d.parallel, 1) {
			if len(l.Jobs) == MaxJobs {
				break
			}
			j.Name = d.name(i)
			l.Jobs = append(l.Jobs, j.lint())
		}
	}
	return l
}

func (i Include) lint() LintInclude {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	extra := map[string]any{}
	if i.Kind == ProjectFile {
		extra["project"] = i.Project
		if i.Ref != "" {
			extra["ref"] = i.Ref
		}
	}
	return LintInclude{
		Type: i.Kind, Location: i.Location, Blob: text(i.Blob), Raw: text(i.Raw), Extra: extra, ContextProject: text(i.From.Project), ContextSHA: text(i.From.Commit),
	}
}

func (j *Job) lint() LintJob {
	l := LintJob{
		Name: j.Name, Stage: j.Stage, BeforeScript: append([]string{}, j.BeforeScript...), Script: append([]string{}, j.Script...),
		AfterScript: append([]string{}, j.AfterScript...), TagList: append([]string{}, j.Tags...), Only: j.Only, Except: j.Except, When: j.When,
		AllowFailure: j.AllowFailure, Needs: j.Needs,
	}
	if j.Environment != nil {
		l.Environment = &j.Environment.Name
	}
	return l
}
