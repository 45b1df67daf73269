package note

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// MailContent returns what mails say about a commit. Users whose verified addresses it names take part in it.
func (c *Commits) MailContent(ctx context.Context, ref noteable.Ref) (*noteable.MailContent, error) {
	projects, err := c.Projects.Load(ctx, []project.ID{project.ID(ref.Project)})
	p := projects[project.ID(ref.Project)]
	if err != nil || p == nil {
		return nil, err
	}
	found, err := c.Repos.FindCommit(ctx, authz.System(), p, ref.Commit)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := noteable.MailContent{Place: p.Place(), URL: c.URLs.Commit(p.FullPath, ref.Commit), Title: found.Title()}
	addresses := []string{db.Fold(found.Author.Email), db.Fold(found.Committer.Email)}
	owners, err := c.Accounts.AddressOwners(ctx, addresses)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if id := owners[a]; id != 0 {
			out.Committers = append(out.Committers, id)
		}
	}
	return &out, nil
}
