package web

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
	"tenon/internal/core"
	"tenon/internal/core/packages"
	"tenon/internal/core/packages/maven"
	"tenon/internal/core/project"
)

func (x *visit) packages() *packages.Service { return core.Part[*packages.Service](x.Services) }

// packageFilter is what the form above a list of packages asks for.
type packageFilter struct {
	Search string
	Kind   packages.Kind // "" is any
	All    []packages.Kind
}

// packageFilter reads the form above a list of packages.
func (x *visit) packageFilter() packageFilter {
	out := packageFilter{Search: x.query("search"), All: packages.Kinds()}
	for _, kind := range out.All {
		if x.query("type") == string(kind) {
			out.Kind = kind
		}
	}
	return out
}

func (x *visit) filterOf(f packageFilter) packages.Filter {
	return packages.Filter{Kind: f.Kind, Name: f.Search, Versionless: true, Desc: true, Range: x.part()}
}

// getPackages lists the packages of a project.
func (x *visit) getPackages() (templ.Component, error) {
	p, err := x.project("Packages")
	if err != nil {
		return nil, err
	}
	f := x.packageFilter()
	list, err := x.packages().List(x.r.Context(), x.as, p, x.filterOf(f))
	if err != nil {
		return nil, err
	}
	x.title("Packages")
	x.sheet.API += "/packages"
	return x.packageRows(at.Packages(p.FullPath), f, map[project.ID]*project.Project{p.ID: p}, list)
}

// getGroupPackages lists the packages of the projects below a group.
func (x *visit) getGroupPackages() (templ.Component, error) {
	g, err := x.group("Packages")
	if err != nil {
		return nil, err
	}
	f := x.packageFilter()
	list, err := x.packages().ListOfGroup(x.r.Context(), x.as, g.Place(), x.filterOf(f))
	if err != nil {
		return nil, err
	}
	x.title("Packages")
	x.sheet.API += "/packages"
	return x.packageRows(at.GroupPackages(g.FullPath), f, nil, list)
}

// packageRows is a page of packages with the form that selects them. Projects are those that were read before; nil reads them.
func (x *visit) packageRows(here string, f packageFilter, projects map[project.ID]*project.Project, list page.Page[packages.Package]) (templ.Component, error) {
	views, err := x.packages().Views(x.r.Context(), x.as, list.Items, packages.ViewOptions{Projects: projects, Pipeline: true})
	if err != nil {
		return nil, err
	}
	older, newer := around(x, &list)
	return templ.Join(packageSearch(here, f), packageList(views, projects == nil, older, newer)), nil
}

// getPackage shows a package with its files and how to install it.
func (x *visit) getPackage() (templ.Component, error) {
	p, err := x.project("Packages")
	if err != nil {
		return nil, err
	}
	id, err := x.arg("id")
	if err != nil {
		return nil, err
	}
	ctx, service := x.r.Context(), x.packages()
	k, err := service.Find(ctx, x.as, p, packages.ID(id))
	if err != nil {
		return nil, err
	}
	v, err := service.View(ctx, x.as, p, k)
	if err != nil {
		return nil, err
	}
	files, err := service.FilesOf(ctx, k.ID, packages.FileFilter{Desc: true, Range: x.part()})
	if err != nil {
		return nil, err
	}
	others, err := service.Versions(ctx, k, page.Range{Limit: 100, Uncounted: true})
	if err != nil {
		return nil, err
	}
	d, err := service.PublishedIn(ctx, p, k)
	if err != nil {
		return nil, err
	}
	x.title(k.Name)
	x.sheet.Badge = string(k.Kind)
	x.sheet.API += "/packages/" + itoa(id)
	older, newer := around(x, &files)
	steps := install{root: x.URLs.Root(), project: p, of: v, distribution: d, files: files.Items}
	return packagePage(v, files.Items, others.Items, steps.steps(), older, newer), nil
}

// step is something to enter or to write into a file.
type step struct{ Title, Text string }

// install is what the lines to install a package are made of.
type install struct {
	root         string // URL of the instance
	project      *project.Project
	of           *packages.View
	distribution *packages.Distribution // nil for none
	files        []packages.File
}

// api is the URL of the packages of a kind in the project, without a slash at its end.
func (i *install) api(below string) string {
	return i.root + "/api/v4/projects/" + itoa(int64(i.project.ID)) + "/" + below
}

// host is api without the scheme, as configuration files name it.
func (i *install) host(below string) string {
	_, rest, _ := strings.Cut(i.api(below), "://")
	return rest
}

