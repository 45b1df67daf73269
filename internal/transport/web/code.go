package web

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/charset"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/repo"
)

// What a page shows of a file, in bytes.
const (
	maxShown   = 1 << 20
	maxPicture = 10 << 20
	sniffed    = 8000
	maxEntries = 1000 // of a folder
)

// folder is a place in the tree of a commit.
type folder struct {
	Project string // full path
	Ref     string
	Path    string // "" for the root
	Steps   []link // from the root to it
	Tip     *gitstore.Commit
	Entries []entry
	Older   string
	Newer   string
}

// entry is one line of a folder; URL is "" where it leads nowhere.
type entry struct{ Name, Kind, URL string }

// document is a text that was formatted.
type document struct{ Name, HTML string }

// fileView is what a page shows of a file.
type fileView struct {
	Name, Size, Document, Reason string
	Raw                          string // where its content is
	Anchor                       string // before the numbers of its lines, where a page has several files
	Picture                      bool
	Lines                        []line // nil for none
}

// line is one line of a file; Number is "" for words of ours.
type line struct {
	Number, Text string
	HTML         string // of a highlighted line, instead of Text
}

// project begins a page of a project.
func (x *visit) project(current string) (*project.Project, error) {
	p, err := x.Projects.Find(x.r.Context(), x.as, x.args["project"])
	if err != nil {
		return nil, err
	}
	x.in = p.Subject()
	x.sheet.Crumbs = crumbs(p.FullPath, p.FullName, true)
	x.sheet.TabsOf = "Project"
	links := []link{{"Project", at.Project(p.FullPath)}}
	if branchOf(p) != "" {
		links = append(links, link{"Commits", at.Commits(p.FullPath, branchOf(p), "")})
	}
	links = append(links,
		link{"Branches", at.Branches(p.FullPath)}, link{"Tags", at.Tags(p.FullPath)}, link{"Releases", at.Releases(p.FullPath)}, link{"Issues", at.Issues(p.FullPath)},
		link{"Merge requests", at.MergeRequests(p.FullPath)}, link{"Milestones", at.ProjectMilestones(p.FullPath)}, link{"Environments", at.Environments(p.FullPath)}, link{"Packages", at.Packages(p.FullPath)}, link{"Wiki", at.Wiki(p.FullPath)},
		link{"Snippets", at.ProjectSnippets(p.FullPath)}, link{"Members", at.ProjectMembers(p.FullPath)},
	)
	x.sheet.Tabs = tabs(current, x.withExternal(p, links)...)
	x.sheet.API = x.URLs.ProjectAPI(int64(p.ID))
	return p, nil
}

// withExternal adds links to the issue tracker and the wiki that a project has elsewhere. The tracker is in place of the issues of
// the project where that has none.
func (x *visit) withExternal(p *project.Project, links []link) []link {
	tracker, wiki := p.Links(x.Settings.Current())
	if tracker != nil {
		if p.IssuesAccess == authz.FeatureDisabled {
			links = slices.DeleteFunc(links, func(l link) bool { return l.Title == "Issues" })
		}
		links = append(links, link{tracker.Title, tracker.URL})
	}
	if wiki != nil {
		links = append(links, link{wiki.Title, wiki.URL})
	}
	return links
}

// crumbs lead through the groups that a path names; the last part of a project's is itself.
func crumbs(full, name string, ofProject bool) []link {
	names := strings.Split(name, " / ")
	parts := strings.Split(full, "/")
	var out []link
	for i := range parts {
		title := parts[i]
		if len(names) == len(parts) {
			title = names[i]
		}
		to := at.User(strings.Join(parts[:i+1], "/")) // a user or a group
		if ofProject && i == len(parts)-1 {
			to = at.Project(full)
		}
		out = append(out, link{title, to})
	}
	return out
}

// split finds where the branch, tag or commit ends in a path, and returns the commit.
func (x *visit) split(p *project.Project, rest string) (ref, file string, tip *gitstore.Commit, err error) {
	ref, file, tip, err = x.Repos.FindCommitIn(x.r.Context(), x.as, p, strings.Trim(rest, "/"))
	if err != nil {
		return "", "", nil, err
	}
	file, ok := reference.CleanPath(file)
	if !ok {
		return "", "", nil, errs.Missing("")
	}
	return ref, file, tip, nil
}

