package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("topics", (*Server).topicRoutes)

func (s *Server) topicRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/topics", s.listTopics).Doc("List topics").Needs(authz.ReadTopic).Public(),
		api.Post("/topics", s.createTopic).Doc("Create a topic").Needs(authz.AdminTopics),
		api.Post("/topics/merge", s.mergeTopics).Doc("Merge topics").Needs(authz.AdminTopics),
		api.Get("/topics/:id", s.getTopic).Doc("Get a topic").Needs(authz.ReadTopic).Public(),
		api.Put("/topics/:id", s.updateTopic).Timed().Doc("Update a topic").Needs(authz.AdminTopics),
		api.Delete("/topics/:id", s.deleteTopic).Timed().Doc("Delete a topic").Needs(authz.AdminTopics),
	)
}

// topicEntity is a word that projects are found by.
type topicEntity struct {
	ID             project.TopicID `json:"id"`
	Name           string          `json:"name"`
	Title          string          `json:"title"`
	Description    *string         `json:"description"`
	Projects       int64           `json:"total_projects_count"`
	OrganizationID int64           `json:"organization_id"`
	AvatarURL      *string         `json:"avatar_url"`
}

func (s *Server) topic(t *project.Topic) topicEntity {
	return topicEntity{
		ID: t.ID, Name: t.Name, Title: t.Title, Description: t.Description, Projects: t.Projects, OrganizationID: 1,
		AvatarURL: s.upload("topic", int64(t.ID), t.Avatar),
	}
}

type listTopicsParams struct {
	api.Page
	Search          string `param:"search" doc:"Search in names and titles"`
	WithoutProjects bool   `param:"without_projects" doc:"Return only topics without projects"`
}

func (s *Server) listTopics(ctx context.Context, as authz.Actor, p listTopicsParams) (api.List[topicEntity], error) {
	list, err := s.Projects.ListTopics(ctx, as, project.TopicFilter{
		Search: p.Search, WithoutProjects: p.WithoutProjects, Range: p.Range(),
	})
	if err != nil {
		return api.List[topicEntity]{}, err
	}
	return api.ListOf(list, s.topic), nil
}

type topicPath struct {
	ID project.TopicID `param:"id" doc:"ID of the topic"`
}

func (s *Server) getTopic(ctx context.Context, as authz.Actor, p topicPath) (topicEntity, error) {
	t, err := s.Projects.FindTopic(ctx, as, p.ID)
	if err != nil {
		return topicEntity{}, err
	}
	return s.topic(t), nil
}

type createTopicParams struct {
	avatarParam
	Name        string  `param:"name,required" doc:"Name of the topic"`
	Title       string  `param:"title,required" doc:"Title of the avatar"`
	Description *string `param:"description" doc:"Description"`
}

func (s *Server) createTopic(ctx context.Context, as authz.Actor, p createTopicParams) (topicEntity, error) {
	sent, err := s.picture(p.avatarParam)
	if err != nil {
		return topicEntity{}, err
	}
	t, err := s.Projects.CreateTopic(ctx, as, project.TopicChanges{Name: &p.Name, Title: &p.Title, Description: p.Description})
	if err != nil {
		return topicEntity{}, err
	}
	return s.topicPortrayed(ctx, as, t, sent)
}

type updateTopicParams struct {
	topicPath
	avatarParam
	Name        *string `param:"name" doc:"Name of the topic"`
	Title       *string `param:"title" doc:"Title of the avatar"`
	Description *string `param:"description" doc:"Description"`
}

func (s *Server) updateTopic(ctx context.Context, as authz.Actor, p updateTopicParams) (topicEntity, error) {
	sent, err := s.picture(p.avatarParam)
	if err != nil {
		return topicEntity{}, err
	}
	t, err := s.Projects.UpdateTopic(ctx, as, p.ID, project.TopicChanges{Name: p.Name, Title: p.Title, Description: p.Description})
	if err != nil {
		return topicEntity{}, err
	}
	return s.topicPortrayed(ctx, as, t, sent)
}

// topicPortrayed returns a topic that was just made or changed the picture that came with it.
func (s *Server) topicPortrayed(ctx context.Context, as authz.Actor, t *project.Topic, p newPicture) (topicEntity, error) {
	if p.Set {
		changed, err := s.Avatars.SetTopic(ctx, as, t.ID, p.Picture)
		if err != nil {
			return topicEntity{}, err
		}
		t.Avatar = changed.Avatar
	}
	return s.topic(t), nil
}

func (s *Server) deleteTopic(ctx context.Context, as authz.Actor, p topicPath) (api.None, error) {
	return api.None{}, s.Projects.DeleteTopic(ctx, as, p.ID)
}

type mergeTopicsParams struct {
	Source project.TopicID `param:"source_topic_id,required" doc:"ID of the source topic"`
	Target project.TopicID `param:"target_topic_id,required" doc:"ID of the target topic"`
}

func (s *Server) mergeTopics(ctx context.Context, as authz.Actor, p mergeTopicsParams) (topicEntity, error) {
	t, err := s.Projects.MergeTopics(ctx, as, p.Source, p.Target)
	if err != nil {
		return topicEntity{}, err
	}
	return s.topic(t), nil
}