func (i *install) version() string {
	if i.of.Version == nil {
		return ""
	}
	return *i.of.Version
}

var plainWord = pattern.New(`\A[A-Za-z0-9@%+=:,./_-]+\z`)

// word is a text as a shell reads it.
func word(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// curl is a line that loads a URL into a file.
func (i *install) curl(to, from string) string {
	line := "curl --fail "
	if !i.of.Open {
		line += `--header "PRIVATE-TOKEN: $TOKEN" `
	}
	return line + "--output " + word(to) + " " + word(from)
}

// steps are what a user does to install the package, by its kind.
func (i *install) steps() []step {
	switch i.of.Status {
	case packages.Default, packages.Deprecated, packages.Hidden:
	default:
		return nil
	}
	switch i.of.Kind {
	case packages.Generic:
		return i.generic()
	case packages.Debian:
		return i.debian()
	case packages.NPM:
		return i.npm()
	case packages.PyPI:
		return i.pypi()
	case packages.Maven:
		return i.maven()
	}
	return nil
}

func (i *install) generic() []step {
	if len(i.files) == 0 {
		return nil
	}
	name := i.files[0].Name
	parts := strings.Split(name, "/")
	escaped := make([]string, len(parts))
	for n := range parts {
		escaped[n] = url.PathEscape(parts[n])
	}
	from := i.api("packages/generic/" + url.PathEscape(i.of.Name) + "/" + url.PathEscape(i.version()) + "/" + strings.Join(escaped, "/"))
	return []step{{"Download", i.curl(parts[len(parts)-1], from)}}
}

func (i *install) debian() []step {
	d := i.distribution
	if d == nil {
		return nil
	}
	key := "/etc/apt/keyrings/" + d.Codename + "-" + itoa(int64(i.project.ID)) + ".asc"
	source := "deb [signed-by=" + key + "] " + i.api("packages/debian") + " " + d.Codename + " " + strings.Join(d.Components, " ")
	out := []step{{"Key", i.curl(key, i.api("debian_distributions/"+url.PathEscape(d.Codename)+"/key.asc"))}}
	out = append(out, step{"/etc/apt/sources.list.d/project-" + itoa(int64(i.project.ID)) + ".list", source})
	if !i.of.Open {
		machine := i.host("packages/debian")
		if strings.HasPrefix(i.root, "http://") { // apt sends no password over plain HTTP otherwise
			machine = i.api("packages/debian")
		}
		out = append(out, step{"/etc/apt/auth.conf.d/project-" + itoa(int64(i.project.ID)) + ".conf", "machine " + machine + " login USER password TOKEN"})
	}
	name := i.of.Name
	for _, f := range i.files {
		if binary, rest, ok := strings.Cut(f.Name, "_"); ok && strings.HasSuffix(rest, ".deb") {
			name = binary
		}
	}
	return append(out, step{"Install", "apt-get update\napt-get install " + word(name)})
}

func (i *install) npm() []step {
	registry := "registry"
	if scope, _, ok := strings.Cut(i.of.Name, "/"); ok {
		registry = scope + ":registry"
	}
	lines := registry + "=" + i.api("packages/npm/")
	if !i.of.Open {
		lines += "\n//" + i.host("packages/npm/") + ":_authToken=${TOKEN}"
	}
	return []step{{".npmrc", lines}, {"Install", "npm install " + word(i.of.Name+"@"+i.version())}}
}

func (i *install) pypi() []step {
	index := i.api("packages/pypi/simple")
	if !i.of.Open {
		scheme, rest, _ := strings.Cut(index, "://")
		index = scheme + "://USER:TOKEN@" + rest
	}
	return []step{{"Install", "pip install --index-url " + word(index) + " " + word(i.of.Name+"=="+i.version())}}
}

func (i *install) maven() []step {
	c := maven.CoordinatesOf(&i.of.Package)
	const name = "tenon"
	pom := "<dependency>\n  <groupId>" + c.Group + "</groupId>\n  <artifactId>" + c.Artifact + "</artifactId>\n  <version>" + i.version() + "</version>\n</dependency>\n" +
		"<repository>\n  <id>" + name + "</id>\n  <url>" + i.api("packages/maven") + "</url>\n</repository>"
	out := []step{{"pom.xml", pom}}
	if !i.of.Open {
		out = append(out, step{"~/.m2/settings.xml", "<server>\n  <id>" + name + "</id>\n  <configuration><httpHeaders><property>\n    <name>Private-Token</name>\n    <value>TOKEN</value>\n" +
			"  </property></httpHeaders></configuration>\n</server>"})
	}
	return out
}
