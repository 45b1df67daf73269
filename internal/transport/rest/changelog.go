package rest

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/changelog"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("repositories", (*Server).changelogRoutes)

func (s *Server) changelogRoutes() []*api.Route {
	const path = "/projects/:id/repository/changelog"
	h := changelogHandlers{s, core.Part[*changelog.Service](s.Services)}
	return api.Scoped(nil,
		api.Get(path, h.generate).Doc("Get changelog data").Public().Needs(authz.ReadCode),
		api.Post(path, h.add).Doc("Add changelog data to a changelog file").Status(http.StatusOK).Needs(authz.PushCode, authz.ReadCode),
	)
}

type changelogHandlers struct {
	server     *Server
	changelogs *changelog.Service
}

type changelogParams struct {
	projectPath
	Version    api.Opt[string] `param:"version" doc:"Version of the changelog, as a semantic version"`
	From       string          `param:"from" doc:"Start of the commit range, exclusive; defaults to the tag of the previous version"`
	To         string          `param:"to" doc:"End of the commit range, inclusive; defaults to the HEAD of the branch"`
	Date       time.Time       `param:"date" doc:"Date and time of the release; defaults to now"`
	Trailer    string          `param:"trailer" default:"Changelog" doc:"Git trailer of the changelog category"`
	ConfigFile string          `param:"config_file" doc:"Path of the changelog configuration; defaults to .gitlab/changelog_config.yml"`
	ConfigRef  string          `param:"config_file_ref" doc:"Branch, tag or commit to read the changelog configuration from; defaults to the default branch"`
}

// semver is the form of a version.
const semver = `^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`

func (p *changelogParams) input() (changelog.Input, error) {
	switch {
	case !p.Version.Set || p.Version.Null:
		return changelog.Input{}, api.BadParam("version is missing, version is empty")
	case p.Version.Value == "":
		return changelog.Input{}, api.BadParam("version is empty")
	case !regexp.MustCompile(semver).MatchString(p.Version.Value):
		return changelog.Input{}, api.BadParam("version is invalid")
	}
	return changelog.Input{
		Version: p.Version.Value, From: p.From, To: p.To, Date: p.Date, Trailer: p.Trailer, ConfigFile: p.ConfigFile, ConfigRef: p.ConfigRef,
	}, nil
}

type notesEntity struct {
	Notes string `json:"notes"`
}

func (h changelogHandlers) generate(ctx context.Context, as authz.Actor, in changelogParams) (notesEntity, error) {
	input, err := in.input()
	if err != nil {
		return notesEntity{}, err
	}
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return notesEntity{}, err
	}
	notes, err := h.changelogs.Generate(ctx, as, p, input)
	return notesEntity{notes}, err
}

type addChangelogParams struct {
	changelogParams
	Branch  string `param:"branch" doc:"Branch to commit to; defaults to the default branch"`
	File    string `param:"file" default:"CHANGELOG.md" doc:"Path of the changelog file"`
	Message string `param:"message" doc:"Commit message"`
}

// add answers with a bare number, as the contract's reference does.
func (h changelogHandlers) add(ctx context.Context, as authz.Actor, in addChangelogParams) (int, error) {
	input, err := in.input()
	if err != nil {
		return 0, err
	}
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return 0, err
	}
	input.Branch, input.File, input.Message = in.Branch, in.File, in.Message
	return http.StatusOK, h.changelogs.Add(ctx, as, p, input)
}
