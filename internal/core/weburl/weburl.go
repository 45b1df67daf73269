// Package weburl makes every URL of the instance: of web pages, of the REST API, of git
// repositories and of files. Paths of projects and groups are full paths.
package weburl

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
)

// Level is the version that clients read: the release of the contract that the interface
// has, with the suffix by which clients know the edition in which nothing is locked.
const Level = "16.0.0-ee"

// APIPath is where the REST API begins.
const APIPath = "/api/v4"

// Site makes URLs. The zero value makes them relative to the root of the instance.
type Site struct {
	base string // without a trailing slash
	host string // without a port
	ssh  string // host and perhaps port of git over SSH, "" where it is off

	clone func() string // root of repositories over HTTP, without a trailing slash; nil or "" is base
}

// New makes the URLs of an instance that is reached at base. ssh is where clients reach git
// over SSH, a host and perhaps a port; "" is nowhere.
func New(base *url.URL, ssh string) *Site {
	return &Site{base: strings.TrimRight(base.String(), "/"), host: base.Hostname(), ssh: ssh}
}

// Root is the URL of the instance, without a trailing slash.
func (s *Site) Root() string { return s.base }

// Path returns the part of a URL of the instance that follows its host, and any path below which
// the instance lives.
func (s *Site) Path(url string) string {
	return "/" + strings.TrimLeft(strings.TrimPrefix(url, s.base), "/")
}

// Home is the first page.
func (s *Site) Home() string { return s.base + "/" }

// Host is the host name of the instance, without a port.
func (s *Site) Host() string { return s.host }

// SSHAddress is the host, and perhaps the port, of git over SSH; "" where it is off.
func (s *Site) SSHAddress() string { return s.ssh }

// Liveness answers where the server runs.
func (s *Site) Liveness() string { return s.base + "/-/liveness" }

// Confirmation is the page that sends the confirmation of an email address once more.
func (s *Site) Confirmation() string { return s.base + "/users/confirmation/new" }

// Unsubscribe ends the mails of a thread with the key of a mail.
func (s *Site) Unsubscribe(key string) string {
	return s.base + "/-/sent_notifications/" + key + "/unsubscribe"
}

// Asset is a file that pages refer to, such as the stylesheet.
func (s *Site) Asset(name string) string { return s.base + "/-/assets/" + name }

// StatusFavicon is the icon of a browser's tab that shows a status of CI, such as "favicon_status_success".
func (s *Site) StatusFavicon(name string) string {
	return s.base + "/assets/ci_favicons/" + name + ".png"
}

// SignIn is where people sign on; they go on to a path of the instance, "" for none.
func (s *Site) SignIn(to string) string {
	page := s.base + "/users/sign_in"
	if to == "" {
		return page
	}
	return page + "?" + url.Values{"return_to": {to}}.Encode()
}

// SignOut ends a session.
func (s *Site) SignOut() string { return s.base + "/users/sign_out" }

// ForgottenPassword says what to do without a password.
func (s *Site) ForgottenPassword() string { return s.base + "/users/password/new" }

// ChoosePassword is where a password is chosen with the secret of a link, "" for none.
func (s *Site) ChoosePassword(key string) string {
	page := s.base + "/users/password/edit"
	if key == "" {
		return page
	}
	return page + "?" + url.Values{"reset_password_token": {key}}.Encode()
}

// ExpiredPassword is where an expired password is replaced.
func (s *Site) ExpiredPassword() string { return s.base + "/users/password/expired" }

// Explore lists projects.
func (s *Site) Explore() string { return s.base + "/explore/projects" }

// GraphQLExplorer is the page to try GraphQL.
func (s *Site) GraphQLExplorer() string { return s.base + "/-/graphql-explorer" }

// Profile is the page of the settings of the signed-in user.
func (s *Site) Profile() string { return s.base + "/-/profile" }

// ProfileTokens lists the own access tokens.
func (s *Site) ProfileTokens() string { return s.Profile() + "/personal_access_tokens" }

// ProfileKeys lists the own SSH keys.
func (s *Site) ProfileKeys() string { return s.Profile() + "/keys" }

