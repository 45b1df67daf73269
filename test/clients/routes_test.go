package clients

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// decoded says into what the client decodes the answer of each route that reads. The
// parts in braces are filled in by routes. nil is an answer that is not JSON.
func decoded() map[string]any {
	return map[string]any{
		"/openapi.json": &map[string]any{}, "/version": &gitlab.Version{}, "/metadata": &gitlab.Metadata{},
		"/user": &gitlab.User{}, "/user_counts": &map[string]int64{}, "/users": &[]*gitlab.User{}, "/users/{id}": &gitlab.User{},
		"/users/{user_id}/projects": &[]*gitlab.Project{},
		"/personal_access_tokens":   &[]*gitlab.PersonalAccessToken{}, "/personal_access_tokens/self": &gitlab.PersonalAccessToken{},
		"/personal_access_tokens/{id}": &gitlab.PersonalAccessToken{},
		"/namespaces":                  &[]*gitlab.Namespace{}, "/namespaces/{id}": &gitlab.Namespace{}, "/namespaces/{id}/exists": &gitlab.NamespaceExistance{},
		"/groups": &[]*gitlab.Group{}, "/groups/{id}": &gitlab.Group{}, "/groups/{id}/projects": &[]*gitlab.Project{},
		"/groups/{id}/subgroups": &[]*gitlab.Group{}, "/groups/{id}/descendant_groups": &[]*gitlab.Group{},
		"/groups/{id}/members": &[]*gitlab.GroupMember{}, "/groups/{id}/members/all": &[]*gitlab.GroupMember{},
		"/groups/{id}/members/{user_id}": &gitlab.GroupMember{}, "/groups/{id}/members/all/{user_id}": &gitlab.GroupMember{},
		"/groups/{id}/issues": &[]*gitlab.Issue{}, "/groups/{id}/issues_statistics": &gitlab.IssuesStatistics{},
		"/groups/{id}/merge_requests": &[]*gitlab.BasicMergeRequest{},
		"/groups/{id}/labels":         &[]*gitlab.GroupLabel{}, "/groups/{id}/labels/{name}": &gitlab.GroupLabel{},
		"/projects": &[]*gitlab.Project{}, "/projects/{id}": &gitlab.Project{}, "/projects/{id}/forks": &[]*gitlab.Project{},
		"/projects/{id}/members": &[]*gitlab.ProjectMember{}, "/projects/{id}/members/all": &[]*gitlab.ProjectMember{},
		"/projects/{id}/members/{user_id}": &gitlab.ProjectMember{}, "/projects/{id}/members/all/{user_id}": &gitlab.ProjectMember{},
		"/projects/{id}/labels": &[]*gitlab.Label{}, "/projects/{id}/labels/{name}": &gitlab.Label{},
		"/issues": &[]*gitlab.Issue{}, "/issues/{id}": &gitlab.Issue{}, "/issues_statistics": &gitlab.IssuesStatistics{},
		"/projects/{id}/issues": &[]*gitlab.Issue{}, "/projects/{id}/issues/{issue_iid}": &gitlab.Issue{},
		"/projects/{id}/issues_statistics":                            &gitlab.IssuesStatistics{},
		"/projects/{id}/issues/{noteable_id}/notes":                   &[]*gitlab.Note{},
		"/projects/{id}/issues/{noteable_id}/notes/{note_id}":         &gitlab.Note{},
		"/projects/{id}/merge_requests/{noteable_id}/notes":           &[]*gitlab.Note{},
		"/projects/{id}/merge_requests/{noteable_id}/notes/{note_id}": &gitlab.Note{},
		"/merge_requests":                                                         &[]*gitlab.BasicMergeRequest{},
		"/projects/{id}/merge_requests":                                           &[]*gitlab.BasicMergeRequest{},
		"/projects/{id}/merge_requests/{merge_request_iid}":                       &gitlab.MergeRequest{},
		"/projects/{id}/merge_requests/{merge_request_iid}/merge_ref":             &gitlab.Commit{},
		"/projects/{id}/merge_requests/{merge_request_iid}/participants":          &[]*gitlab.BasicUser{},
		"/projects/{id}/merge_requests/{merge_request_iid}/reviewers":             &[]*gitlab.MergeRequestReviewer{},
		"/projects/{id}/merge_requests/{merge_request_iid}/commits":               &[]*gitlab.Commit{},
		"/projects/{id}/merge_requests/{merge_request_iid}/changes":               &gitlab.MergeRequest{},
		"/projects/{id}/merge_requests/{merge_request_iid}/diffs":                 &[]*gitlab.MergeRequestDiff{},
		"/projects/{id}/merge_requests/{merge_request_iid}/versions":              &[]*gitlab.MergeRequestDiffVersion{},
		"/projects/{id}/merge_requests/{merge_request_iid}/versions/{version_id}": &gitlab.MergeRequestDiffVersion{},
		"/projects/{id}/protected_branches":                                       &[]*gitlab.ProtectedBranch{}, "/projects/{id}/protected_branches/{name}": &gitlab.ProtectedBranch{},
		"/projects/{id}/protected_tags": &[]*gitlab.ProtectedTag{}, "/projects/{id}/protected_tags/{name}": &gitlab.ProtectedTag{},
		"/projects/{id}/repository/branches":               &[]*gitlab.Branch{},
		"/projects/{id}/repository/branches/{branch}":      &gitlab.Branch{},
		"/projects/{id}/repository/tags":                   &[]*gitlab.Tag{},
		"/projects/{id}/repository/tags/{tag_name}":        &gitlab.Tag{},
		"/projects/{id}/repository/commits":                &[]*gitlab.Commit{},
		"/projects/{id}/repository/commits/{sha}":          &gitlab.Commit{},
		"/projects/{id}/repository/commits/{sha}/diff":     &[]*gitlab.Diff{},
		"/projects/{id}/repository/commits/{sha}/comments": &[]*gitlab.CommitComment{},
		"/projects/{id}/repository/commits/{sha}/statuses": &[]*gitlab.CommitStatus{},
		"/projects/{id}/push_rule":                         &gitlab.ProjectPushRules{},
		"/projects/{id}/repository/files/{file_path}":      &gitlab.File{},
		"/projects/{id}/repository/files/{file_path}/raw":  nil,
		"/projects/{id}/repository/tree":                   &[]*gitlab.TreeNode{},
		"/projects/{id}/repository/blobs/{sha}":            &map[string]any{},
		"/user/keys":                                       &[]*gitlab.SSHKey{}, "/users/{id}/keys": &[]*gitlab.SSHKey{}, "/groups/{id}/groups/shared": &[]*gitlab.Group{},
		"/groups/{id}/invited_groups": &[]*gitlab.Group{}, "/groups/{id}/projects/shared": &[]*gitlab.Project{},
		"/projects/{id}/invited_groups": &[]*gitlab.ProjectGroup{}, "/projects/{id}/repository/archive": nil,
		"/projects/{id}/repository/blobs/{sha}/raw": nil,
		"/projects/{id}/repository/compare":         &gitlab.Compare{},
		"/projects/{id}/repository/merge_base":      &gitlab.Commit{},
	}
}

