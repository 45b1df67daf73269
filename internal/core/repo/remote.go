package repo

import (
	"context"
	"strconv"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Remote is a repository as git clients reach it: a project's, a wiki's or a snippet's.
type Remote struct {
	Project   *project.Project  // whose own repository it is; nil for that of a wiki or snippet
	Namespace authz.NamespaceID // of the project or group that it belongs to; 0 for a personal snippet

	service  *Service
	attached *Attached
}

// Remote returns the repository of a project to git clients.
func (s *Service) Remote(p *project.Project) *Remote {
	return &Remote{Project: p, Namespace: p.NamespaceID, service: s}
}

// RemoteOf returns the repository of a wiki or snippet in a namespace to git clients.
func (s *Service) RemoteOf(a *Attached, in authz.NamespaceID) *Remote {
	return &Remote{Namespace: in, service: s, attached: a}
}

func (r *Remote) requireFetch(ctx context.Context, as authz.Actor) error {
	if r.attached != nil {
		return r.attached.Owner.Require(ctx, as, Fetching)
	}
	if err := r.service.Policy.Require(ctx, as, authz.ReadCode, r.Project.Subject()); err != nil {
		return err
	}
	return r.service.checkDownload(ctx, as, r.Project)
}

func (r *Remote) open(ctx context.Context) (*gitcmd.Repo, error) {
	if r.attached != nil {
		return r.service.OpenAttached(ctx, r.attached)
	}
	return r.service.Open(ctx, r.Project)
}

// key names the repository among all.
func (r *Remote) key() string {
	if r.attached != nil {
		return "attached " + string(r.attached.ID)
	}
	return strconv.FormatInt(int64(r.Project.ID), 10)
}

// CountFetch counts a fetch or clone; those of wikis and snippets are not counted. It asks
// for no permission.
func (r *Remote) CountFetch() {
	if r.Project != nil {
		r.service.CountFetch(r.Project.ID)
	}
}

// BeginPush prepares a push. It requires the right to push at all; what may move is judged
// reference by reference when git asks.
func (r *Remote) BeginPush(ctx context.Context, as authz.Actor) (*Push, error) {
	if r.attached == nil {
		return r.service.BeginPush(ctx, as, r.Project)
	}
	if err := r.attached.Owner.Require(ctx, as, Pushing); err != nil {
		return nil, err
	}
	at, err := r.service.OpenAttached(ctx, r.attached)
	if err != nil {
		return nil, err
	}
	return &Push{service: r.service, repo: at, as: as, by: as, attached: r.attached}, nil
}

// againAttached asks again whether the actor may push to a wiki or snippet.
func (p *Push) againAttached(ctx context.Context) error {
	err := p.attached.Owner.Require(ctx, p.as, Pushing)
	switch {
	case errs.Is(err, errs.Forbidden):
		return refuse("", err.Error())
	case errs.Is(err, errs.NotFound) || errs.Is(err, errs.Unauthorized):
		return refuse("", textNoPush)
	}
	return err
}
