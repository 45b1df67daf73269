package runnerhttp

import (
	"strconv"
	"strings"

	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
)

// job is what a runner gets to run.
type job struct {
	ID            ci.StatusID  `json:"id"`
	Token         string       `json:"token"`
	AllowGitFetch bool         `json:"allow_git_fetch"`
	JobInfo       jobInfo      `json:"job_info"`
	GitInfo       gitInfo      `json:"git_info"`
	RunnerInfo    runnerInfo   `json:"runner_info"`
	Variables     []variable   `json:"variables"`
	Steps         []step       `json:"steps"`
	Hooks         []hook       `json:"hooks"`
	Image         *image       `json:"image"`
	Services      []service    `json:"services"`
	Artifacts     []artifacts  `json:"artifacts"`
	Cache         []cache      `json:"cache"`
	Credentials   []credential `json:"credentials"`
	Dependencies  []dependency `json:"dependencies"`
	Features      features     `json:"features"`
}

type jobInfo struct {
	ID              ci.StatusID `json:"id"`
	Name            string      `json:"name"`
	Stage           string      `json:"stage"`
	ProjectID       int64       `json:"project_id"`
	ProjectName     string      `json:"project_name"`
	ProjectFullPath string      `json:"project_full_path"`
}

type gitInfo struct {
	RepoURL          string   `json:"repo_url"`
	Ref              string   `json:"ref"`
	SHA              string   `json:"sha"`
	BeforeSHA        string   `json:"before_sha"`
	RefType          string   `json:"ref_type"`
	Refspecs         []string `json:"refspecs"`
	Depth            int      `json:"depth"`
	RepoObjectFormat string   `json:"repo_object_format"`
	Protected        bool     `json:"protected"`
}

type runnerInfo struct {
	Timeout    int64   `json:"timeout"` // seconds
	SessionURL *string `json:"runner_session_url"`
}

type variable struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Public bool   `json:"public"`
	Masked bool   `json:"masked"`
	File   bool   `json:"file,omitempty"`
	Raw    bool   `json:"raw,omitempty"`
}

type step struct {
	Name         string   `json:"name"`
	Script       []string `json:"script"`
	Timeout      int64    `json:"timeout"` // seconds
	When         string   `json:"when"`
	AllowFailure bool     `json:"allow_failure"`
}

type hook struct {
	Name   string   `json:"name"`
	Script []string `json:"script"`
}

type image struct {
	Name         string   `json:"name"`
	Entrypoint   []string `json:"entrypoint"`
	Ports        []any    `json:"ports"`
	ExecutorOpts *opts    `json:"executor_opts,omitempty"`
	PullPolicy   []string `json:"pull_policy"`
}

type opts struct {
	Docker     *docker     `json:"docker,omitempty"`
	Kubernetes *kubernetes `json:"kubernetes,omitempty"`
}

type docker struct {
	Platform string `json:"platform,omitempty"`
	User     string `json:"user,omitempty"`
}

type kubernetes struct {
	User string `json:"user"`
}

type service struct {
	image
	Alias     *string    `json:"alias"`
	Command   []string   `json:"command"`
	Variables []variable `json:"variables"`
}

type artifacts struct {
	Name      *string  `json:"name"`
	Untracked *bool    `json:"untracked"`
	Paths     []string `json:"paths"`
	Exclude   []string `json:"exclude,omitempty"`
	When      *string  `json:"when"`
	ExpireIn  *string  `json:"expire_in"`
	Type      string   `json:"artifact_type"`
	Format    string   `json:"artifact_format"`
}

type cache struct {
	Key          string   `json:"key"`
	Untracked    bool     `json:"untracked"`
	Paths        []string `json:"paths"`
	Policy       string   `json:"policy"`
	When         string   `json:"when"`
	FallbackKeys []string `json:"fallback_keys"`
}

