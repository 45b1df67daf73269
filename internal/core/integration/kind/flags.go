package kind

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Flags are the events that an integration reacts to. Each field has the name of its flag and the value in a new integration.
type Flags struct {
	Commit            bool `json:"commit_events" default:"true"`
	Push              bool `json:"push_events" default:"true"`
	Issues            bool `json:"issues_events" default:"true"`
	Incident          bool `json:"incident_events" default:"false"`
	Alert             bool `json:"alert_events" default:"true"`
	ConfidentialIssue bool `json:"confidential_issues_events" default:"true"`
	MergeRequests     bool `json:"merge_requests_events" default:"true"`
	TagPush           bool `json:"tag_push_events" default:"true"`
	Deployment        bool `json:"deployment_events" default:"false"`
	Note              bool `json:"note_events" default:"true"`
	ConfidentialNote  bool `json:"confidential_note_events" default:"true"`
	Pipeline          bool `json:"pipeline_events" default:"true"`
	WikiPage          bool `json:"wiki_page_events" default:"true"`
	Job               bool `json:"job_events" default:"true"`
	CommentOnEvent    bool `json:"comment_on_event_enabled" default:"true"`
	Vulnerability     bool `json:"vulnerability_events" default:"true"`
}

// Flag names, as kinds list them.
const (
	commits            = "commit_events"
	pushes             = "push_events"
	issues             = "issues_events"
	incidents          = "incident_events"
	alerts             = "alert_events"
	confidentialIssues = "confidential_issues_events"
	mergeRequests      = "merge_requests_events"
	tagPushes          = "tag_push_events"
	deployments        = "deployment_events"
	notes              = "note_events"
	confidentialNotes  = "confidential_note_events"
	pipelines          = "pipeline_events"
	wikiPages          = "wiki_page_events"
	jobs               = "job_events"
	commentOnEvent     = "comment_on_event_enabled"
	vulnerabilities    = "vulnerability_events"
)

var flagIndex = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	t := reflect.TypeFor[Flags]()
	for i := range t.NumField() {
		out[t.Field(i).Tag.Get("json")] = i
	}
	return out
})

// DefaultFlags are the flags of a new integration.
func DefaultFlags() Flags {
	var out Flags
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		v.Field(i).SetBool(v.Type().Field(i).Tag.Get("default") == "true")
	}
	return out
}

// Set sets a flag by its name.
func (f *Flags) Set(name string, on bool) {
	if i, ok := flagIndex()[name]; ok {
		reflect.ValueOf(f).Elem().Field(i).SetBool(on)
	}
}

// Value is the text that is stored.
func (f Flags) Value() (driver.Value, error) {
	type plain Flags
	text, err := json.Marshal(plain(f))
	return string(text), err
}

// Scan reads the text. Flags that it lacks have their defaults.
func (f *Flags) Scan(src any) error {
	type plain Flags
	out := plain(DefaultFlags())
	var text string
	switch src := src.(type) {
	case string:
		text = src
	case []byte:
		text = string(src)
	default:
		return fmt.Errorf("read flags: %T is no text", src)
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&out); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	*f = Flags(out)
	return nil
}

// On reports whether a flag is set, by its name.
func (f *Flags) On(name string) bool {
	i, ok := flagIndex()[name]
	return ok && reflect.ValueOf(f).Elem().Field(i).Bool()
}
