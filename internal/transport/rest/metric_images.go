package rest

import (
	"context"
	"errors"

	"tenon/internal/core/authz"
	"tenon/internal/core/metricimage"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("metric_images", (*Server).metricImageRoutes)

func (s *Server) metricImageRoutes() []*api.Route {
	const path = "/projects/:id/issues/:issue_iid/metric_images"
	const bound = metricimage.MaxSize + 1<<20 // the file, and what is around it
	return api.Scoped(nil,
		api.Get(path, s.metricImages).Doc("List the metric images of an incident").Needs(authz.ReadIssue),
		api.Post(path, s.createMetricImage).Doc("Upload a metric image of an incident").Needs(authz.UpdateIssue, authz.UploadFile, authz.ReadIssue).
			MaxBodyNow(func() int64 { return bound }),
		api.Put(path+"/:image_id", s.updateMetricImage).Timed().Doc("Update a metric image of an incident").Needs(authz.UpdateIssue, authz.ReadIssue),
		api.Delete(path+"/:image_id", s.deleteMetricImage).Timed().Doc("Delete a metric image of an incident").Needs(authz.UpdateIssue, authz.ReadIssue),
	)
}

type metricImageEntity struct {
	ID        metricimage.ID `json:"id"`
	CreatedAt api.Time       `json:"created_at"`
	Filename  string         `json:"filename"`
	FilePath  string         `json:"file_path"`
	URL       *string        `json:"url"`
	URLText   *string        `json:"url_text"`
}

func newMetricImage(m *metricimage.Image) metricImageEntity {
	return metricImageEntity{
		ID: m.ID, CreatedAt: api.Time(m.CreatedAt.Time), Filename: m.Name, FilePath: weburl.MetricImage(int64(m.ID), m.Name),
		URL: m.URL, URLText: m.URLText,
	}
}

func (s *Server) metricImages(ctx context.Context, as authz.Actor, in issuePath) ([]metricImageEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.MetricImages.List(ctx, as, p, in.IID)
	if err != nil {
		return nil, err
	}
	out := make([]metricImageEntity, len(list))
	for i := range list {
		out[i] = newMetricImage(&list[i])
	}
	return out, nil
}

// metricLink is where a metric image leads.
type metricLink struct {
	URL     *string `param:"url" doc:"URL to view more metric information"`
	URLText *string `param:"url_text" doc:"Description of the image or URL"`
}

func (l metricLink) changes() metricimage.Changes {
	return metricimage.Changes{URL: l.URL, URLText: l.URLText}
}

type createMetricImageParams struct {
	issuePath
	File api.File `param:"file,required" doc:"Image file to upload: png, jpeg, gif or webp, at most 1 MiB"`
	metricLink
}

func (s *Server) createMetricImage(ctx context.Context, as authz.Actor, in createMetricImageParams) (_ metricImageEntity, err error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return metricImageEntity{}, err
	}
	from, err := in.File.Open()
	if err != nil {
		return metricImageEntity{}, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	m, err := s.MetricImages.Create(ctx, as, p, in.IID, metricimage.Input{Name: in.File.Name, From: from, Changes: in.changes()})
	if err != nil {
		return metricImageEntity{}, err
	}
	return newMetricImage(m), nil
}

type metricImagePath struct {
	issuePath
	Image metricimage.ID `param:"image_id,required" doc:"ID of the metric image"`
}

type updateMetricImageParams struct {
	metricImagePath
	metricLink
}

func (s *Server) updateMetricImage(ctx context.Context, as authz.Actor, in updateMetricImageParams) (metricImageEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return metricImageEntity{}, err
	}
	m, err := s.MetricImages.Update(ctx, as, p, in.IID, in.Image, in.changes())
	if err != nil {
		return metricImageEntity{}, err
	}
	return newMetricImage(m), nil
}

func (s *Server) deleteMetricImage(ctx context.Context, as authz.Actor, in metricImagePath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.MetricImages.Delete(ctx, as, p, in.IID, in.Image)
}
