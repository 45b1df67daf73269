package ciconfig

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// composer reads the files of a configuration.
type composer struct {
	merger
	ctx   context.Context // lives as long as one call of Compose
	c     *Config
	o     Options
	bytes int
	marks int
	steps budget
}

func (o *Options) total() int { return min(cmp.Or(o.MaxTotal, MaxTotalBytes), MaxTotalBytes) }

func (o *Options) depth() int { return min(cmp.Or(o.MaxDepth, MaxDepth), MaxDepth) }

func (o *Options) includes() int {
	if o.Includes == nil {
		return MaxIncludes
	}
	return min(*o.Includes, MaxIncludes)
}

// read parses a file and returns what it says over what it includes. given has inputs, nil for none.
func (m *composer) read(text []byte, file *source, given *value) (*value, error) {
	at := position{file: file}
	m.bytes += len(text)
	m.marks += marks(text)
	if len(text) > cmp.Or(m.o.MaxBytes, MaxBytes) || m.bytes > m.o.total() || m.marks > maxMarks {
		return nil, refuse(at, textTooBig)
	}
	docs, err := parse(text, file)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, refuse(at, textFormat)
	}
	content := docs[0]
	if content.kind == mapping && content.has("spec") && len(content.keys) == 1 {
		in, err := newInputs(content, given, m.o.Unmasked)
		if err != nil {
			return nil, aboutInput(err)
		}
		if len(docs) < 2 {
			return newMap(at, 0).done(), nil
		}
		if content, err = in.interpolate(docs[1]); err != nil {
			return nil, aboutInput(err)
		}
	} else if given != nil && len(given.keys) > 0 {
		return nil, refuse(at, "Given inputs not defined in the `spec` section of the included configuration file")
	}
	switch {
	case content.kind == null:
		return newMap(at, 0).done(), nil
	case content.kind != mapping:
		return nil, refuse(at, textFormat)
	case content.tooLarge(m.o.depth()):
		return nil, refuse(at, textTooBig)
	}
	return m.included(content, file)
}

