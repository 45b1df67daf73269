package quickaction

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
)

var commits = []noteable.Kind{noteable.Commit}

// code are the commands that make branches, merge requests and tags.
func (s *Service) code() []Action {
	return []Action{
		{Names: []string{"create_merge_request"}, Kinds: issues, Run: s.createRequest},
		{Names: []string{"tag"}, Kinds: commits, Run: s.tag},
	}
}

// may reports whether the actor has all the abilities in the project.
func (s *Service) may(ctx context.Context, c *Call, all ...authz.Ability) (bool, error) {
	for _, ability := range all {
		if may, err := s.Policy.Can(ctx, c.As, ability, c.Project.Subject()); err != nil || !may {
			return false, err
		}
	}
	return true, nil
}

// createRequest makes a branch, which the argument may name, and a merge request from it that
// closes the issue.
func (s *Service) createRequest(ctx context.Context, c *Call) error {
	may, err := s.may(ctx, c, authz.PushCode, authz.CreateMergeRequestFrom, authz.CreateMergeRequestIn)
	if err != nil || !may || c.Project.DefaultBranch == nil {
		return err
	}
	name, what := c.Argument, "a branch"
	if name == "" {
		name = branchName(c.Project.IssueBranchTemplate, c.Was)
	} else {
		what = "branch '" + name + "'"
	}
	if !gitstore.ValidBranchName(name) {
		return nil
	}
	switch _, err := s.Repos.FindBranch(ctx, c.As, c.Project, name); {
	case err == nil:
		return nil // it is there already
	case !errs.Is(err, errs.NotFound):
		return err
	}
	c.After(func(ctx context.Context) error { return s.begin(ctx, c, name) })
	c.Set("create_merge_request", map[string]any{"branch_name": name, "issue_iid": c.Was.IID})
	c.Say("Created %s and a merge request to resolve this issue.", what)
	return nil
}

// begin makes the branch and the merge request. Where there can be no merge request, the issue
// has a branch.
func (s *Service) begin(ctx context.Context, c *Call, name string) error {
	into := *c.Project.DefaultBranch
	made, err := s.Repos.CreateBranch(ctx, c.As, c.Project, name, into)
	if err != nil {
		return err
	}
	description := "Closes " + c.Was.IID.Reference()
	work := issue.Work{Branch: name, Commit: made.Tip.ID.String()}
	m, _, failed := s.MergeRequests.Create(ctx, c.As, c.Project, mergerequest.Input{
		SourceBranch: name, TargetBranch: into, Title: requestTitle(c.Was), Description: &description,
		Assignees: []authz.UserID{c.As.UserID}, Labels: label.Titles(c.Was.Labels), MilestoneID: c.Was.MilestoneID,
	})
	if failed == nil {
		work = issue.Work{RequestID: int64(m.ID), RequestIID: int64(m.IID)}
	}
	return errors.Join(failed, s.Issues.Address(ctx, c.As, c.Project, c.Was.IID, work))
}

// maxTitle is how many characters the title of a merge request has at most.
const maxTitle = 255

// requestTitle names what a merge request resolves: by its title, unless that is confidential.
func requestTitle(i *issue.Issue) string {
	if i.Confidential {
		return "Draft: Resolve " + i.IID.Reference()
	}
	title := fmt.Sprintf(`Draft: Resolve "%s"`, i.Title)
	if utf8.RuneCountInString(title) > maxTitle {
		title = string([]rune(title)[:maxTitle-2]) + "\u2026\""
	}
	return title
}

// maxBranch is how many bytes the name of a branch has that is made of a title.
const maxBranch = 100

// branchName makes the name of a branch for an issue, after the template of its project where
// that has one.
func branchName(template *string, i *issue.Issue) string {
	title := words(i.Title)
	if i.Confidential {
		title = "confidential-issue"
	}
	name := strconv.FormatInt(int64(i.IID), 10)
	if template != nil && *template != "" {
		name = strings.NewReplacer("%{id}", name, "%{title}", title).Replace(*template)
	} else if title != "" {
		name += "-" + title
	}
	if len(name) > maxBranch {
		name = name[:maxBranch]
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			name = name[:at]
		}
	}
	return strings.ToValidUTF8(name, "")
}

// words returns the words of a title in lower case and without accents, with dashes between them.
func words(title string) string {
	var out strings.Builder
	apart := false
	for _, r := range strings.ToLower(norm.NFKD.String(title)) {
		switch {
		case r >= 0x300 && r <= 0x36F: // an accent, split off by the decomposition
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			if apart && out.Len() > 0 {
				out.WriteByte('-')
			}
			apart = false
			out.WriteRune(r)
		default:
			apart = true
		}
	}
	return out.String()
}

// tag makes a tag at the commit: its name and, after a blank, its message.
func (s *Service) tag(ctx context.Context, c *Call) error {
	may, err := s.may(ctx, c, authz.PushCode)
	name, message, _ := strings.Cut(c.Argument, " ")
	if err != nil || !may || name == "" {
		return err
	}
	message = strings.TrimSpace(message)
	c.After(func(ctx context.Context) error {
		_, err := s.Repos.CreateTag(ctx, c.As, c.Project, name, c.Target.Commit, message)
		return err
	})
	c.Set("tag_name", name)
	c.Set("tag_message", message)
	if message == "" {
		c.Say("Tagged this commit to %s.", name)
	} else {
		c.Say("Tagged this commit to %s with %q.", name, message)
	}
	return nil
}