type credential struct {
	Type     string `json:"type"`
	URL      string `json:"url"`
	Username string `json:"username"`
	Password string `json:"password"`
}

type dependency struct {
	ID    ci.StatusID `json:"id"`
	Name  string      `json:"name"`
	Token string      `json:"token"`
	File  file        `json:"artifacts_file"`
}

type file struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"`
}

type features struct {
	TraceSections     bool     `json:"trace_sections"`
	TokenMaskPrefixes []string `json:"token_mask_prefixes"`
	FailureReasons    []string `json:"failure_reasons"`
}

// payload renders a job.
func (h *Handler) payload(a *ci.Assignment) *job {
	c, p, of := a.Config, a.Project, a.Pipeline
	user, password := a.Credentials()
	out := &job{
		ID: a.Job.ID, Token: a.Token, AllowGitFetch: a.Fetches(),
		JobInfo: jobInfo{ID: a.Job.ID, Name: a.Job.Name, Stage: a.Job.Stage, ProjectID: int64(p.ID), ProjectName: p.Path, ProjectFullPath: p.FullPath},
		GitInfo: gitInfo{
			RepoURL: h.URLs.HTTPRepositoryAs(p.FullPath, user, password), Ref: of.Ref, SHA: of.SHA, BeforeSHA: of.Before(), RefType: "branch",
			Refspecs: refspecs(a), Depth: a.GitDepth, RepoObjectFormat: "sha1", Protected: of.Protected,
		},
		RunnerInfo: runnerInfo{Timeout: a.Job.Timeout},
		Variables:  variables(a.Variables), Steps: steps(a), Hooks: []hook{}, Image: imageOf(c.Image), Services: []service{}, Artifacts: artifactsOf(c.Artifacts),
		Cache: caches(a), Credentials: []credential{}, Dependencies: []dependency{},
		Features: features{TraceSections: true, TokenMaskPrefixes: ci.TokenPrefixes(h.Settings.Current().AccessTokenPrefix()), FailureReasons: ci.FailureReasons()},
	}
	if of.Tag {
		out.GitInfo.RefType = "tag"
	}
	if len(of.SHA) == 64 {
		out.GitInfo.RepoObjectFormat = "sha256"
	}
	if len(c.Hooks.PreGetSources) > 0 {
		out.Hooks = append(out.Hooks, hook{Name: "pre_get_sources_script", Script: c.Hooks.PreGetSources})
	}
	for i := range c.Services {
		out.Services = append(out.Services, serviceOf(&c.Services[i]))
	}
	for _, d := range a.Dependencies {
		out.Dependencies = append(out.Dependencies, dependency{ID: d.ID, Name: d.Name, Token: a.Token, File: file{d.Filename, d.Size}})
	}
	return out
}