// included returns a file over the files that it includes.
func (m *composer) included(content *value, file *source) (*value, error) {
	include := content.get("include")
	if include.isNull() {
		return content.without("include"), nil
	}
	entries := []*value{include}
	if include.kind == sequence {
		entries = include.items
	}
	out := newMap(content.at, len(content.keys))
	for _, e := range entries {
		wanted, given, err := m.references(e, file)
		if err != nil {
			return nil, err
		}
		for _, r := range wanted {
			got, err := m.fetch(r, given)
			if err == nil {
				err = m.into(out, got)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if err := m.into(out, content.without("include")); err != nil {
		return nil, err
	}
	return out.done(), nil
}

// wanted is an include with its place and its words in problems.
type wanted struct {
	Reference
	at      position
	written string // the path as it is written: variables may be secret
	project string // as it is written
	ref     string // as it is written
	// expanded tells that variables were: URLs of the file have their values.
	expanded bool
}

// references reads one entry of include. A file with a list of paths is several.
func (m *composer) references(e *value, file *source) (out []wanted, given *value, err error) {
	if e.kind == str {
		kind := "local"
		if strings.HasPrefix(e.text, "http://") || strings.HasPrefix(e.text, "https://") {
			kind = "remote"
		}
		b := newMap(e.at, 1)
		b.set(key{kind, e.at}, e)
		e = b.done()
	}
	if e.kind != mapping {
		return nil, nil, refuse(e.at, "include config should be an array of hashes or strings")
	}
	kind, err := includeKind(e)
	if err != nil {
		return nil, nil, err
	}
	if rules := e.get("rules"); rules != nil {
		ok, err := m.ruled(rules, file)
		if err != nil || !ok {
			return nil, nil, err
		}
	}
	given = e.get("inputs")
	if !given.isNull() && given.kind != mapping {
		return nil, nil, refuse(given.at, "include:inputs config should be a hash")
	}
	path := e.get(string(kind))
	paths, ok := stringsOf(path)
	if !ok || len(paths) == 0 || len(paths) > 1 && kind != ProjectFile {
		return nil, nil, refuse(path.at, fmt.Sprintf("Included file `%s` needs to be a string", path.json()))
	}
	w := wanted{Reference: Reference{Kind: kind, From: file.place}, at: path.at}
	if kind == ProjectFile {
		w.project, w.ref = e.get("project").scalarText(), e.get("ref").scalarText()
		w.Project, w.Ref = m.expand(w.project), m.expand(w.ref)
	}
	w.Integrity = e.get("integrity").scalarText()
	for _, p := range paths {
		w.written, w.Path = p, m.expand(p)
		w.expanded = w.Path != p || w.Project != w.project || w.Ref != w.ref
		more, err := m.places(w)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, more...)
	}
	return out, given, nil
}

func (m *composer) expand(text string) string { return Expand(text, m.o.Variables) }

// includeKeys may stand in an entry of include.
var includeKeys = []string{"local", "file", "project", "ref", "remote", "integrity", "cache", "template", "component", "inputs", "rules"}

func includeKind(e *value) (Kind, error) {
	var found []Kind
	for _, k := range []Kind{Local, ProjectFile, Remote, Template, Component} {
		if e.has(string(k)) {
			found = append(found, k)
		}
	}
	for _, k := range e.keys {
		if !slices.Contains(includeKeys, k.name) {
			return "", refuse(k.at, "include config contains unknown keys: "+k.name)
		}
	}
	project := e.has("project")
	switch {
	case len(found) == 0 && project:
		return "", refuse(e.at, "include config must specify the file where to fetch the config from")
	case len(found) != 1:
		return "", refuse(e.at, fmt.Sprintf("`%s` does not have a valid subkey for include. Valid subkeys are: `local`, `project`, `remote`, `template`, `component`", e.json()))
	case (found[0] == ProjectFile) != project:
		return "", refuse(e.at, "include config must specify the project where to fetch the file from")
	}
	return found[0], nil
}

// places checks the location of an include, and finds the files that the wildcards of a local one match.
func (m *composer) places(w wanted) ([]wanted, error) {
	if w.Kind == Component {
		address, version, ok := cutLast(w.Path, "@")
		if !ok || address == "" || version == "" {
			return nil, refuse(w.at, "Component '"+w.written+"' - content not found")
		}
		w.Path, w.Ref = address, version
		return []wanted{w}, nil
	}
	if ext := strings.ToLower(path.Ext(w.Path)); w.Kind != Remote && ext != ".yml" && ext != ".yaml" {
		return nil, refuse(w.at, "Included file `"+w.written+"` does not have YAML extension!")
	}
	switch w.Kind {
	case Template:
		if !strings.HasSuffix(w.Path, ".gitlab-ci.yml") {
			return nil, refuse(w.at, "Template file `"+w.written+"` is not a valid location!")
		}
	case Remote:
		u, err := url.Parse(w.Path)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, refuse(w.at, "Remote file `"+w.written+"` does not have a valid address!")
		}
		if ext := strings.ToLower(path.Ext(u.Path)); ext != ".yml" && ext != ".yaml" {
			return nil, refuse(w.at, "Included file `"+w.written+"` does not have YAML extension!")
		}
	case Local:
		w.Path = strings.TrimLeft(w.Path, "/")
		if strings.Contains(w.Path, "*") {
			return m.wildcard(w)
		}
	case ProjectFile:
		w.Path = strings.TrimLeft(w.Path, "/")
	}
	return []wanted{w}, nil
}

// wildcard finds the files of a project that a path with * matches.
func (m *composer) wildcard(w wanted) ([]wanted, error) {
	paths, err := m.paths(w.From)
	if err != nil {
		return nil, err
	}
	var out []wanted
	g := newGlob(w.Path)
	for _, p := range paths {
		if g.match(p, &m.steps) {
			one := w
			if one.Path = p; !w.expanded {
				one.written = p
			}
			out = append(out, one)
		}
		if len(out) > MaxIncludes {
			break
		}
	}
	if len(out) == 0 {
		return nil, refuse(w.at, "Local file `"+w.written+"` does not exist!")
	}
	slices.SortFunc(out, func(a, b wanted) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// paths lists the files of a place, none where that is not possible.
func (m *composer) paths(at Location) ([]string, error) {
	if m.o.Files == nil {
		return nil, nil
	}
	paths, err := m.o.Files.Paths(m.ctx, at)
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoProject) {
		return nil, nil
	}
	return paths, err
}

// fetch reads an included file, and those that it includes.
func (m *composer) fetch(w wanted, given *value) (*value, error) {
	if most := m.o.includes(); len(m.c.Includes) >= most {
		return nil, refuse(w.at, fmt.Sprintf("Maximum of %d nested includes are allowed!", most))
	}
	f, err := m.file(w.Reference)
	if err != nil {
		return nil, w.problem(err)
	}
	shown := Include{Kind: w.Kind, Location: w.written, Project: w.project, Ref: w.ref, From: w.From}
	if !w.expanded {
		shown.Blob, shown.Raw = f.Blob, f.Raw
	}
	m.c.Includes = append(m.c.Includes, shown)
	switch {
	case len(bytes.TrimSpace(f.Text)) == 0:
		return nil, refuse(w.at, w.what()+" is empty!")
	case w.Integrity != "" && !intact(f.Text, w.Integrity):
		return nil, refuse(w.at, "File `"+w.written+"` failed integrity check")
	}
	name := f.Location.Path
	if w.Kind != Local {
		name = w.written
	}
	file := &source{place: f.Location, name: name}
	v, err := m.read(f.Text, file, given)
	if r := (*refusal)(nil); errors.As(err, &r) {
		switch {
		case r.input:
			r.Text, r.input = "`"+w.written+"`: "+r.Text, false
		case r.File == name && (strings.HasPrefix(r.Text, textSyntax) || r.Text == textFormat):
			r.Text = "Included file `" + w.written + "` does not have valid YAML syntax!"
		}
	}
	return v, err
}

// file asks the Reader for a file; templates are here.
func (m *composer) file(r Reference) (File, error) {
	switch {
	case r.Kind == Template:
		return template(r.Path)
	case m.o.Files == nil:
		return File{}, ErrUnavailable
	}
	return m.o.Files.Read(m.ctx, r)
}

// aboutInput marks a refusal as one whose text is to name the file.
func aboutInput(err error) error {
	if r := (*refusal)(nil); errors.As(err, &r) {
		r.input = true
	}
	return err
}

// intact tells whether a text has the digest that an include names.
func intact(text []byte, integrity string) bool {
	sum := sha256.Sum256(text)
	return integrity == "sha256-"+base64.StdEncoding.EncodeToString(sum[:])
}

// what names a file in problems.
func (w wanted) what() string {
	switch w.Kind {
	case ProjectFile:
		return "Project `" + w.project + "` file `" + w.written + "`"
	case Remote:
		return "Remote file `" + w.written + "`"
	case Template:
		return "Template file `" + w.written + "`"
	case Component:
		return "Component '" + w.written + "'"
	}
	return "Local file `" + w.written + "`"
}

// problem words an error of a Reader; a failure stays one.
func (w wanted) problem(err error) error {
	fetch := (*FetchError)(nil)
	switch {
	case errors.As(err, &fetch):
		return refuse(w.at, w.what()+" "+fetch.Error()+"!")
	case errors.Is(err, ErrUnavailable):
		return refuse(w.at, w.what()+" is not available here")
	case errors.Is(err, ErrTooLarge):
		return refuse(w.at, textTooBig)
	case errors.Is(err, ErrNoProject) && w.Kind == ProjectFile:
		return refuse(w.at, "Project `"+w.project+"` not found or access denied! Make sure any includes in the pipeline configuration are correctly defined.")
	case errors.Is(err, ErrNoReference) && w.Kind == ProjectFile:
		return refuse(w.at, "Project `"+w.project+"` reference `"+w.ref+"` does not exist!")
	case errors.Is(err, ErrNoFile), errors.Is(err, ErrNoProject), errors.Is(err, ErrNoReference):
		switch w.Kind {
		case Component:
			return refuse(w.at, "Component '"+w.written+"' - content not found")
		case Template:
			return refuse(w.at, "Included file `"+w.written+"` is empty or does not exist!")
		case Remote:
			return refuse(w.at, w.what()+" could not be fetched because of HTTP code `404` error!")
		}
		return refuse(w.at, w.what()+" does not exist!")
	}
	return fmt.Errorf("read include: %w", err)
}

func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
