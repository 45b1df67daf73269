package repo

import (
	"context"
	"io"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RawDiff streams what a commit changed against its first parent, as the plain text of a .diff file. Close it.
func (s *Service) RawDiff(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit) (io.ReadCloser, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	from := gitstore.EmptyTree()
	if len(c.Parents) > 0 {
		from = c.Parents[0]
	}
	return gitcmd.Streamed(func(to io.Writer) error { return r.RawDiff(ctx, from, c.ID, to) }), nil
}

// Patch streams a commit as a mail, a merge as the mails of what it brought. Close it.
func (s *Service) Patch(ctx context.Context, as authz.Actor, p *project.Project, c *gitstore.Commit) (io.ReadCloser, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	var from gitstore.ObjectID
	if len(c.Parents) > 0 {
		from = c.Parents[0]
	}
	return gitcmd.Streamed(func(to io.Writer) error { return r.Patches(ctx, from, c.ID, to) }), nil
}
