package clients

import (
	"fmt"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

func (s *story) pages(t *testing.T) {
	for i := range 7 {
		got(s.ben.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new(fmt.Sprintf("Page %d", i))})).must(t)
	}
	options := &gitlab.ListProjectIssuesOptions{Search: new("Page"), ListOptions: gitlab.ListOptions{PerPage: 3, Page: 2}}
	a := got(s.ben.Issues.ListProjectIssues(s.project.ID, options))
	page, r := a.must(t), a.res
	if len(page) != 3 || r.TotalItems != 7 || r.TotalPages != 3 || r.ItemsPerPage != 3 || r.CurrentPage != 2 || r.NextPage != 3 || r.PreviousPage != 1 {
		t.Errorf("second page: got %d issues, %+v", len(page), r)
	}
	for name, link := range map[string]string{"next": r.NextLink, "prev": r.PreviousLink, "first": r.FirstLink, "last": r.LastLink} {
		if link == "" {
			t.Errorf("link %s is missing: %s", name, r.Header.Get("Link"))
		}
	}
	options.Page = 3
	last := got(s.ben.Issues.ListProjectIssues(s.project.ID, options))
	if len(last.must(t)) != 1 || last.res.NextPage != 0 || last.res.NextLink != "" {
		t.Errorf("last page: got %d, next %d", len(last.value), last.res.NextPage)
	}
	options.Page = 0
	it, failed := gitlab.Scan(func(p gitlab.PaginationOptionFunc) ([]*gitlab.Issue, *gitlab.Response, error) {
		return s.ben.Issues.ListProjectIssues(s.project.ID, options, p)
	})
	seen := map[int64]bool{}
	for i := range it {
		seen[i.IID] = true
	}
	if err := failed(); err != nil || len(seen) != 7 {
		t.Errorf("all pages: got %d issues, %v", len(seen), err)
	}
	for name, r := range map[string]*gitlab.Response{
		"users":          got(s.root.Users.ListUsers(&gitlab.ListUsersOptions{ListOptions: gitlab.ListOptions{PerPage: 1}})).res,
		"branches":       got(s.ben.Branches.ListBranches(s.project.ID, &gitlab.ListBranchesOptions{ListOptions: gitlab.ListOptions{PerPage: 1}})).res,
		"members":        got(s.ben.ProjectMembers.ListAllProjectMembers(s.project.ID, &gitlab.ListProjectMembersOptions{ListOptions: gitlab.ListOptions{PerPage: 1}})).res,
		"merge requests": got(s.ben.MergeRequests.ListProjectMergeRequests(s.project.ID, &gitlab.ListProjectMergeRequestsOptions{ListOptions: gitlab.ListOptions{PerPage: 1}})).res,
	} {
		if r.TotalItems < 2 || r.TotalPages != r.TotalItems || r.ItemsPerPage != 1 || r.CurrentPage != 1 || r.NextPage != 2 {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func (s *story) keyset(t *testing.T) {
	for i := range 5 {
		got(s.ann.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new(fmt.Sprintf("Key %d", i))})).must(t)
	}
	options := &gitlab.ListProjectsOptions{ListOptions: gitlab.ListOptions{Pagination: "keyset", OrderBy: "id", Sort: "asc", PerPage: 2}}
	first := got(s.ann.Projects.ListProjects(options))
	if len(first.must(t)) != 2 || first.res.NextLink == "" || first.res.Header.Get("X-Total") != "" {
		t.Errorf("first page: got %d projects, link %q, X-Total %q", len(first.value), first.res.NextLink, first.res.Header.Get("X-Total"))
	}
	it, failed := gitlab.Scan(func(p gitlab.PaginationOptionFunc) ([]*gitlab.Project, *gitlab.Response, error) {
		return s.ann.Projects.ListProjects(options, p)
	})
	var ids []int64
	for p := range it {
		if len(ids) > 0 && p.ID <= ids[len(ids)-1] {
			t.Errorf("project %d comes after %d", p.ID, ids[len(ids)-1])
		}
		ids = append(ids, p.ID)
	}
	if err := failed(); err != nil || len(ids) != 6 {
		t.Errorf("all projects: got %v, %v", ids, err)
	}
	for _, column := range []string{"created_at", "updated_at", "title"} {
		order := gitlab.ListOptions{Pagination: "keyset", PerPage: 2, OrderBy: column, Sort: "desc"}
		whole := got(s.ben.Issues.ListProjectIssues(s.project.ID, &gitlab.ListProjectIssuesOptions{OrderBy: new(column), Sort: new("desc"), ListOptions: gitlab.ListOptions{PerPage: 100}})).must(t)
		it, failed := gitlab.Scan(func(p gitlab.PaginationOptionFunc) ([]*gitlab.Issue, *gitlab.Response, error) {
			return s.ben.Issues.ListProjectIssues(s.project.ID, &gitlab.ListProjectIssuesOptions{ListOptions: order}, p)
		})
		i := 0
		for issue := range it {
			if i < len(whole) && whole[i].ID != issue.ID {
				t.Errorf("issues by %s: got %d in place %d, want %d", column, issue.ID, i, whole[i].ID)
			}
			i++
		}
		if err := failed(); err != nil || i != len(whole) || i < 3 {
			t.Errorf("issues by %s: got %d, %v, want %d", column, i, err, len(whole))
		}
	}
}

func (s *story) errors(t *testing.T) {
	stranger := got(s.root.Users.CreateUser(&gitlab.CreateUserOptions{
		Username: new("stranger"), Name: new("S"), Email: new("stranger@example.com"), Password: new("correct horse s"), SkipConfirmation: new(true),
	})).must(t)
	token := got(s.root.Users.CreatePersonalAccessToken(stranger.ID, &gitlab.CreatePersonalAccessTokenOptions{Name: new("s"), Scopes: &[]string{"api"}})).must(t)
	c := s.client(t, token.Token)
	// A user who may not know that the project is there reads 404, whatever is asked for.
	got(c.Projects.GetProject(s.project.ID, nil)).refused(t, 404, "")
	got(c.Issues.GetIssue(s.project.ID, 1)).refused(t, 404, "")
	got(c.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new("x")})).refused(t, 404, "")
	done(c.Projects.DeleteProject(s.project.ID, nil)).refused(t, 404, "")
	done(s.ben.Projects.DeleteProject(s.project.ID, nil)).refused(t, 403, "403 Forbidden")
	got(c.Users.CreateUser(&gitlab.CreateUserOptions{Username: new("x"), Name: new("X"), Email: new("x@example.com"), Password: new("battery staple 4711")})).refused(t, 403, "403 Forbidden")
	got(s.ann.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{})).refused(t, 400, "title is missing")
	got(s.ann.Issues.CreateIssue(s.project.ID, &gitlab.CreateIssueOptions{Title: new("Twice"), IID: new(int64(1))})).refused(t, 409, "Duplicated issue")
	got(s.ann.Issues.ListProjectIssues(s.project.ID, &gitlab.ListProjectIssuesOptions{State: new("odd")})).refused(t, 400, "state does not have a valid value")
	got(s.ann.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("x"), SourceBranch: new("main"), TargetBranch: new("main"),
	})).refused(t, 422, "You can't use same project/branch for source and target")
	got(s.ann.Projects.CreateProject(&gitlab.CreateProjectOptions{})).refused(t, 400, "name, path are missing, at least one parameter must be provided")
}