// ProfileSessions lists the own sessions.
func (s *Site) ProfileSessions() string { return s.Profile() + "/active_sessions" }

// ProfilePassword is where the own password is changed.
func (s *Site) ProfilePassword() string { return s.Profile() + "/password" }

// ProfileDeletion is where the deletion of the own account is asked for.
func (s *Site) ProfileDeletion() string { return s.Profile() + "/account" }

// Act is where a form sends what to do with one thing of a list.
func Act(list string, id int64, verb string) string {
	return list + "/" + strconv.FormatInt(id, 10) + "/" + verb
}

// Help is a page of the documentation.
func (s *Site) Help(page string) string { return s.base + "/help/" + page }

// User is the profile of a user.
func (s *Site) User(username string) string { return s.base + "/" + username }

// Group is the page of a group.
func (s *Site) Group(path string) string { return s.base + "/groups/" + path }

// GroupMembers lists the members of a group.
func (s *Site) GroupMembers(path string) string { return s.Group(path) + "/-/group_members" }

// GroupAccessRequests is where requests for access to a group are decided.
func (s *Site) GroupAccessRequests(path string) string { return s.GroupMembers(path) + accessRequests }

// Project is the page of a project.
func (s *Site) Project(path string) string { return s.base + "/" + path }

// ProjectExport is where the archive of a project is downloaded from.
func (s *Site) ProjectExport(path string) string { return s.Project(path) + "/download_export" }

// GroupExport is where the archive of a group is downloaded from.
func (s *Site) GroupExport(path string) string { return s.Group(path) + "/-/download_export" }

// ProjectMembers lists the members of a project.
func (s *Site) ProjectMembers(path string) string { return s.inside(path, "project_members") }

// ProjectAccessRequests is where requests for access to a project are decided.
func (s *Site) ProjectAccessRequests(path string) string {
	return s.ProjectMembers(path) + accessRequests
}

// accessRequests is the part of the list of members with requests for access.
const accessRequests = "?tab=access_requests"

// Issues lists the issues of a project.
func (s *Site) Issues(path string) string { return s.inside(path, "issues") }

// IssuesLabelled lists the issues of a project that have a label.
func (s *Site) IssuesLabelled(path, title string) string {
	return s.Issues(path) + "?" + url.Values{"label_name": {title}}.Encode()
}

// ProjectBoard leads to an issue board of a project.
func (s *Site) ProjectBoard(path string, id int64) string { return s.numbered(path, "boards", id) }

// GroupBoard leads to an issue board of a group.
func (s *Site) GroupBoard(path string, id int64) string {
	return s.numbered("groups/"+path, "boards", id)
}

// GroupIssues lists the issues below a group.
func (s *Site) GroupIssues(path string) string { return s.Group(path) + "/-/issues" }

// GroupIssuesLabelled lists the issues below a group that have a label.
func (s *Site) GroupIssuesLabelled(path, title string) string {
	return s.GroupIssues(path) + "?" + url.Values{"label_name": {title}}.Encode()
}

// MergeRequests lists the merge requests of a project.
func (s *Site) MergeRequests(path string) string { return s.inside(path, "merge_requests") }

// IsPage reports whether an address without its host is that of a page of a project.
func (s *Site) IsPage(path, address string) bool {
	return strings.HasPrefix(address, s.Path(s.inside(path, "")))
}

// Branches lists the branches of a project.
func (s *Site) Branches(path string) string { return s.inside(path, "branches") }

// Tags lists the tags of a project.
func (s *Site) Tags(path string) string { return s.inside(path, "tags") }

// Job is the page of a job.
func (s *Site) Job(path string, id int64) string { return s.numbered(path, "jobs", id) }

// JobLog is the whole log of a job as plain text.
func (s *Site) JobLog(path string, id int64) string { return s.Job(path, id) + "/raw" }

// JobArtifacts is the archive of a job.
func (s *Site) JobArtifacts(path string, id int64) string {
	return s.Job(path, id) + "/artifacts/download"
}

