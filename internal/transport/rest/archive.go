package rest

import (
	"context"
	"net/http"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

type archiveParams struct {
	projectPath
	Suffix string      `param:"format" values:"zip,tar,tar.gz,tgz,gz,tar.bz2,tbz,tbz2,tb2,bz2" doc:"Archive format, as a suffix; defaults to tar.gz"`
	SHA    string      `param:"sha" doc:"Branch, tag or commit; defaults to the default branch"`
	Path   string      `param:"path" doc:"Subpath of the repository to download; defaults to the whole repository"`
	Except api.Strings `param:"exclude_paths" doc:"Paths to exclude, separated by commas"`
	LFS    bool        `param:"include_lfs_blobs" default:"true" doc:"Include LFS objects"`
	Accept string      `header:"Accept"`
	Mode   string      `header:"Sec-Fetch-Mode"`
}

// archive returns an archive: from the place it is kept in, with parts where asked for, or
// while it is made.
func (s *Server) archive(ctx context.Context, as authz.Actor, in archiveParams) (api.RawOrContent, error) {
	var out api.RawOrContent
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return out, err
	}
	if httpkit.Hotlinked(in.Accept, in.Mode) {
		return out, errs.New(errs.NotAcceptable, "")
	}
	a, err := s.Repos.Archive(ctx, as, p, repo.ArchiveInput{Ref: in.SHA, Path: in.Path, Exclude: in.Except, Suffix: in.Suffix, Pointers: !in.LFS})
	if err != nil {
		return out, err
	}
	h := http.Header{}
	h.Set("Content-Disposition", httpkit.Attachment(a.Name))
	h.Set("Content-Transfer-Encoding", "binary")
	if a.Reader.Finished() {
		out.Content = &api.Content{Type: a.Type, Header: h, ETag: a.ETag, From: a.Reader}
		return out, nil
	}
	h.Set("Etag", a.ETag)
	out.Raw = api.Raw{Type: a.Type, Header: h, Stream: a.Reader}
	return out, nil
}