// named returns the commit of a branch, tag or id. As in paths, a branch stands before the tag
// of the same name.
func (x *visit) named(p *project.Project, name string) (*gitstore.Commit, error) {
	_, file, c, err := x.Repos.FindCommitIn(x.r.Context(), x.as, p, name)
	if err != nil {
		return nil, err
	}
	if file != "" {
		return nil, errs.Missing("Commit")
	}
	return c, nil
}

// getProject is the first page of a project.
func (x *visit) getProject(p *project.Project) (templ.Component, error) {
	x.args["project"] = p.FullPath
	if _, err := x.project("Project"); err != nil {
		return nil, err
	}
	views, err := x.Projects.Views(x.r.Context(), x.as, []*project.Project{p}, project.ViewOptions{})
	if err != nil {
		return nil, err
	}
	v := &views[0]
	x.title(p.Name)
	x.sheet.Title, x.sheet.Badge = p.FullName, p.Visibility.String()
	if p.Marked() {
		x.sheet.Badge, x.sheet.BadgeKind = "pending deletion", "bad"
	}
	if err := x.remindOfKeys(v); err != nil {
		return nil, err
	}
	branch, description := v.Branch, x.description(ofProject(p), v.Description)
	if v.Code == nil || branch == "" {
		return projectHome(v, description, x.URLs, nil, nil), nil
	}
	tip, err := x.Repos.FindCommit(x.r.Context(), x.as, p, gitstore.Branches+branch) // in full: a tag may have its name
	if errs.Is(err, errs.NotFound) {
		return projectHome(v, description, x.URLs, nil, nil), nil
	}
	if err != nil {
		return nil, err
	}
	f, readme, err := x.folder(p, branch, "", tip)
	if err != nil {
		return nil, err
	}
	return projectHome(v, description, x.URLs, f, readme), nil
}

// remindOfKeys tells a user without an SSH key, where the settings say so, that there are none to push or fetch with.
func (x *visit) remindOfKeys(v *project.View) error {
	set := x.Settings.Current()
	if !set.UserShowAddSSHKeyMessage || x.as.Session == 0 || v.Code == nil || !x.URLs.HasSSH() || set.EnabledGitAccessProtocol == "http" {
		return nil
	}
	none, err := x.Keys.None(x.r.Context(), x.as)
	if none && x.sheet.Notice == "" {
		x.sheet.Notice = "You cannot push or pull repositories over SSH before you add an SSH key to your profile: see Settings, SSH keys."
	}
	return err
}

func (x *visit) getTree() (templ.Component, error) {
	p, err := x.project("Project")
	if err != nil {
		return nil, err
	}
	ref, dir, tip, err := x.split(p, x.args["rest"])
	if err != nil {
		return nil, err
	}
	f, readme, err := x.folder(p, ref, dir, tip)
	if err != nil {
		return nil, err
	}
	x.title(path.Base("/" + dir))
	if dir == "" {
		x.title(ref)
	}
	x.sheet.API += "/repository/tree"
	return templ.Join(tree(f), readmeBox(readme)), nil
}

// folder reads a folder and formats its README.
func (x *visit) folder(p *project.Project, ref, dir string, tip *gitstore.Commit) (*folder, *document, error) {
	list, err := x.Repos.Tree(x.r.Context(), x.as, p, repo.TreeFilter{
		Ref: tip.ID.String(), Path: dir, Range: page.Range{Limit: maxEntries, Offset: (x.number() - 1) * maxEntries, Uncounted: true},
	})
	if err != nil {
		return nil, nil, err
	}
	f := &folder{Project: p.FullPath, Ref: ref, Path: dir, Tip: tip}
	f.steps()
	readme := ""
	for _, e := range list.Items {
		one := entry{Name: textOf(e.Name), Kind: "file"}
		switch e.Kind() {
		case gitstore.KindTree:
			one.Kind, one.URL = "folder", at.Folder(p.FullPath, ref, e.Path)
		case gitstore.KindBlob:
			one.URL = at.Blob(p.FullPath, ref, e.Path)
			if name := strings.ToLower(e.Name); readme == "" && (name == "readme.md" || name == "readme" || name == "readme.txt" || name == "readme.markdown") {
				readme = e.Path
			}
		default:
			one.Kind = "submodule"
		}
		f.Entries = append(f.Entries, one)
	}
	f.Older, f.Newer = around(x, &list.Page)
	if readme == "" {
		return f, nil, nil
	}
	doc, err := x.readme(p, ref, readme, tip)
	return f, doc, err
}