// JobFolder lists a folder in the archive of a job, "" for all of it.
func (s *Site) JobFolder(path string, id int64, folder string) string {
	return strings.TrimSuffix(s.Job(path, id)+"/artifacts/browse/"+escaped(folder), "/")
}

// JobRawFile is the content of a file among the artifacts of a job.
func (s *Site) JobRawFile(path string, id int64, file string) string {
	return s.Job(path, id) + "/artifacts/raw/" + escaped(file)
}

// Archive is an archive of a branch, tag or commit, such as "tar.gz".
func (s *Site) Archive(path, ref, format string) string {
	name := path[strings.LastIndexByte(path, '/')+1:] + "-" + strings.ReplaceAll(ref, "/", "-") + "." + format
	return s.inside(path, "archive/"+escaped(ref+"/"+name))
}

// JobFile is a file among the artifacts of a job.
func (s *Site) JobFile(path string, id int64, file string) string {
	return s.Job(path, id) + "/artifacts/file/" + escaped(file)
}

// Commits lists the commits of a branch, tag or commit that touch a file or a folder, "" for
// all.
func (s *Site) Commits(path, ref, file string) string {
	return s.inside(path, "commits/"+escaped(strings.TrimSuffix(ref+"/"+file, "/")))
}

// Folder is the page of a folder at a branch, tag or commit.
func (s *Site) Folder(path, ref, folder string) string {
	return s.inside(path, "tree/"+escaped(strings.TrimSuffix(ref+"/"+folder, "/")))
}

// Raw is the content of a file at a branch, tag or commit.
func (s *Site) Raw(path, ref, file string) string {
	return s.inside(path, "raw/"+escaped(ref+"/"+file))
}

// Issue is the page of an issue that is no task.
func (s *Site) Issue(path string, iid int64) string { return s.numbered(path, "issues", iid) }

// WorkItem is the page of a task.
func (s *Site) WorkItem(path string, iid int64) string { return s.numbered(path, "work_items", iid) }

// ProjectMilestones lists the milestones of a project.
func (s *Site) ProjectMilestones(path string) string { return s.inside(path, "milestones") }

// GroupMilestones lists the milestones of a group.
func (s *Site) GroupMilestones(path string) string { return s.Group(path) + "/-/milestones" }

// ProjectMilestone is the page of a project's milestone.
func (s *Site) ProjectMilestone(path string, iid int64) string {
	return s.numbered(path, "milestones", iid)
}

// GroupMilestone is the page of a group's milestone.
func (s *Site) GroupMilestone(path string, iid int64) string {
	return s.numbered("groups/"+path, "milestones", iid)
}

// Iterations lists the iterations of a group.
func (s *Site) Iterations(path string) string { return s.Group(path) + "/-/iterations" }

// Iteration is the page of an iteration of a group.
func (s *Site) Iteration(path string, iid int64) string {
	return s.numbered("groups/"+path, "iterations", iid)
}

// Epics lists the epics of a group.
func (s *Site) Epics(path string) string { return s.Group(path) + "/-/epics" }

// Epic is the page of a group's epic.
func (s *Site) Epic(path string, iid int64) string { return s.numbered("groups/"+path, "epics", iid) }

// EditEpic is the form of a group's epic.
func (s *Site) EditEpic(path string, iid int64) string { return s.Epic(path, iid) + "/edit" }

// EpicPath is the path of Epic, without scheme and host.
func (s *Site) EpicPath(path string, iid int64) string {
	address := s.Epic(path, iid)
	if _, rest, ok := strings.Cut(address, "://"); ok {
		return rest[strings.IndexByte(rest, '/'):]
	}
	return address
}

// MergeRequest is the page of a merge request.
func (s *Site) MergeRequest(path string, iid int64) string {
	return s.numbered(path, "merge_requests", iid)
}

// NewMergeRequest is the form for a merge request from a branch, "" for any.
func (s *Site) NewMergeRequest(path, branch string) string {
	if branch == "" {
		return s.inside(path, "merge_requests/new")
	}
	query := url.Values{"merge_request[source_branch]": {branch}}
	return s.inside(path, "merge_requests/new?"+query.Encode())
}

