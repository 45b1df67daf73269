package ciconfig

import "encoding/json"

// Variable is a variable of a configuration. Names are unique in a list.
type Variable struct {
	Key         string   `json:"key"`
	Value       string   `json:"value"`
	Raw         bool     `json:"raw,omitempty"`         // its value is not expanded
	Description string   `json:"description,omitempty"` // of a global variable, for the form of a new pipeline
	Options     []string `json:"options,omitempty"`     // of a global variable, the values that may be chosen
}

// Need is a job that another waits for, or whose artifacts it gets.
type Need struct {
	Job       string `json:"job,omitempty"` // name of a job of the pipeline, after parallel; "" where only an upstream pipeline is needed
	Artifacts bool   `json:"artifacts"`
	Optional  bool   `json:"optional,omitempty"`
	Project   string `json:"project,omitempty"`  // full path, of a job of another project
	Ref       string `json:"ref,omitempty"`      // with Project
	Pipeline  string `json:"pipeline,omitempty"` // ID with variables, of a job of another pipeline; of a Bridge, project whose status it mirrors
}

// Elsewhere reports whether a need is of another project or pipeline.
func (n *Need) Elsewhere() bool { return n.Project != "" || n.Pipeline != "" }

// Mirrors reports whether a need of a Bridge is the project whose latest pipeline it follows.
func (n *Need) Mirrors() bool { return n.Pipeline != "" && n.Job == "" }

// Image is a container image.
type Image struct {
	Name       string   `json:"name"`
	Entrypoint []string `json:"entrypoint,omitempty"`
	PullPolicy []string `json:"pull_policy,omitempty"`
	Platform   string   `json:"platform,omitempty"` // of docker
	User       string   `json:"user,omitempty"`     // of docker
	Kubernetes string   `json:"kubernetes_user,omitempty"`
}

// ServiceImage is a container that runs beside a job.
type ServiceImage struct {
	Image
	Alias     string     `json:"alias,omitempty"` // one name or several with commas or spaces between
	Command   []string   `json:"command,omitempty"`
	Variables []Variable `json:"variables,omitempty"`
}

// Hooks are scripts that a runner starts at fixed points.
type Hooks struct {
	PreGetSources []string `json:"pre_get_sources_script,omitempty"`
}

// Artifacts says which files of a job are kept.
type Artifacts struct {
	Name      string   `json:"name,omitempty"` // with variables
	Paths     []string `json:"paths,omitempty"`
	Exclude   []string `json:"exclude,omitempty"`
	Untracked bool     `json:"untracked,omitempty"`
	When      string   `json:"when,omitempty"`      // on_success, on_failure or always; "" means on_success
	ExpireIn  string   `json:"expire_in,omitempty"` // as written, such as "1 day" or "never"; "" means the server's; ParseDuration reads it
	ExposeAs  string   `json:"expose_as,omitempty"`
	Access    string   `json:"access,omitempty"` // all, developer, maintainer or none; "" means all. public: false is developer
	Reports   []Report `json:"reports,omitempty"`
}

// Report is a kind of report with the files that hold it.
type Report struct {
	Type   string   `json:"type"`   // as a runner knows it, such as junit, dotenv or cobertura
	Format string   `json:"format"` // gzip, raw or zip
	Paths  []string `json:"paths"`
}

// Cache says which files a job takes over from earlier jobs.
type Cache struct {
	Key          string   `json:"key,omitempty"`       // with variables; "" means default, unless KeyFiles has paths
	KeyFiles     []string `json:"key_files,omitempty"` // the key is made of the last commits that changed them
	KeyPrefix    string   `json:"key_prefix,omitempty"`
	Paths        []string `json:"paths,omitempty"`
	Policy       string   `json:"policy,omitempty"` // pull-push, pull, push or a variable; "" means pull-push
	When         string   `json:"when,omitempty"`   // on_success, on_failure or always; "" means on_success
	Untracked    bool     `json:"untracked,omitempty"`
	Unprotect    bool     `json:"unprotect,omitempty"`
	FallbackKeys []string `json:"fallback_keys,omitempty"`
}