// readme formats a file beside a folder. A file that is no text is none.
func (x *visit) readme(p *project.Project, ref, file string, tip *gitstore.Commit) (*document, error) {
	got, err := x.Repos.File(x.r.Context(), x.as, p, file, tip.ID.String(), repo.WithoutHistory)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer got.Blob.Close()
	if got.Blob.Size > maxShown {
		return nil, nil
	}
	content, err := io.ReadAll(got.Blob)
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	if charset.Binary(content) {
		return nil, nil
	}
	return &document{Name: path.Base(file), HTML: x.fileText(p.FullPath, ref, file, charset.Text(content, ""))}, nil
}

// fileText is a text of a repository: Markdown, or plain.
func (x *visit) fileText(project, ref, file, content string) string {
	switch strings.ToLower(path.Ext(file)) {
	case ".md", ".markdown":
		dir := strings.TrimPrefix(path.Dir("/"+file), "/")
		return x.document(content, func(address string, picture bool) string {
			return reference.InTree(&at, project, ref, dir, address, picture)
		})
	}
	return plainText(content)
}

// steps makes the links from the root to a path.
func (f *folder) steps() {
	f.Steps = []link{{"root", at.Folder(f.Project, f.Ref, "")}}
	parts := strings.Split(f.Path, "/")
	for i := range parts {
		if parts[i] != "" {
			f.Steps = append(f.Steps, link{parts[i], at.Folder(f.Project, f.Ref, strings.Join(parts[:i+1], "/"))})
		}
	}
}

// file opens the file that the address names.
func (x *visit) file() (*project.Project, *folder, *repo.File, error) {
	p, err := x.project("Project")
	if err != nil {
		return nil, nil, nil, err
	}
	ref, name, tip, err := x.split(p, x.args["rest"])
	if err != nil {
		return nil, nil, nil, err
	}
	got, err := x.Repos.File(x.r.Context(), x.as, p, name, tip.ID.String(), repo.WithoutHistory)
	if err != nil {
		return nil, nil, nil, err
	}
	f := &folder{Project: p.FullPath, Ref: ref, Path: name, Tip: tip}
	f.steps()
	return p, f, got, nil
}

func (x *visit) getBlob() (templ.Component, error) {
	p, f, got, err := x.file()
	if err != nil {
		return nil, err
	}
	defer got.Blob.Close()
	b := &fileView{Name: path.Base(f.Path), Size: counted(got.Blob.Size, "byte"), Raw: at.Raw(f.Project, f.Ref, f.Path)}
	x.title(b.Name)
	x.sheet.API = x.URLs.ProjectAPI(int64(p.ID), "repository", "blobs", got.BlobID.String())
	if shownPicture(f.Path) && got.Blob.Size <= maxPicture {
		b.Picture = true
		return blob(f, b), nil
	}
	if got.Blob.Size > maxShown {
		b.Reason = "The file is too large to be shown here."
		return blob(f, b), nil
	}
	content, err := io.ReadAll(got.Blob)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read file: %w", err)
	case charset.Binary(content):
		b.Reason = "The file is not text."
	case strings.EqualFold(path.Ext(f.Path), ".md") && x.query("plain") == "":
		b.Document = x.fileText(f.Project, f.Ref, f.Path, charset.Text(content, ""))
	default:
		b.Lines = shownLines(f.Path, charset.Text(content, ""))
	}
	return blob(f, b), nil
}

// branchOf is the default branch of a project, "" before the first push.
func branchOf(p *project.Project) string {
	if p.DefaultBranch == nil {
		return ""
	}
	return *p.DefaultBranch
}
