// Package ciconfig reads CI/CD configurations and decides which jobs of them a pipeline has.
package ciconfig

import (
	"context"
	"errors"
)

// Bounds of a configuration. One that exceeds them has a Problem.
const (
	MaxBytes      = 2 << 20 // of one file, before Options.MaxBytes says otherwise
	MaxTotalBytes = 8 << 20 // of all files together
	MaxDepth      = 100     // of mappings and lists in one another
	MaxIncludes   = 150     // files, however they are nested
	MaxExtends    = 10      // levels of extends
	MaxReferences = 10      // levels of !reference
	MaxScript     = 10      // levels of lists in a script
	MaxJobs       = 500     // of a pipeline, unless Options.MaxJobs says otherwise
	MaxMatrix     = 200     // jobs from one parallel keyword
	MaxNeeds      = 50      // of one job
	MaxTags       = 50      // of one job
	MaxTag        = 255     // bytes of a tag
	MaxName       = 255     // characters of the name of a job
)

// Errors of a Reader and of the functions of a Run. Each becomes a Problem with the documented text; other errors end Compose.
// A Reader returns them for what is not there and for what the caller may not see alike.
var (
	ErrNoFile      = errors.New("file does not exist")
	ErrNoProject   = errors.New("project does not exist")
	ErrNoReference = errors.New("reference does not exist")
	ErrTooLarge    = errors.New("file is too large")
	ErrUnavailable = errors.New("kind of include is not available here")
)

// FetchError is the error of a Reader for a remote file that it could not fetch.
type FetchError struct {
	Reason string // after "could not be fetched because of ", such as "HTTP code `404` error", "a timeout error"
}

func (e *FetchError) Error() string { return "could not be fetched because of " + e.Reason }

// Kind says where an included file comes from.
type Kind string

// The kinds of include. ProjectFile is called file in answers of lint.
const (
	Local       Kind = "local"
	ProjectFile Kind = "file"
	Remote      Kind = "remote"
	Template    Kind = "template"
	Component   Kind = "component"
)

// Location is where a file is. Compose hands back what it got from a Reader and from Options, and reads Path alone.
type Location struct {
	Project string // full path, "" outside of projects
	Commit  string // object ID, "" outside of projects
	Path    string // from the root of the repository, or a URL
}

// Reference names a file to include. Variables in it are expanded.
type Reference struct {
	Kind      Kind
	From      Location // the file that includes it; a local file is one of the same project and commit
	Path      string   // without a slash in front; of a template its name, of a remote file its URL, of a component its address without the version
	Project   string   // full path, of a ProjectFile
	Ref       string   // of a ProjectFile, "" means the default branch; of a Component its version
	Integrity string   // of a Remote file, such as "sha256-..."; Compose compares it
}

// File is a file as a Reader found it.
type File struct {
	Text     []byte
	Location Location
	Blob     string // URL of its page, "" where it has none
	Raw      string // URL of its bytes, "" where it has none
}

// Reader finds included files, but for templates, which this package has. It decides what the author of the pipeline may read.
type Reader interface {
	// Read returns the file that a Reference names. Its errors are those of this package, a *FetchError, or failures.
	Read(ctx context.Context, r Reference) (File, error)
	// Paths lists the files of the project and commit of a place, for wildcards and exists. It returns nil outside of projects. The
	// project and commit, then a branch or tag as well or "" for the default branch, may be those that a rule of an include names.
	Paths(ctx context.Context, at Location) ([]string, error)
}

// Options says how Compose reads a configuration. The zero value reads a text that includes nothing.
type Options struct {
	Files     Reader         // nil: every include is unavailable
	Location  Location       // of the text itself
	Variables Lookup         // in paths and rules of include; nil: none
	Unmasked  Lookup         // those whose values readers of the configuration may see, for expand_vars; nil: none
	Inputs    map[string]any // of the header spec:inputs, by name: string, float64, int, bool or []any
	// Changes is that of a Run, for rules of include. Nil: not known.
	Changes  func(ctx context.Context, compareTo string) (paths []string, known bool, err error)
	MaxBytes int    // of one file, 0 means MaxBytes
	MaxTotal int    // bytes of all files, 0 means MaxTotalBytes, which it does not exceed
	MaxDepth int    // levels of mappings and lists, 0 means MaxDepth, which it does not exceed
	Includes *int   // files at most, nil means MaxIncludes, which it does not exceed
	MaxJobs  int    // of a pipeline, 0 means MaxJobs
	MaxNeeds int    // of one job, 0 means MaxNeeds
	HelpURL  string // of the documentation that some problems link, such as "https://host/help"
}

// Problem is a reason why a configuration makes no pipeline.
type Problem struct {
	Text   string `json:"text"`             // as documented, without the place
	File   string `json:"file,omitempty"`   // path or URL, "" where it is not known
	Line   int    `json:"line,omitempty"`   // from 1, 0 where it is not known
	Column int    `json:"column,omitempty"` // from 1, 0 where it is not known
}

// Include is a file that a configuration includes, as lint shows it.
type Include struct {
	Kind     Kind
	Location string   // path, URL or name, as written: the value of a variable in it may be secret
	Blob     string   // URL, "" where there is none
	Raw      string   // URL, "" where there is none
	Project  string   // of a ProjectFile, as written
	Ref      string   // as written, "" where none is
	From     Location // the file that includes it
}

// Config is a configuration with everything it includes. It is not changed once composed, and safe for concurrent use.
type Config struct {
	Stages    []string   // in order, with .pre and .post
	Variables []Variable // of all jobs, as the configuration declares them
	Includes  []Include  // in the order in which they were read
	Problems  []Problem  // none means that Evaluate may find a pipeline
	Warnings  []string

	options  Options
	jobs     []*declaration
	write    func() string // Merged
	rules    []*rule       // of workflow
	hasRules bool
	name     string // of workflow, with variables
	cancel   AutoCancel
}

// Merged returns the configuration as one YAML text, in which include, extends, references and anchors are resolved.
// It is "" where a problem kept it from being resolved.
func (c *Config) Merged() string { return c.write() }

// Valid tells whether the configuration has no problems.
func (c *Config) Valid() bool { return len(c.Problems) == 0 }
