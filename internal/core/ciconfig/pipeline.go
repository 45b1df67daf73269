package ciconfig

import (
	"context"
	"time"
)

// Run is what the rules of a configuration are asked with.
type Run struct {
	// Variables has those that win over variables of the configuration: of the pipeline, project, groups and instance. Nil: none.
	Variables Lookup
	// Predefined has those that variables of the configuration replace, such as CI_COMMIT_BRANCH. Nil: none.
	Predefined Lookup
	// Secret reports whether a variable of Variables is not for all who see the pipeline: its name then stays as it is written. Nil: none.
	Secret       func(key string) bool
	Source       string // of the pipeline, such as "push" or "merge_request_event"
	Ref          string // short name of the branch or tag; of a merge request, its source branch
	Tag          bool   // Ref is a tag
	MergeRequest bool   // the pipeline belongs to a merge request
	Project      string // full path, for only and except with a path
	// Changes lists the paths that the commit of the run changes, against compareTo where that is not "". known is false where there is
	// nothing to compare with; rules of changes then hold. ErrNoReference says that compareTo does not exist. Nil: not known.
	Changes func(ctx context.Context, compareTo string) (paths []string, known bool, err error)
	// Files lists the paths of the commit of the run, or of another project where project is not "". Nil: no files.
	Files func(ctx context.Context, project, ref string) ([]string, error)
}

// Pipeline is what a configuration makes of a Run.
type Pipeline struct {
	Name         string // of workflow:name with variables expanded, "" where there is none
	AutoCancel   AutoCancel
	Stages       []string      // that have jobs, in order, named as in Config.Stages
	Variables    []Variable    // of all jobs, after workflow:rules
	Jobs         []Job         // in order of stages, then of the configuration
	Problems     []Problem     // why there is no pipeline; Jobs is then empty
	Warnings     []string      // for the author
	Explanations []Explanation // one for each job of the configuration, and one for workflow
	Filtered     bool          // Problems are that workflow or rules left out everything: not an invalid configuration
}

// AutoCancel says which pipelines and jobs a newer pipeline or a failed job cancels.
type AutoCancel struct {
	OnNewCommit  string `json:"on_new_commit,omitempty"`  // conservative, interruptible or none; "" means conservative
	OnJobFailure string `json:"on_job_failure,omitempty"` // all or none; "" means none
}

// Explanation says why a job is in a pipeline or not.
type Explanation struct {
	Job     string   `json:"job"` // "workflow" for the pipeline itself
	Present bool     `json:"present"`
	Rule    int      `json:"rule"`           // number of the rule that decided, from 1; 0 where no rule did
	File    string   `json:"file,omitempty"` // of the rule, or of the job
	Line    int      `json:"line,omitempty"`
	Column  int      `json:"column,omitempty"`
	Reason  string   `json:"reason"`          // one sentence
	Steps   []string `json:"steps,omitempty"` // what became of each rule, in order
}

// Job is one job of a pipeline, after parallel and rules. It marshals to JSON and back without loss.
type Job struct {
	Name       string `json:"name"` // with index or matrix values
	Stage      string `json:"stage"`
	StageIndex int    `json:"stage_index"`      // in Config.Stages, from 0
	Bridge     bool   `json:"bridge,omitempty"` // starts a pipeline instead of running; Trigger is set unless it needs an upstream pipeline

	When               string        `json:"when"` // on_success, on_failure, always, manual or delayed
	AllowFailure       bool          `json:"allow_failure,omitempty"`
	AllowExitCodes     []int         `json:"allow_exit_codes,omitempty"` // with which alone a failure is allowed; AllowFailure is then false
	StartIn            time.Duration `json:"start_in,omitempty"`         // of a delayed job
	ManualConfirmation string        `json:"manual_confirmation,omitempty"`

	Tags      []string   `json:"tags,omitempty"`      // with variables
	Variables []Variable `json:"variables,omitempty"` // of the configuration: global ones, those of the job and of its rule, by name once
	// Needs is nil where the job starts after its earlier stages, and empty where it starts at once.
	Needs []Need `json:"needs"`
	// Dependencies has the jobs whose artifacts it gets. Nil: of all earlier stages, or of its Needs that ask for artifacts.
	Dependencies []string `json:"dependencies"`

	Script       []string `json:"script,omitempty"`
	BeforeScript []string `json:"before_script,omitempty"`
	AfterScript  []string `json:"after_script,omitempty"`
	Hooks        Hooks    `json:"hooks"`

	Image     *Image         `json:"image,omitempty"`
	Services  []ServiceImage `json:"services,omitempty"`
	Artifacts *Artifacts     `json:"artifacts,omitempty"`
	Cache     []Cache        `json:"cache,omitempty"`
	Release   *Release       `json:"release,omitempty"`
	IDTokens  []IDToken      `json:"id_tokens,omitempty"`

	Coverage      string        `json:"coverage,omitempty"` // regular expression without slashes
	Retry         Retry         `json:"retry"`
	Timeout       time.Duration `json:"timeout,omitempty"`       // 0 means the project's
	Interruptible *bool         `json:"interruptible,omitempty"` // nil means false
	ResourceGroup string        `json:"resource_group,omitempty"`
	Environment   *Environment  `json:"environment,omitempty"`
	Trigger       *Trigger      `json:"trigger,omitempty"`
	Parallel      *Parallel     `json:"parallel,omitempty"` // nil for a job that is alone
	Pages         bool          `json:"pages,omitempty"`    // the job publishes a site
	Publish       string        `json:"publish,omitempty"`  // folder of the site, "" means public

	Only   *Filter `json:"only,omitempty"`   // as lint shows it
	Except *Filter `json:"except,omitempty"` // as lint shows it
}