// routes calls every route that reads, as its own description lists them, and lets the
// client decode the answer into the type that it has for it.
func (s *story) routes(t *testing.T) {
	var described struct {
		Paths map[string]map[string]struct{} `json:"paths"`
	}
	s.read(t, "openapi.json", &described)
	types := decoded()
	issueNote := got(s.ann.Notes.ListIssueNotes(s.project.ID, 1, &gitlab.ListIssueNotesOptions{})).must(t)[0].ID
	requestNote := got(s.ann.Notes.ListMergeRequestNotes(s.project.ID, 1, &gitlab.ListMergeRequestNotesOptions{})).must(t)[0].ID
	version := got(s.ann.MergeRequests.GetMergeRequestDiffVersions(s.project.ID, 1, nil)).must(t)[0].ID
	blob := s.git(t, s.copy, "", "rev-parse", "main:README.md")
	// A request that is open, for the trial merge, a direct member and a protected tag.
	s.change(t, s.clone(t, "open"), "open", "open.txt")
	open := got(s.ben.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("Open"), SourceBranch: new("open"), TargetBranch: new("main"),
	})).must(t).IID
	got(s.root.ProjectMembers.AddProjectMember(s.project.ID, &gitlab.AddProjectMemberOptions{UserID: s.annID, AccessLevel: new(gitlab.OwnerPermissions)})).must(t)
	got(s.root.ProtectedTags.ProtectRepositoryTags(s.project.ID, &gitlab.ProtectRepositoryTagsOptions{Name: new("v1.1")})).must(t)
	token := got(s.root.PersonalAccessTokens.GetSinglePersonalAccessToken()).must(t).ID
	var called int
	for path, methods := range described.Paths {
		path = strings.TrimPrefix(path, "/api/v4")
		if _, reads := methods["get"]; !reads {
			continue
		}
		into, known := types[path]
		if !known {
			t.Logf("GET %s: no type of the client is named for it", path)
			continue
		}
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		member := number(s.benID)
		if strings.HasPrefix(path, "/projects/{id}/members/{") {
			member = number(s.annID) // a direct member below
		}
		fill := []string{
			"{user_id}", member, "{issue_iid}", "1", "{noteable_id}", "1", "{merge_request_iid}", "1", "{version_id}", number(version),
			"{branch}", "main", "{tag_name}", "v1.1", "{file_path}", "README.md", "{name}", "urgent",
		}
		note, sha, id := issueNote, s.history[0], s.project.ID
		switch {
		case strings.Contains(path, "/merge_requests/"):
			note = requestNote
		case strings.Contains(path, "/blobs/"):
			sha = blob
		}
		switch {
		case strings.Contains(path, "/protected_branches/"):
			fill = slices.Concat([]string{"{name}", "main"}, fill)
		case strings.Contains(path, "/protected_tags/"):
			fill = slices.Concat([]string{"{name}", "v1.1"}, fill)
		}
		switch strings.Split(path, "/")[1] {
		case "groups", "namespaces":
			id = s.group.ID
		case "users":
			id = s.benID
		case "issues":
			id = s.issue.ID
		case "personal_access_tokens":
			id = token
		}
		if strings.HasSuffix(path, "/merge_ref") {
			fill = slices.Concat([]string{"{merge_request_iid}", number(open)}, fill)
		}
		query := ""
		switch {
		case strings.Contains(path, "/repository/files/"):
			query = "?ref=main"
		case strings.HasSuffix(path, "/compare"):
			query = "?from=main&to=actions"
		case strings.HasSuffix(path, "/merge_base"):
			query = "?refs[]=main&refs[]=actions"
		}
		fill = append(fill, "{note_id}", number(note), "{sha}", sha, "{id}", number(id))
		s.read(t, strings.TrimPrefix(strings.NewReplacer(fill...).Replace(path), "/")+query, into)
		called++
	}
	if called < len(types) {
		t.Errorf("%d routes were called, types are named for %d", called, len(types))
	}
}

// read lets the client get a path as root and decode the answer.
func (s *story) read(t *testing.T, path string, into any) {
	t.Helper()
	plain, query, _ := strings.Cut(path, "?")
	req, err := s.root.NewRequest(http.MethodGet, plain, nil, nil)
	if err != nil {
		t.Errorf("GET %s: %v", path, err)
		return
	}
	req.URL.RawQuery = query
	if _, err := s.root.Do(req, into); err != nil {
		t.Errorf("GET %s: %v", path, err)
	}
}
