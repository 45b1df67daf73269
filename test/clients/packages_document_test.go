package clients

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/program"
	"tenon/test/servertest"
)

// documented is a machine for what docs/packages.md prints: a private group tools with a project.
type documented struct {
	*debianWorld

	bin string // programs that stand before those of the path
}

// packageBlocks are the blocks of docs/packages.md, by the heading above them.
func packageBlocks(t *testing.T) map[string][]string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "docs", "packages.md"))
	if err != nil {
		t.Fatal(err)
	}
	out, heading := map[string][]string{}, ""
	for n := goldmark.New().Parser().Parse(text.NewReader(source)).FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			heading = string(n.Lines().Value(source))
		case *ast.FencedCodeBlock:
			out[heading] = append(out[heading], string(n.Lines().Value(source)))
		}
	}
	return out
}

// TestPackages_document runs every block of docs/packages.md as it is printed there, but for the address, the project and the token, with the
// client that it is for.
func TestPackages_document(t *testing.T) {
	t.Parallel()
	d := &documented{debianWorld: &debianWorld{t: t, s: servertest.Start(t, ""), folder: t.TempDir()}}
	d.group = d.made("/groups", `{"name":"Tools","path":"tools","visibility":"private"}`)
	d.project = d.projectNamed("packages")
	blocks := packageBlocks(t)
	for _, part := range []struct {
		heading string
		run     []func(d *documented, block string)
	}{
		{"Generic packages", []func(*documented, string){(*documented).generic}},
		{"npm", []func(*documented, string){(*documented).npm}},
		{"Python packages", []func(*documented, string){(*documented).python, (*documented).pythonForm}},
		{"Maven packages", []func(*documented, string){(*documented).maven}},
		{"In a job", []func(*documented, string){(*documented).job}},
		{"GraphQL", []func(*documented, string){(*documented).graphQL}},
		{"Protection rules", []func(*documented, string){(*documented).protection}},
		{"Debian distributions", []func(*documented, string){(*documented).distributions}},
		{"Debian repositories", []func(*documented, string){(*documented).dputBlock, (*documented).curlBlock, (*documented).aptBlock}},
	} {
		if len(blocks[part.heading]) != len(part.run) {
			t.Errorf("%s: %d blocks, of which %d are run", part.heading, len(blocks[part.heading]), len(part.run))
			continue
		}
		for i, run := range part.run {
			t.Run(fmt.Sprintf("%s %d", part.heading, i+1), func(t *testing.T) { run(d.in(t), blocks[part.heading][i]) })
		}
		delete(blocks, part.heading)
	}
	for heading := range blocks {
		t.Errorf("the blocks of %q are run by no client", heading)
	}
}

// in is the machine in a folder of its own, for a test within the test.
func (d *documented) in(t *testing.T) *documented {
	w := *d.debianWorld
	w.t, w.folder = t, t.TempDir()
	return &documented{debianWorld: &w, bin: t.TempDir()}
}

// here puts the address, the project and the token of the server into a block.
func (d *documented) here(block string) string {
	return strings.NewReplacer("https://tenon.example", d.s.URL, "https://me:", "http://me:", "tenon.example", strings.TrimPrefix(d.s.URL, "http://"),
		"/projects/42/", fmt.Sprintf("/projects/%d/", d.project), "TOKEN</value>", servertest.RootToken+"</value>", "password TOKEN", "password "+servertest.RootToken).Replace(block)
}

// sh runs a block of commands. curl fails where it is refused.
func (d *documented) sh(block string, env ...string) {
	d.t.Helper()
	d.write(".curlrc", "fail\nsilent\nshow-error\n")
	cmd := exec.CommandContext(d.t.Context(), "bash", "-euo", "pipefail", "-c", d.here(block))
	cmd.Dir = d.folder
	cmd.Env = append(withoutPython(), "PATH="+d.bin+":"+os.Getenv("PATH"), "HOME="+d.folder, "URL="+d.s.URL, "TOKEN="+servertest.RootToken, "no_proxy=127.0.0.1", "LC_ALL=C.UTF-8")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%s%v\n%s", block, err, out)
	}
}