// MergeRequestDiff compares a version of a merge request with an older commit.
func (s *Site) MergeRequestDiff(path string, iid, version int64, since string) string {
	return s.MergeRequest(path, iid) + "/diffs?diff_id=" + strconv.FormatInt(version, 10) + "&start_sha=" + since
}

// MergeRequestCommits lists the commits of a merge request.
func (s *Site) MergeRequestCommits(path string, iid int64) string {
	return s.MergeRequest(path, iid) + "/commits"
}

// MergeRequestChanges is the diff of a merge request.
func (s *Site) MergeRequestChanges(path string, iid int64) string {
	return s.MergeRequest(path, iid) + "/diffs"
}

// Pipeline is the page of a pipeline.
func (s *Site) Pipeline(path string, id int64) string { return s.numbered(path, "pipelines", id) }

// Commit is the page of a commit.
func (s *Site) Commit(path, sha string) string { return s.inside(path, "commit/"+sha) }

// Compare is the comparison of two commits; dots is ".." where they are compared themselves,
// "..." where the second one is compared with their merge base.
func (s *Site) Compare(path, from, dots, to string) string {
	return s.inside(path, "compare/"+from+dots+to)
}

// Tree is the page of a folder: the root of a branch or tag.
func (s *Site) Tree(path, ref string) string { return s.inside(path, "tree/"+escaped(ref)) }

// Blob is the page of a file at a branch, tag or commit.
func (s *Site) Blob(path, ref, file string) string {
	return s.inside(path, "blob/"+escaped(ref+"/"+file))
}

// ProjectSnippets lists the snippets of a project.
func (s *Site) ProjectSnippets(path string) string { return s.inside(path, "snippets") }

// Snippet is the page of a snippet; path is that of its project, "" for a personal one.
func (s *Site) Snippet(path string, id int64) string {
	if path == "" {
		return s.base + "/-/snippets/" + strconv.FormatInt(id, 10)
	}
	return s.numbered(path, "snippets", id)
}

// NewSnippet is the form for a snippet of a project, of the user where path is "".
func (s *Site) NewSnippet(path string) string {
	if path == "" {
		return s.base + "/-/snippets/new"
	}
	return s.inside(path, "snippets/new")
}

// ProjectCI is the page of the settings of pipelines of a project.
func (s *Site) ProjectCI(path string) string { return s.inside(path, "settings/ci_cd") }

// Hooks is the page of the webhooks of a project.
func (s *Site) Hooks(path string) string { return s.inside(path, "hooks") }

// Hook is the page of a webhook with its deliveries.
func (s *Site) Hook(path string, id int64) string { return s.numbered(path, "hooks", id) + "/edit" }

// HookDelivery is the page of a delivery of a webhook.
func (s *Site) HookDelivery(path string, id, delivery int64) string {
	return s.numbered(path, "hooks", id) + "/hook_logs/" + strconv.FormatInt(delivery, 10)
}

// HookTest is where the form that tests a webhook goes.
func (s *Site) HookTest(path string, id int64) string { return s.numbered(path, "hooks", id) + "/test" }

// HookResend is where the form that makes a delivery again goes.
func (s *Site) HookResend(path string, id, delivery int64) string {
	return s.HookDelivery(path, id, delivery) + "/retry"
}

// SnippetRaw is the content of a file of a snippet.
func (s *Site) SnippetRaw(path string, id int64, ref, file string) string {
	return s.Snippet(path, id) + "/raw/" + escaped(ref) + "/" + escaped(file)
}

// SnippetRepository is the path of the repository of a snippet, for HTTPRepository and
// SSHRepository.
func SnippetRepository(path string, id int64) string {
	return strings.TrimPrefix(path+"/snippets/"+strconv.FormatInt(id, 10), "/")
}

// Wiki is the wiki of a project.
func (s *Site) Wiki(path string) string { return s.inside(path, "wikis") }

// GroupWiki is the wiki of a group.
func (s *Site) GroupWiki(path string) string { return s.Group(path) + "/-/wikis" }