// Release is the release that a job creates after its script.
type Release struct {
	TagName     string        `json:"tag_name"`
	TagMessage  string        `json:"tag_message,omitempty"`
	Name        string        `json:"name,omitempty"`
	Description string        `json:"description"`
	Ref         string        `json:"ref,omitempty"`
	Milestones  []string      `json:"milestones,omitempty"`
	ReleasedAt  string        `json:"released_at,omitempty"`
	Links       []ReleaseLink `json:"links,omitempty"`
}

// ReleaseLink is a file or page that belongs to a release.
type ReleaseLink struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Type     string `json:"link_type,omitempty"`
	FilePath string `json:"filepath,omitempty"`
}

// IDToken is a variable that holds a signed token.
type IDToken struct {
	Key      string   `json:"key"`
	Audience []string `json:"aud"` // with variables
}

// Retry says when a failed job starts again by itself.
type Retry struct {
	Max       int      `json:"max,omitempty"`  // 0 to 2
	When      []string `json:"when,omitempty"` // reasons of failure; nil means all, unless ExitCodes has some
	ExitCodes []int    `json:"exit_codes,omitempty"`
}

// Environment is where a job deploys to.
type Environment struct {
	Name       string `json:"name"` // with variables
	URL        string `json:"url,omitempty"`
	OnStop     string `json:"on_stop,omitempty"` // name of a job
	Action     string `json:"action,omitempty"`  // start, prepare, stop, verify or access; "" means start
	AutoStopIn string `json:"auto_stop_in,omitempty"`
	Tier       string `json:"deployment_tier,omitempty"`
	Namespace  string `json:"kubernetes_namespace,omitempty"`
}

// Starts reports whether the job deploys to the environment, rather than prepare, stop or look at it.
func (e *Environment) Starts() bool { return e.Action == "" || e.Action == "start" }

// Trigger is the pipeline that a bridge starts: of another project, or a child from files.
type Trigger struct {
	Project                  string           `json:"project,omitempty"` // full path with variables; "" means a child pipeline
	Branch                   string           `json:"branch,omitempty"`  // with variables, "" means the default branch
	Include                  []TriggerInclude `json:"include,omitempty"` // of a child pipeline; Config makes a configuration of them
	Strategy                 string           `json:"strategy,omitempty"`
	Inputs                   map[string]any   `json:"inputs,omitempty"`
	ForwardYAMLVariables     bool             `json:"forward_yaml_variables"`
	ForwardPipelineVariables bool             `json:"forward_pipeline_variables,omitempty"`
}

// TriggerInclude is a file of a child pipeline. Exactly one of Local, File, Remote, Template, Component and Artifact is not "".
type TriggerInclude struct {
	Local     string         `json:"local,omitempty"`
	File      string         `json:"file,omitempty"` // with Project and Ref
	Project   string         `json:"project,omitempty"`
	Ref       string         `json:"ref,omitempty"`
	Remote    string         `json:"remote,omitempty"`
	Template  string         `json:"template,omitempty"`
	Component string         `json:"component,omitempty"`
	Artifact  string         `json:"artifact,omitempty"` // path in the artifacts of Job; core/ci reads it and composes its text
	Job       string         `json:"job,omitempty"`
	Inputs    map[string]any `json:"inputs,omitempty"`
}

// Parallel says which of several jobs from one keyword a job is.
type Parallel struct {
	Index  int        `json:"index"` // CI_NODE_INDEX, from 1
	Total  int        `json:"total"`
	Group  string     `json:"group"`            // name before parallel
	Matrix []Variable `json:"matrix,omitempty"` // that the job stands for; Variables has them as well
}

// Filter is what only or except of a job say.
type Filter struct {
	Refs       []string `json:"refs,omitempty"`
	Variables  []string `json:"variables,omitempty"`
	Changes    []string `json:"changes,omitempty"`
	Kubernetes string   `json:"kubernetes,omitempty"`
}

// Config returns the text of a child pipeline for Compose, in the project and at the commit of the job. Files from artifacts are left out.
func (t *Trigger) Config() ([]byte, error) {
	var files []TriggerInclude
	for _, i := range t.Include {
		if i.Artifact == "" {
			files = append(files, i)
		}
	}
	return json.Marshal(map[string]any{"include": files}) // which is YAML as well
}