// write writes a file into the folder.
func (d *documented) write(name, content string) {
	d.t.Helper()
	at := filepath.Join(d.folder, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// has expects a file in the folder with some content.
func (d *documented) has(name, content string) {
	d.t.Helper()
	if text := d.content(name); !strings.Contains(text, content) {
		d.t.Errorf("%s: %.200q", name, text)
	}
}

// files are the names of the files of a version.
func (d *documented) files(kind, name, version string) []string {
	d.t.Helper()
	var list []struct {
		ID   int64  `json:"id"`
		File string `json:"file_name"`
	}
	read := func(path string) {
		if err := json.Unmarshal(d.call("GET", path, nil, 200), &list); err != nil {
			d.t.Fatal(err)
		}
	}
	at := fmt.Sprintf("/projects/%d/packages", d.project)
	read(at + "?package_type=" + kind + "&package_name=" + name + "&package_version=" + version)
	if len(list) != 1 {
		return nil
	}
	read(fmt.Sprintf("%s/%d/package_files", at, list[0].ID))
	var out []string
	for _, f := range list {
		out = append(out, f.File)
	}
	slices.Sort(out)
	return out
}

func (d *documented) wantFiles(kind, name, version string, want ...string) {
	d.t.Helper()
	if got := d.files(kind, name, version); !slices.Equal(got, want) {
		d.t.Errorf("files of %s %s %s: got %v, want %v", kind, name, version, got, want)
	}
}

// needs skips a test whose client is not there.
func needs(t *testing.T, clients ...string) {
	t.Helper()
	for _, name := range clients {
		if _, err := exec.LookPath(name); err != nil {
			absent(t, name)
		}
	}
}

func (d *documented) generic(block string) {
	needs(d.t, "curl")
	upload, download, _ := strings.Cut(block, "\n")
	d.write("tool.tar.gz", "a tool")
	d.sh(upload)
	d.write("tool.tar.gz", "")
	d.sh(download)
	d.has("tool.tar.gz", "a tool")
	d.wantFiles("generic", "tool", "1.0", "tool.tar.gz")
}

func (d *documented) npm(block string) {
	needs(d.t, "npm")
	rc := d.here(block) + "registry=http://127.0.0.1:1\naudit=false\n" // no other one is asked
	env := []string{"NPM_TOKEN=" + servertest.RootToken}
	c := newNPM(d.t, rc, map[string]any{"name": "@tools/left", "version": "1.0.0", "main": "index.js"})
	c.env = env
	c.run("publish")
	c = newNPM(d.t, rc, map[string]any{"name": "user", "version": "1.0.0"})
	c.env = env
	c.run("install", "@tools/left")
	if _, err := os.Stat(filepath.Join(c.folder, "node_modules", "@tools", "left", "index.js")); err != nil {
		d.t.Error(err)
	}
}

// onPath is the machine with a pip on its path that is of the Python that has it.
func (d *documented) onPath() *pythonMachine {
	pip := pipCommand(d.t)
	d.bin = filepath.Dir(program.Write(d.t, "pip", []byte("#!/bin/sh\nexec "+strings.Join(pip, " ")+` "$@"`+"\n")))
	return &pythonMachine{debianWorld: d.debianWorld, pip: pip}
}

// dist makes a file of a Python package in dist.
func (d *documented) dist(made func(m *pythonMachine) string) {
	d.t.Helper()
	at := filepath.Base(made(d.onPath()))
	d.write(filepath.Join("dist", at), d.content(at))
}

func (d *documented) python(block string) {
	d.dist(func(m *pythonMachine) string { return m.wheel("my_package", "1.0", ">=3.6") })
	target := filepath.Join(d.folder, "installed")
	d.sh(block, "PIP_TARGET="+target, "PIP_RETRIES=0", "PIP_CONFIG_FILE="+os.DevNull, "PIP_NO_CACHE_DIR=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")
	d.has("installed/green_house/version.txt", "1.0")
}

func (d *documented) pythonForm(block string) {
	needs(d.t, "curl")
	d.dist(func(m *pythonMachine) string { return m.sdist("my_package", "1.0") })
	d.sh(block)
	d.wantFiles("pypi", "my", "1.0", "my_package-1.0-py3-none-any.whl", "my_package-1.0.tar.gz")
}

func (d *documented) graphQL(block string) {
	needs(d.t, "curl")
	in, err := json.Marshal(map[string]string{"query": strings.Replace(block, "tools/app", "tools/packages", 1)})
	if err != nil {
		d.t.Fatal(err)
	}
	d.write("query.json", string(in))
	d.sh(`curl --header "PRIVATE-TOKEN: $TOKEN" --header "Content-Type: application/json" --data @query.json --output answer.json "$URL/api/graphql"` + "\n")
	d.has("answer.json", `"name":"@tools/left"`)
	if out := d.content("answer.json"); strings.Contains(out, `"errors"`) {
		d.t.Errorf("got %s", out)
	}
}

func (d *documented) protection(block string) {
	needs(d.t, "curl")
	d.sh(block)
	if list := string(d.call("GET", fmt.Sprintf("/projects/%d/packages/protection/rules", d.project), nil, 200)); !strings.Contains(list, `"package_name_pattern":"tool-*"`) {
		d.t.Errorf("rules: %s", list)
	}
}

func (d *documented) distributions(block string) {
	needs(d.t, "curl")
	d.sh(block)
	d.has("tools.asc", "BEGIN PGP PUBLIC KEY BLOCK")
}

func (d *documented) dputBlock(block string) {
	needs(d.t, "dput", "dpkg-buildpackage", "dpkg-deb", "make")
	d.distribution(fmt.Sprintf("/projects/%d/debian_distributions", d.project))
	d.dputWith(strings.Replace(d.here(block), "method = https", "method = http", 1), d.build("1.0-1"))
	d.awaitPackage("hello", "1.0-1")
}

func (d *documented) curlBlock(block string) {
	needs(d.t, "curl", "dpkg-deb")
	d.project = d.projectNamed("direct")
	d.distribution(fmt.Sprintf("/projects/%d/debian_distributions", d.project))
	d.deb("1.0-1")
	d.sh(block)
	d.awaitPackage("hello", "1.0-1")
}

func (d *documented) aptBlock(block string) {
	needs(d.t, "apt-get", "dput", "dpkg-buildpackage", "dpkg-deb", "make")
	key := d.call("GET", fmt.Sprintf("/projects/%d/debian_distributions/bookworm/key.asc", d.project), nil, 200)
	apt := d.apt("", key, false)
	sources, credentials, _ := strings.Cut(d.here(block), "\n\n")
	d.folder = apt.folder
	d.write("etc/sources.list", strings.ReplaceAll(sources, "/etc/apt/keyrings/tools.asc]", apt.key+"]")+"\n")
	d.write("etc/auth.conf", strings.Replace(credentials, "machine ", "machine http://", 1)) // without TLS apt sends a password only where this says so
	apt.run("update")
	apt.downloads("hello", "1.0-1")
	apt.run("source", "--download-only", "hello")
	d.has("hello_1.0-1.dsc", "Source: hello")
}

// maven deploys with the pom.xml and the settings of a block, and reads the package in a second project.
func (d *documented) maven(block string) {
	pom, settings, ok := strings.Cut(d.here(block), "\n\n")
	if !ok {
		d.t.Fatalf("no pom.xml and settings in\n%s", block)
	}
	for _, part := range []string{pom, settings} {
		if err := xml.Unmarshal([]byte("<all>"+part+"</all>"), new(struct{})); err != nil {
			d.t.Errorf("%v in\n%s", err, part)
		}
	}
	m := newMavenMachine(d.t, settings)
	m.deploys(pom, "app", "1.0")
	m.deploys(pom, "app", "2.0-SNAPSHOT")
	m.reads(pom, "app", "1.0", "app-1.0.jar")
	m.reads(pom, "app", "2.0-SNAPSHOT", "app-2.0-SNAPSHOT.jar")
	m.deploys(pom, "app", "1.1")
	m.reads(pom, "app", "[1.0,1.1]", "app-1.1.jar")

	// A version that is deleted is not chosen any more.
	var list []struct {
		ID int64 `json:"id"`
	}
	at := fmt.Sprintf("/projects/%d/packages", d.project)
	if err := json.Unmarshal(d.call("GET", at+"?package_type=maven&package_version=1.1", nil, 200), &list); err != nil || len(list) != 1 {
		d.t.Fatalf("version 1.1: %+v, %v", list, err)
	}
	d.call("DELETE", fmt.Sprintf("%s/%d", at, list[0].ID), nil, 204)
	d.await("metadata without 1.1", func() bool {
		return !strings.Contains(string(d.call("GET", at+"/maven/com/example/app/maven-metadata.xml", nil, 200)), "<version>1.1</version>")
	})
	m.reads(pom, "app", "[1.0,1.1]", "app-1.0.jar")

	// Nor is the build of a snapshot whose file is deleted: the one before is.
	m.deploys(pom, "app", "2.0-SNAPSHOT")
	if err := json.Unmarshal(d.call("GET", at+"?package_type=maven&package_version=2.0-SNAPSHOT", nil, 200), &list); err != nil || len(list) != 1 {
		d.t.Fatalf("the snapshot: %+v, %v", list, err)
	}
	var files []struct {
		ID   int64  `json:"id"`
		Name string `json:"file_name"`
	}
	one := fmt.Sprintf("%s/%d/package_files", at, list[0].ID)
	if err := json.Unmarshal(d.call("GET", one+"?per_page=100", nil, 200), &files); err != nil {
		d.t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name, "-2.jar") {
			d.call("DELETE", fmt.Sprintf("%s/%d", one, f.ID), nil, 204)
		}
	}
	d.await("metadata of the snapshot without its second jar", func() bool {
		text := string(d.call("GET", at+"/maven/com/example/app/2.0-SNAPSHOT/maven-metadata.xml", nil, 200))
		return strings.Count(text, "-1</value>") == 1 && strings.Contains(text, "-2</value>")
	})
	m.reads(pom, "app", "2.0-SNAPSHOT", "app-2.0-SNAPSHOT.jar")
}

// job is a .gitlab-ci.yml with a job for each type of package. The official runner runs those that the machine has the clients for.
func (d *documented) job(block string) {
	p := &gitlab.Project{ID: d.projectNamed("jobs"), DefaultBranch: "main"}
	d.project = p.ID
	s := &story{server: d.s}
	s.root = s.client(d.t, servertest.RootToken)
	lint := got(s.root.Validate.ProjectNamespaceLint(p.ID, &gitlab.ProjectNamespaceLintOptions{Content: &block})).must(d.t)
	if !lint.Valid || len(lint.Errors) > 0 || len(lint.Warnings) > 0 {
		d.t.Fatalf("the configuration is not valid: %+v", lint)
	}
	needs(d.t, "curl", "npm", "dpkg-deb")
	bin := runnerProgram(d.t)
	made := got(s.root.Users.CreateUserRunner(&gitlab.CreateUserRunnerOptions{RunnerType: new("instance_type"), RunUntagged: new(true)})).must(d.t)
	machine{bin: bin, home: d.t.TempDir()}.runs(d.t, d.s.URL, made.Token)

	d.deb("1.0-1")
	d.dist(func(m *pythonMachine) string { return m.wheel("my_package", "1.0", ">=3.6") })
	d.distribution(fmt.Sprintf("/projects/%d/debian_distributions", p.ID))
	files := map[string]string{
		".gitlab-ci.yml": block, "tool.tar.gz": "a tool", "package.json": `{"name":"@tools/left","version":"1.0.0"}`,
		"dist/my_package-1.0-py3-none-any.whl": d.content("dist/my_package-1.0-py3-none-any.whl"), "hello_1.0-1_amd64.deb": d.content("hello_1.0-1_amd64.deb"),
	}
	jobs := []string{"generic", "npm", "pypi", "debian"}
	if missing := mavenMissing(); missing == "" {
		pom, settings, _ := strings.Cut(packageBlocks(d.t)["Maven packages"][0], "\n\n")
		settings = strings.NewReplacer("Private-Token", "Job-Token", "TOKEN</value>", "${CI_JOB_TOKEN}</value>").Replace(settings)
		files["pom.xml"], files["settings.xml"] = mavenProject(d.here(pom), "app", "1.0", ""), mavenSettings(settings)
		jobs = append(jobs, "maven")
	} else {
		d.t.Logf("maven: skipped (%s)", missing)
	}
	commit := &gitlab.CreateCommitOptions{Branch: new("main"), CommitMessage: new("Publish")}
	for name, content := range files {
		commit.Actions = append(commit.Actions, &gitlab.CommitActionOptions{
			Action: new(gitlab.FileCreate), FilePath: &name, Content: new(base64.StdEncoding.EncodeToString([]byte(content))), Encoding: new("base64"),
		})
	}
	got(s.root.Commits.CreateCommit(p.ID, commit)).must(d.t)
	for _, name := range jobs {
		s.jobThat(d.t, p, name, "success", "failed")
	}
	d.wantFiles("generic", "tool", "1.0", "tool.tar.gz")
	d.wantFiles("npm", "left", "1.0.0", "@tools/left-1.0.0.tgz")
	d.wantFiles("pypi", "my", "1.0", "my_package-1.0-py3-none-any.whl")
	d.awaitPackage("hello", "1.0-1")
	if slices.Contains(jobs, "maven") {
		d.wantFiles("maven", "app", "1.0", "app-1.0.jar", "app-1.0.pom")
	}
}

// content is that of a file in the folder.
func (d *documented) content(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.folder, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}
