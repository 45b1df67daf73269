package gitimport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/lfsclient"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
)

const (
	lfsBatch    = 100       // objects asked for at a time
	lfsExchange = time.Hour // for one object
)

// importLFS brings the large objects that the pointers of an imported repository name,
// from the server that the repository came from. Every address that it returns is held
// against the rules for connections. What cannot be brought is no failure: the note says
// it, for a user who may administer the project.
func (s *Service) importLFS(ctx context.Context, p *project.Project, r *gitcmd.Repo, at *url.URL, authorization string) (note string, err error) {
	if !s.LFS.Enabled(p) {
		return "", nil
	}
	wanted, err := s.missingObjects(ctx, p, r)
	if err != nil || len(wanted) == 0 {
		return "", err
	}
	as, err := s.creator(ctx, p)
	if err != nil {
		return "", err
	}
	if err := s.LFS.Room(ctx, as, p, wanted); err != nil {
		return "", err
	}
	client := s.Outbound.Client(lfsExchange)
	defer client.CloseIdleConnections()
	from := &lfsclient.Source{At: at, Authorization: authorization, Check: s.Outbound.CheckURL, Client: client, Left: s.Max, Pace: s.Limits.Pace}
	lost := 0
	for batch := range slices.Chunk(wanted, lfsBatch) {
		objects := make([]lfsclient.Object, len(batch))
		for i, o := range batch {
			objects[i] = lfsclient.Object{OID: o.OID, Size: o.Size}
		}
		offers, err := from.Ask(ctx, objects)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, safehttp.ErrTooSlow) {
			return "", err
		}
		if err != nil {
			return fmt.Sprintf("%d large files of Git LFS were not brought: %s", len(wanted), lfsFailure(err)), nil
		}
		for i, o := range batch {
			err := from.Fetch(ctx, offers[o.OID], objects[i], func(content io.Reader) error { return s.LFS.Place(ctx, as, p, o, content) })
			switch {
			case ctx.Err() != nil:
				return "", context.Cause(ctx)
			case errors.Is(err, safehttp.ErrTooMuch), errors.Is(err, safehttp.ErrTooSlow), errs.Is(err, errs.TooLarge):
				return "", err
			case err != nil:
				lost++
				s.Log.Warn("large file of an import", "project_id", p.ID, "oid", o.OID, "error", err)
			}
		}
	}
	if lost > 0 {
		return fmt.Sprintf("%d of %d large files of Git LFS were not brought.", lost, len(wanted)), nil
	}
	return "", nil
}

// creator returns the user whose limits the objects of an import count against, no user if
// the user is gone.
func (s *Service) creator(ctx context.Context, p *project.Project) (authz.Actor, error) {
	if p.CreatorID == nil {
		return authz.Actor{}, nil
	}
	as, err := s.Accounts.ActorFor(ctx, strconv.FormatInt(int64(*p.CreatorID), 10))
	if errs.Is(err, errs.NotFound) {
		return authz.Actor{}, nil
	}
	if err != nil {
		return authz.Actor{}, fmt.Errorf("creator of project: %w", err)
	}
	return as, nil
}

// missingObjects lists what the pointers in the repository name and the project has not.
func (s *Service) missingObjects(ctx context.Context, p *project.Project, r *gitcmd.Repo) ([]lfs.Pointer, error) {
	named := map[string]lfs.Pointer{}
	err := r.SmallBlobs(ctx, lfs.LeastPointer, lfs.MostPointer, func(content []byte) error {
		if o, ok := lfs.ParsePointer(content); ok {
			named[o.OID] = o
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	oids := make([]string, 0, len(named))
	for oid := range named {
		oids = append(oids, oid)
	}
	slices.Sort(oids)
	has, err := s.LFS.Has(ctx, p.ID, oids)
	if err != nil {
		return nil, err
	}
	var out []lfs.Pointer
	for _, oid := range oids {
		if _, there := has[oid]; !there {
			out = append(out, named[oid])
		}
	}
	return out, nil
}

// lfsFailure says in words that may be shown why no large files came.
func lfsFailure(err error) string {
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return "the address " + blocked.Error() + "."
	}
	switch {
	case errors.Is(err, lfsclient.ErrForbidden):
		return "the server does not let them be read."
	case errors.Is(err, lfsclient.ErrNoLFS):
		return "the server has no Git LFS."
	}
	return "the server does not answer as one with Git LFS does."
}
