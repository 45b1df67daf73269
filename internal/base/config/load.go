package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// setting is one thing that can be set.
type setting struct {
	key      string // in the file; a dot stands for a table
	env      string
	flag     string // without the hyphens; "" has none
	fallback string
	show     func(string) string // masks the value for people; nil shows it
	set      func(c *Config, value string) string
	get      func(c *Config) string
}

func (s setting) shown(value string) string {
	if s.show != nil {
		return s.show(value)
	}
	return value
}

// Sources says where to look. Each source is above those before it: file, environment, flags.
type Sources struct {
	File    string            // path of the TOML file; "" reads none
	Environ []string          // as os.Environ gives it; TENON_CONFIG names the file where File is ""
	Flags   map[string]string // by name without hyphens, only those that were given
}

// value is one given value and where it stands.
type value struct {
	text   string
	source string
}

// Load reads all sources and checks the result. The error is a *ProblemsError that
// names every problem there is.
func Load(s Sources) (*Config, error) {
	l := &loader{known: map[string]setting{}, given: map[string]value{}}
	table := settings()
	for _, st := range table {
		l.known[st.key] = st
	}
	l.environment(s.Environ) // first, since it may name the file
	name := s.File
	if name == "" {
		name = l.file
	}
	fromEnv := l.given
	l.given = map[string]value{}
	if name != "" {
		l.toml(name)
	}
	maps.Copy(l.given, fromEnv)
	l.flags(s.Flags)

	c := &Config{sources: map[string]string{}}
	for _, st := range table {
		v, ok := l.given[st.key]
		if !ok {
			v = value{text: st.fallback, source: "default"}
		}
		c.sources[st.key] = v.source
		if advice := st.set(c, v.text); advice != "" {
			l.problem(Problem{Key: st.key, Value: st.shown(v.text), Source: v.source, Advice: advice})
		}
	}
	l.problem(c.complete()...)
	if len(l.problems) > 0 {
		return nil, &ProblemsError{Problems: l.problems}
	}
	return c, nil
}

// loader collects values and problems.
type loader struct {
	known    map[string]setting
	given    map[string]value
	file     string // named by TENON_CONFIG
	problems []Problem
}

func (l *loader) problem(p ...Problem) { l.problems = append(l.problems, p...) }

// toml reads the file. A key that means nothing is a problem, since it is a typing error
// more often than not.
func (l *loader) toml(name string) {
	k := koanf.New(".")
	if err := k.Load(file.Provider(name), toml.Parser()); err != nil {
		l.problem(Problem{Key: "config", Value: name, Advice: "the file cannot be read: " + reason(err)})
		return
	}
	flat := k.All()
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		if _, ok := l.known[key]; !ok {
			l.problem(Problem{Key: key, Source: name, Advice: "there is no such key" + didYouMean(key, slices.Sorted(maps.Keys(l.known)))})
			continue
		}
		text, ok := plain(flat[key])
		if !ok {
			l.problem(Problem{Key: key, Source: name, Advice: "write one value, as text in quotes"})
			continue
		}
		l.given[key] = value{text: text, source: name}
	}
}

// reason returns the place in the file where the parser knows one.
func reason(err error) string {
	type positioned interface{ Position() (row, column int) }
	for e := err; e != nil; {
		if p, ok := e.(positioned); ok {
			row, column := p.Position()
			return fmt.Sprintf("%v at line %d, column %d", e, row, column)
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
	return err.Error()
}

func plain(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

// otlpVariable is how OpenTelemetry names the address of its collector.
const otlpVariable = "OTEL_EXPORTER_OTLP_ENDPOINT"

// environment reads TENON_ variables. Empty ones count as not set. Unknown ones may belong
// to others, so only what looks like a slip is a problem.
func (l *loader) environment(environ []string) {
	byName := map[string]setting{}
	for _, st := range l.known {
		byName[st.env] = st
	}
	names := append(slices.Sorted(maps.Keys(byName)), "TENON_CONFIG")
	k := koanf.New("\x00")
	err := k.Load(env.Provider("\x00", env.Opt{
		Prefix:        "TENON_",
		EnvironFunc:   func() []string { return environ },
		TransformFunc: func(name, text string) (string, any) { return name, text },
	}), nil)
	if err != nil {
		l.problem(Problem{Key: "environment", Advice: err.Error()})
		return
	}
	for _, entry := range environ { // as all programs have it; ours is above it
		if text, ok := strings.CutPrefix(entry, otlpVariable+"="); ok && text != "" {
			l.given["otlp_endpoint"] = value{text: text, source: otlpVariable}
		}
	}
	for _, name := range k.Keys() {
		text := k.String(name)
		if text == "" {
			continue
		}
		if name == "TENON_CONFIG" {
			l.file = text
			continue
		}
		if st, ok := byName[name]; ok {
			l.given[st.key] = value{text: text, source: name}
			continue
		}
		if hint := didYouMean(name, names); hint != "" {
			l.problem(Problem{Key: name, Source: "environment", Advice: "there is no such variable" + hint})
		}
	}
}

func (l *loader) flags(given map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		found := false
		for _, st := range l.known {
			if st.flag == name && name != "" {
				l.given[st.key] = value{text: given[name], source: "--" + name}
				found = true
			}
		}
		if !found {
			l.problem(Problem{Key: "--" + name, Advice: "there is no such flag"})
		}
	}
}

// Shown is the effective value of a setting as people may see it.
type Shown struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // secrets masked
	Source string `json:"source"` // file name, variable, flag or "default"
}

// Shown lists the effective configuration, keys without a table first.
func (c *Config) Shown() []Shown {
	table := settings()
	out := make([]Shown, len(table))
	for i, st := range table {
		out[i] = Shown{Key: st.key, Value: st.shown(st.get(c)), Source: c.sources[st.key]}
	}
	return out
}

// Variables returns the environment variable of each setting that has a flag, by the name of
// the flag.
func Variables() map[string]string {
	out := map[string]string{}
	for _, st := range settings() {
		if st.flag != "" {
			out[st.flag] = st.env
		}
	}
	return out
}

// Print writes the effective configuration as a TOML file, secrets masked, with the source
// of each value in a comment.
func (c *Config) Print(w io.Writer) error {
	var b strings.Builder
	var at string // the table written last
	for _, shown := range c.Shown() {
		table, key, nested := strings.Cut(shown.Key, ".")
		if !nested {
			table, key = "", shown.Key
		}
		if table != at {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			at = table
		}
		fmt.Fprintf(&b, "%s = %s # %s\n", key, strconv.Quote(shown.Value), shown.Source)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	return nil
}
