package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"tenon/internal/base/errs"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/trigger"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("triggers", (*Server).triggerRoutes)

func (s *Server) triggerRoutes() []*api.Route {
	const path = "/projects/:id/triggers"
	return api.Scoped(nil,
		api.Get(path, s.listTriggers).Doc("List the pipeline trigger tokens of a project").Needs(authz.ReadTriggers),
		api.Post(path, s.createTrigger).Doc("Create a pipeline trigger token").Needs(authz.AdminTriggers),
		api.Get(path+"/:trigger_id", s.getTrigger).Doc("Get a pipeline trigger token").Needs(authz.ReadTriggers),
		api.Put(path+"/:trigger_id", s.updateTrigger).Timed().Doc("Update a pipeline trigger token").Needs(authz.AdminTriggers),
		api.Delete(path+"/:trigger_id", s.deleteTrigger).Timed().Doc("Delete a pipeline trigger token").Needs(authz.AdminTriggers),
		api.Post("/projects/:id/trigger/pipeline", s.triggerPipeline).Doc("Create a pipeline with a trigger token").Public(),
		api.Post("/projects/:id/ref/:ref/trigger/pipeline", s.triggerPipelineOf).Doc("Create a pipeline of a branch or tag with a trigger token").Public(),
	)
}

type triggerEntity struct {
	ID          trigger.ID `json:"id"`
	Token       string     `json:"token"` // whole for the owner, its first characters for others
	Description string     `json:"description"`
	CreatedAt   api.Time   `json:"created_at"`
	UpdatedAt   api.Time   `json:"updated_at"`
	LastUsed    *api.Time  `json:"last_used"`
	ExpiresAt   *api.Time  `json:"expires_at"`
	Owner       *userBasic `json:"owner"`
}

func (s *Server) triggersOf(ctx context.Context, list []trigger.Trigger) ([]triggerEntity, error) {
	ids := make([]authz.UserID, len(list))
	for i := range list {
		ids[i] = list[i].OwnerID
	}
	var users map[authz.UserID]*account.Summary
	users, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]triggerEntity, len(list))
	for i := range list {
		t := &list[i]
		out[i] = triggerEntity{
			ID: t.ID, Token: t.Token, Description: t.Description, CreatedAt: api.Time(t.CreatedAt.Time), UpdatedAt: api.Time(t.UpdatedAt.Time),
			LastUsed: api.TimePtr(t.LastUsedAt.Ptr()), ExpiresAt: api.TimePtr(t.ExpiresAt.Ptr()), Owner: s.user(users[t.OwnerID]),
		}
	}
	return out, nil
}

func (s *Server) triggerOf(ctx context.Context, t *trigger.Trigger, err error) (triggerEntity, error) {
	if err != nil {
		return triggerEntity{}, err
	}
	list, err := s.triggersOf(ctx, []trigger.Trigger{*t})
	if err != nil {
		return triggerEntity{}, err
	}
	return list[0], nil
}

type listTriggersParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
}

func (s *Server) listTriggers(ctx context.Context, as authz.Actor, p listTriggersParams) (api.List[triggerEntity], error) {
	none := api.List[triggerEntity]{}
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Triggers.List(ctx, as, of, p.Range())
	if err != nil {
		return none, err
	}
	items, err := s.triggersOf(ctx, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

type createTriggerParams struct {
	ID          string     `param:"id" doc:"ID or URL-encoded path"`
	Description string     `param:"description,required" doc:"Description of the trigger token"`
	ExpiresAt   *time.Time `param:"expires_at" doc:"Expiry time; unset never expires"`
}

func (s *Server) createTrigger(ctx context.Context, as authz.Actor, p createTriggerParams) (triggerEntity, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return triggerEntity{}, err
	}
	t, err := s.Triggers.Create(ctx, as, of, trigger.Input{Description: p.Description, ExpiresAt: p.ExpiresAt})
	return s.triggerOf(ctx, t, err)
}

type triggerPath struct {
	ID        string     `param:"id" doc:"ID or URL-encoded path"`
	TriggerID trigger.ID `param:"trigger_id" doc:"ID of the trigger token"`
}

func (s *Server) getTrigger(ctx context.Context, as authz.Actor, p triggerPath) (triggerEntity, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return triggerEntity{}, err
	}
	t, err := s.Triggers.Find(ctx, as, of, p.TriggerID)
	return s.triggerOf(ctx, t, err)
}

type updateTriggerParams struct {
	triggerPath
	Description *string `param:"description" doc:"Description of the trigger token"`
}

func (s *Server) updateTrigger(ctx context.Context, as authz.Actor, p updateTriggerParams) (triggerEntity, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return triggerEntity{}, err
	}
	t, err := s.Triggers.Update(ctx, as, of, p.TriggerID, p.Description)
	return s.triggerOf(ctx, t, err)
}

func (s *Server) deleteTrigger(ctx context.Context, as authz.Actor, p triggerPath) (api.None, error) {
	of, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Triggers.Delete(ctx, as, of, p.TriggerID)
}

// triggered says which pipeline a token starts. No other credential counts.
type triggered struct {
	ID        string         `param:"id" doc:"ID or URL-encoded path"`
	Token     string         `param:"token,required" doc:"Trigger token, or token of a job that runs"`
	Variables map[string]any `param:"variables" doc:"Variables of the pipeline, by key"`
	All       api.Sent
}

type triggerPipelineParams struct {
	triggered
	Ref string `param:"ref,required,nonempty" doc:"Branch or tag to run the pipeline for"`
}

func (s *Server) triggerPipeline(ctx context.Context, as authz.Actor, in triggerPipelineParams) (*pipelineFull, error) {
	return s.trigger(ctx, as, in.triggered, in.Ref)
}

type triggerPipelineOfParams struct {
	triggered
	Ref string `param:"ref,free" doc:"Branch or tag to run the pipeline for"`
}

func (s *Server) triggerPipelineOf(ctx context.Context, as authz.Actor, in triggerPipelineOfParams) (*pipelineFull, error) {
	return s.trigger(ctx, as, in.triggered, in.Ref)
}

func (s *Server) trigger(ctx context.Context, as authz.Actor, in triggered, ref string) (*pipelineFull, error) {
	run := ci.TriggerInput{Project: in.ID, Token: in.Token, Ref: ref, Address: as.Address}
	for _, key := range slices.Sorted(maps.Keys(in.Variables)) {
		value, ok := in.Variables[key].(string)
		if !ok {
			return nil, errs.Plain("variables needs to be a map of key-valued strings")
		}
		run.Variables = append(run.Variables, ci.Variable{Key: key, Value: value})
	}
	delete(in.All, "token")
	payload, err := json.Marshal(in.All)
	if err != nil {
		return nil, fmt.Errorf("payload of trigger: %w", err)
	}
	run.Payload = string(payload)
	of, p, err := s.CI.Trigger(ctx, run)
	return s.shown(ctx, p, of, err)
}