// refspecs are what a runner fetches: the commit of the pipeline, and its branch or tag, or all of them where it fetches everything. The
// branch of a merge request may be gone by then.
func refspecs(a *ci.Assignment) []string {
	id := strconv.FormatInt(int64(a.Pipeline.ID), 10)
	out := []string{"+refs/pipelines/" + id + ":refs/pipelines/" + id}
	switch {
	case a.GitDepth == 0:
		return append(out, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
	case a.Pipeline.OfMergeRequest():
		return out
	case a.Pipeline.Tag:
		return append(out, "+refs/tags/"+a.Pipeline.Ref+":refs/tags/"+a.Pipeline.Ref)
	}
	return append(out, "+refs/heads/"+a.Pipeline.Ref+":refs/remotes/origin/"+a.Pipeline.Ref)
}

func variables(list []ci.Variable) []variable {
	out := make([]variable, len(list))
	for i, v := range list {
		out[i] = variable{Key: v.Key, Value: v.Value, Public: v.Public, Masked: v.Masked, File: v.File, Raw: v.Raw}
	}
	return out
}

func steps(a *ci.Assignment) []step {
	c := a.Config
	out := []step{{Name: "script", Script: append(append([]string{}, c.BeforeScript...), c.Script...), Timeout: a.Job.Timeout, When: "on_success"}}
	if c.Release != nil {
		out = append(out, step{Name: "release", Script: []string{releaseCommand(c.Release)}, Timeout: a.Job.Timeout, When: "on_success"})
	}
	if len(c.AfterScript) > 0 {
		out = append(out, step{Name: "after_script", Script: c.AfterScript, Timeout: a.Job.Timeout, When: "always", AllowFailure: true})
	}
	return out
}

// releaseCommand is the command line with which a job creates its release.
func releaseCommand(r *ciconfig.Release) string {
	words := []string{"release-cli", "create"}
	flag := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, quoted(value))
		}
	}
	flag("name", r.Name)
	flag("description", r.Description)
	flag("tag-name", r.TagName)
	flag("tag-message", r.TagMessage)
	flag("ref", r.Ref)
	flag("released-at", r.ReleasedAt)
	for _, m := range r.Milestones {
		flag("milestone", m)
	}
	for _, l := range r.Links {
		text := `{"name":` + strconv.Quote(l.Name) + `,"url":` + strconv.Quote(l.URL)
		if l.Type != "" {
			text += `,"link_type":` + strconv.Quote(l.Type)
		}
		if l.FilePath != "" {
			text += `,"filepath":` + strconv.Quote(l.FilePath)
		}
		flag("assets-link", text+"}")
	}
	return strings.Join(words, " ")
}

// quoted is a text as one word of a shell, in which variables are still expanded.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(text) + `"`
}

func imageOf(i *ciconfig.Image) *image {
	if i == nil {
		return nil
	}
	out := &image{Name: i.Name, Entrypoint: i.Entrypoint, Ports: []any{}, PullPolicy: i.PullPolicy}
	var o opts
	if i.Platform != "" || i.User != "" {
		o.Docker = &docker{Platform: i.Platform, User: i.User}
	}
	if i.Kubernetes != "" {
		o.Kubernetes = &kubernetes{User: i.Kubernetes}
	}
	if o != (opts{}) {
		out.ExecutorOpts = &o
	}
	return out
}

func serviceOf(s *ciconfig.ServiceImage) service {
	out := service{image: *imageOf(&s.Image), Command: s.Command, Variables: []variable{}}
	if s.Alias != "" {
		out.Alias = &s.Alias
	}
	for _, v := range s.Variables {
		out.Variables = append(out.Variables, variable{Key: v.Key, Value: v.Value, Public: true, Raw: v.Raw})
	}
	return out
}

// artifactsOf renders what a job leaves: one archive of files, and one element for each report. nil is nothing.
func artifactsOf(a *ciconfig.Artifacts) []artifacts {
	if a == nil {
		return nil
	}
	optional := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	var out []artifacts
	if len(a.Paths) > 0 || a.Untracked {
		one := artifacts{
			Name: optional(a.Name), Paths: a.Paths, Exclude: a.Exclude, When: optional(a.When), ExpireIn: optional(a.ExpireIn), Type: ci.Archive, Format: "zip",
		}
		if a.Untracked {
			one.Untracked = &a.Untracked
		}
		out = append(out, one)
	}
	for _, r := range a.Reports {
		always := "always"
		out = append(out, artifacts{Paths: r.Paths, When: &always, ExpireIn: optional(a.ExpireIn), Type: r.Type, Format: r.Format, Name: optional(ci.ArtifactName(r.Type))})
	}
	return out
}

// caches renders what a job takes over from others.
func caches(a *ci.Assignment) []cache {
	out := []cache{}
	for _, c := range a.Caches() {
		out = append(out, cache{
			Key: c.Key, Untracked: c.Untracked, Paths: c.Paths, Policy: c.Policy, When: c.When, FallbackKeys: c.FallbackKeys,
		})
	}
	return out
}
