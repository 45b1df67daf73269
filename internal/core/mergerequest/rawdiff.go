package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RawDiff streams the newest version as the plain text of a .diff file; without a version it is
// empty. Close it in any case.
func (s *Service) RawDiff(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (io.ReadCloser, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, err
	}
	if m.BaseSHA == "" {
		return io.NopCloser(eof{}), nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return gitcmd.Streamed(func(to io.Writer) error { return r.RawDiff(ctx, idOf(m.BaseSHA), idOf(m.HeadSHA), to) }), nil
}

// Patches streams the commits of the newest version as mails; without a version it is empty. Close it in any case.
func (s *Service) Patches(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (io.ReadCloser, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, err
	}
	if m.StartSHA == "" {
		return io.NopCloser(eof{}), nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return gitcmd.Streamed(func(to io.Writer) error { return r.Patches(ctx, idOf(m.StartSHA), idOf(m.HeadSHA), to) }), nil
}

// eof is an empty text.
type eof struct{}

// Read says that there is no more.
func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// identify computes the patch ids of versions that have none, and stores them. A version whose
// commits are gone has none.
func (s *Service) identify(ctx context.Context, p *project.Project, versions []Version) error {
	var r *gitcmd.Repo
	for i := range versions {
		v := &versions[i]
		if v.PatchID != nil || v.BaseSHA == "" {
			continue
		}
		if r == nil {
			var err error
			if r, err = s.Repos.Open(ctx, p); err != nil {
				return err
			}
		}
		id, err := r.PatchID(ctx, idOf(v.BaseSHA), idOf(v.HeadSHA))
		if errors.Is(err, gitstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("patch id of version: %w", err)
		}
		v.PatchID = &id
		if _, err := s.DB.Exec(ctx, "UPDATE merge_request_versions SET patch_id_sha = ? WHERE id = ?", id, v.ID); err != nil {
			return fmt.Errorf("store patch id: %w", err)
		}
	}
	return nil
}
