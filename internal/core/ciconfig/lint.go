package ciconfig

// Lint is a configuration as lint shows it.
type Lint struct {
	Valid      bool          `json:"valid"`
	Errors     []string      `json:"errors"`                // not nil
	Warnings   []string      `json:"warnings"`              // not nil
	MergedYAML string        `json:"merged_yaml,omitempty"` // "" where it could not be resolved
	Includes   []LintInclude `json:"includes"`              // not nil
	Jobs       []LintJob     `json:"jobs,omitempty"`
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
