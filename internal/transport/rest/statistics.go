package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strconv"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("projects", (*Server).statisticsRoutes)

func (s *Server) statisticsRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/languages", s.listLanguages).Doc("Get the languages of a project").Needs(authz.ReadCode).Public(),
		api.Get("/projects/:id/statistics", s.fetchStatistics).Doc("Get the fetch statistics of the last 30 days").Needs(authz.ReadStatistics),
		api.Get("/projects/:id/storage", s.getStorage).Doc("Get the repository storage of a project").Needs(authz.ReadStorage),
		api.Post("/projects/:id/housekeeping", s.requestHousekeeping).Doc("Start the housekeeping of a project").Needs(authz.AdminProject),
	)
}

// languageShares is an object with the language of the greatest share first.
type languageShares []project.LanguageShare

// Shape says that the object has a number for each language.
func (languageShares) Shape() reflect.Type { return reflect.TypeFor[map[string]float64]() }

// MarshalJSON keeps the order.
func (l languageShares) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, share := range l {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(share.Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(strconv.AppendFloat(nil, share.Percent, 'f', -1, 64))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (s *Server) listLanguages(ctx context.Context, as authz.Actor, p projectPath) (languageShares, error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	return s.Repos.Languages(ctx, as, found)
}

type fetchStatistics struct {
	Fetches fetchCounts `json:"fetches"`
}

type fetchCounts struct {
	Total int64      `json:"total"`
	Days  []fetchDay `json:"days"`
}

type fetchDay struct {
	Count int64  `json:"count"`
	Date  string `json:"date"`
}

func (s *Server) fetchStatistics(ctx context.Context, as authz.Actor, p projectPath) (fetchStatistics, error) {
	out := fetchStatistics{Fetches: fetchCounts{Days: []fetchDay{}}}
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return out, err
	}
	days, err := s.Repos.Fetches(ctx, as, found)
	if err != nil {
		return out, err
	}
	for _, d := range days {
		out.Fetches.Total += d.Count
		out.Fetches.Days = append(out.Fetches.Days, fetchDay{d.Count, d.Day})
	}
	return out, nil
}

type storageEntity struct {
	ProjectID project.ID `json:"project_id"`
	DiskPath  string     `json:"disk_path"`
	CreatedAt api.Time   `json:"created_at"`
	Storage   string     `json:"repository_storage"`
}

func (s *Server) getStorage(ctx context.Context, as authz.Actor, p projectPath) (storageEntity, error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return storageEntity{}, err
	}
	path, err := s.Repos.DiskPath(ctx, as, found)
	if err != nil {
		return storageEntity{}, err
	}
	return storageEntity{ProjectID: found.ID, DiskPath: path, CreatedAt: api.Time(found.CreatedAt.Time), Storage: found.Storage}, nil
}

type housekeepingParams struct {
	projectPath
	Task string `param:"task" values:"eager,prune" doc:"Housekeeping task; defaults to what is needed"`
}

func (s *Server) requestHousekeeping(ctx context.Context, as authz.Actor, p housekeepingParams) (bool, error) {
	found, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return false, err
	}
	if err := s.Repos.RequestHousekeeping(ctx, as, found); err != nil {
		return false, err
	}
	return true, nil
}