// WikiPage is a page or a file of the wiki at a URL, by its slug or path.
func WikiPage(wiki, slug string) string { return wiki + "/" + escaped(slug) }

// WikiVersion is a page of the wiki at a URL as it was at a commit.
func WikiVersion(wiki, slug, sha string) string {
	return WikiPage(wiki, slug) + "?" + url.Values{"version_id": {sha}}.Encode()
}

// WikiHistory lists the commits that changed a page of the wiki at a URL.
func WikiHistory(wiki, slug string) string { return WikiPage(wiki, slug) + "/history" }

// WikiPages lists the pages of the wiki at a URL.
func WikiPages(wiki string) string { return wiki + "/pages" }

// ImportPath is how programs in Go name a project, or a folder in it.
func (s *Site) ImportPath(path string) string {
	_, rest, _ := strings.Cut(s.base, "://")
	return rest + "/" + path
}

// Image is the prefix of the container images of a project.
func (s *Site) Image(path string) string { return s.host + "/" + strings.ToLower(path) }

// Avatar is the picture of a user, group, project or topic (kind): stored is the name it is
// stored by, which ends in a slash and the name of the file.
func (s *Site) Avatar(kind string, id int64, stored string) string {
	_, file, _ := strings.Cut(stored, "/")
	return s.base + "/uploads/-/system/" + kind + "/avatar/" + strconv.FormatInt(id, 10) + "/" + url.PathEscape(file)
}

// MetricImage is the path of the file of a metric image below the root of the instance.
func MetricImage(id int64, file string) string {
	return "/uploads/-/system/issuable_metric_image/file/" + strconv.FormatInt(id, 10) + "/" + url.PathEscape(file)
}

// AppearanceImage is the path of a picture of the appearance (kind: logo, favicon and so on) below the root of the instance.
func AppearanceImage(kind string, id int64, stored string) string {
	_, file, _ := strings.Cut(stored, "/")
	return "/uploads/-/system/appearance/" + kind + "/" + strconv.FormatInt(id, 10) + "/" + url.PathEscape(file)
}

// Manifest describes the instance as a web application.
func (s *Site) Manifest() string { return s.base + "/-/manifest.json" }

// Gravatar is the picture that gravatar.com has for an email address, size pixels wide.
func Gravatar(email string, size int) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(email))))
	return "https://www.gravatar.com/avatar/" + hex.EncodeToString(sum[:]) + "?s=" + strconv.Itoa(size) + "&d=identicon"
}

// Upload is the path of an uploaded file below its project or group, as texts name it.
func Upload(secret, name string) string { return "/uploads/" + secret + "/" + name }

// UploadOf is the path of an uploaded file below the root of the instance; kind is
// "project" or "group".
func UploadOf(kind string, id int64, secret, name string) string {
	return "/-/" + kind + "/" + strconv.FormatInt(id, 10) + Upload(secret, name)
}

// UploadOfProject is the path of an uploaded file that a text in a project names as Upload
// does.
func (s *Site) UploadOfProject(id int64, upload string) string {
	return s.base + "/-/project/" + strconv.FormatInt(id, 10) + upload
}

// UploadOfGroup is UploadOfProject for a group.
func (s *Site) UploadOfGroup(id int64, upload string) string {
	return s.base + "/-/group/" + strconv.FormatInt(id, 10) + upload
}

// HasSSH reports whether git is reached over SSH.
func (s *Site) HasSSH() bool { return s.ssh != "" }

// API is a URL of the REST API.
func (s *Site) API(parts ...string) string {
	return s.base + APIPath + "/" + strings.Join(parts, "/")
}

// ProjectAPI is a URL of the REST API below a project.
func (s *Site) ProjectAPI(id int64, parts ...string) string {
	return strings.Join(append([]string{s.API("projects", strconv.FormatInt(id, 10))}, parts...), "/")
}

func (s *Site) inside(path, page string) string { return s.base + "/" + path + "/-/" + page }

func (s *Site) numbered(path, kind string, id int64) string {
	return s.inside(path, kind+"/"+strconv.FormatInt(id, 10))
}

func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }
