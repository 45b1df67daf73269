// Package kind describes the kinds of integrations: a file for each kind, with its settings, its events and its rules.
package kind

import (
	"context"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/core/project"
)

// Class groups kinds that do the same. A project has at most one active integration of an exclusive class.
type Class string

// The classes.
const (
	Chat      Class = "Chat notifications"
	Tracker   Class = "Issue trackers" // exclusive
	Wiki      Class = "Wikis"          // exclusive
	CI        Class = "CI/CD"
	Source    Class = "Commits"
	Mail      Class = "Mail"
	Variables Class = "Variables of jobs"
	Commands  Class = "Slash commands"
)

// Classes are all classes in the order of the documentation.
var Classes = []Class{Tracker, Wiki, Chat, Commands, CI, Source, Mail, Variables}

// Exclusive reports whether a project has at most one active integration of the class.
func (c Class) Exclusive() bool { return c == Tracker || c == Wiki }

// Kind describes a kind of integrations.
type Kind struct {
	Slug     string
	Title    string
	Class    Class
	Settings []Setting
	Events   []string // names of the flags that a request may set

	// Since is the version of the API that introduced the kind, "" for kinds that the server's own level has.
	Since string

	// Does says what the integration does, "" for nothing yet. Later says what it does not do yet, and why; "" where nothing is missing.
	Does, Later string

	// Unavailable says why no request can set up an integration of the kind; App is true where the provider's own
	// application sets it up.
	Unavailable string
	App         bool

	// ProjectsOnly says that groups have no integration of the kind.
	ProjectsOnly bool

	// Check adds what is wrong with settings beyond the rules of each; nil for nothing.
	Check func(v Values, f *errs.Fields)

	// Tracker returns the issue tracker that pages and texts link to, and Wiki the URL of the wiki; nil for other kinds.
	Tracker func(v Values) project.Tracker
	Wiki    func(v Values) string

	// Send tells the other service of an event whose flag is on; nil where nothing is sent.
	Send func(ctx context.Context, c Caller, v Values, e *Event) error

	// Jobs returns the variables that jobs get; nil for kinds that give none.
	Jobs func(v Values) []Variable
}

// Setting is a setting of a kind.
type Setting struct {
	Name    string
	Aliases []string // other names that a request may use
	Type    Type
	Doc     string

	Required bool // in every request that sets up the integration
	Blank    bool // it is required, and may be empty
	Secret   bool // it is sealed and never answered; the answer has NAME_set
	Hidden   bool // it is sealed and never answered, because its value lets others in
	Legacy   bool // it is an older name for what another setting holds: neither stored nor answered
	Where    bool // secrets are sent there: another value removes those that do not come with it
	URL      bool // it is an address, which the server may call
	Host     bool // it is the name of a host or a part of one

	Default any      // of a new integration; nil for none
	Values  []string // that it may have; nil for any
	Chars   int      // at most; 0 is maxChars
	Min     int64    // of a number
	Max     int64
}

// Type is the type of a setting.
type Type int

// The types.
const (
	Text Type = iota
	Bool
	Int
	Texts // a list
)

// String is the name of the type in the documentation.
func (t Type) String() string {
	return [...]string{"string", "boolean", "integer", "array"}[t]
}

// Variable is a variable of jobs.
type Variable struct {
	Key, Value string
	Masked     bool // left out of logs
	Protected  bool // for jobs of protected branches and tags alone
}

// Sealed reports whether the value of the setting is sealed and never answered.
func (s *Setting) Sealed() bool { return s.Secret || s.Hidden }

// Setting returns a setting by its name, or nil.
func (k *Kind) Setting(name string) *Setting {
	for i := range k.Settings {
		if k.Settings[i].Name == name {
			return &k.Settings[i]
		}
	}
	return nil
}

// Takes reports whether a request may set a flag.
func (k *Kind) Takes(flag string) bool { return slices.Contains(k.Events, flag) }

// Defaults are the settings of a new integration.
func (k *Kind) Defaults() Values {
	out := Values{}
	for _, s := range k.Settings {
		if s.Default != nil {
			out[s.Name] = s.Default
		}
	}
	return out
}

// Find returns a kind by its slug, or nil.
func Find(slug string) *Kind {
	for _, k := range All() {
		if k.Slug == slug {
			return k
		}
	}
	return nil
}

// Slugs are the slugs of all kinds.
func Slugs() []string {
	var out []string
	for _, k := range All() {
		out = append(out, k.Slug)
	}
	return out
}

// Flag is the flag that lets the kind be told of events with a trigger of webhooks, "" where it is never told.
func (k *Kind) Flag(trigger string) string {
	switch {
	case k.Takes(trigger):
		return trigger
	case trigger == pushes && k.Takes(commits):
		return commits
	}
	return ""
}

// Flags are the flags for events with a trigger of webhooks, of which one is enough: events of issues can be of incidents.
func (k *Kind) Flags(trigger string) []string {
	var out []string
	if flag := k.Flag(trigger); flag != "" {
		out = append(out, flag)
	}
	if trigger == issues && k.Takes(incidents) {
		out = append(out, incidents)
	}
	return out
}

// For returns the event as a kind gets it: as an incident where the kind has a flag for incidents, which is on.
func (e *Event) For(k *Kind, flags *Flags) *Event {
	if !e.Incident || e.Flag != issues || !k.Takes(incidents) || !flags.On(incidents) {
		return e
	}
	out := *e
	out.Flag = incidents
	return &out
}

// Reacts reports whether the kind does something when an event happens.
func (k *Kind) Reacts() bool { return k.Send != nil || k.Class == Mail }
