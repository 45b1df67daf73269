package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/webhook"
	"tenon/internal/transport/rest/api"
)

// hookEventEntity is a call of a hook that was made.
type hookEventEntity struct {
	ID                webhook.AttemptID `json:"id"`
	URL               string            `json:"url"`
	Trigger           string            `json:"trigger"`
	RequestHeaders    map[string]string `json:"request_headers"`
	RequestData       json.RawMessage   `json:"request_data"`
	ResponseHeaders   map[string]string `json:"response_headers"`
	ResponseBody      string            `json:"response_body"`
	ExecutionDuration float64           `json:"execution_duration" doc:"Seconds"`
	ResponseStatus    string            `json:"response_status" doc:"Status code, or internal error where there was no answer"`
	CreatedAt         api.Time          `json:"created_at"`
}

func newHookEvent(a *webhook.Attempt) hookEventEntity {
	out := hookEventEntity{
		ID: a.ID, URL: a.URL, Trigger: a.Trigger, RequestHeaders: a.RequestHeaders, RequestData: a.RequestData, ResponseHeaders: a.ResponseHeaders,
		ResponseBody: a.ResponseBody, ExecutionDuration: a.Duration.Seconds(), ResponseStatus: "internal error",
		CreatedAt: api.Time(a.CreatedAt),
	}
	if a.Status != 0 {
		out.ResponseStatus = strconv.Itoa(a.Status)
	}
	if out.ResponseHeaders == nil {
		out.ResponseHeaders = map[string]string{}
	}
	return out
}

// hookEventsPage is a part of the calls of a hook, of at most 20.
type hookEventsPage struct {
	api.Page
	Status api.Strings `param:"status" values:"100,101,102,103,200,201,202,203,204,205,206,207,208,226,300,301,302,303,304,305,306,307,308,400,401,402,403,404,405,406,407,408,409,410,411,412,413,414,415,416,417,421,422,423,424,425,426,428,429,431,451,500,501,502,503,504,505,506,507,508,509,510,511,successful,client_failure,server_failure" doc:"Status codes, successful, client_failure or server_failure"`
}

// maxHookEvents is how many calls of a hook are listed at a time.
const maxHookEvents = 20

func (p hookEventsPage) filter() (webhook.AttemptFilter, error) {
	f := webhook.AttemptFilter{Statuses: p.Status, Range: p.Range()}
	if f.Limit > maxHookEvents {
		return f, api.BadParam("per_page does not have a valid value")
	}
	return f, nil
}

type (
	listHookEventsParams struct {
		hookPath
		hookEventsPage
	}

	listSystemHookEventsParams struct {
		systemHookPath
		hookEventsPage
	}

	hookEventPath struct {
		hookPath
		LogID webhook.AttemptID `param:"hook_log_id" doc:"ID of the event"`
	}

	systemHookEventPath struct {
		systemHookPath
		LogID webhook.AttemptID `param:"hook_log_id" doc:"ID of the event"`
	}

	eventsRef interface {
		hookRef
		filter() (webhook.AttemptFilter, error)
	}

	eventRef interface {
		hookRef
		event() webhook.AttemptID
	}
)

func (p hookEventPath) event() webhook.AttemptID       { return p.LogID }
func (p systemHookEventPath) event() webhook.AttemptID { return p.LogID }

// resentEntity is the answer to an event that was sent again.
type resentEntity struct {
	ResponseStatus int `json:"response_status"`
}

// hookEventRoutes are the endpoints of calls that were made.
func hookEventRoutes[L eventsRef, E eventRef](h hookHandlers, path, of string, read, admin authz.Ability) []*api.Route {
	events := path + "/:hook_id/events"
	return []*api.Route{
		api.Get(events, func(ctx context.Context, as authz.Actor, p L) (api.List[hookEventEntity], error) {
			none := api.List[hookEventEntity]{}
			f, err := p.filter()
			if err != nil {
				return none, err
			}
			at, err := h.at(ctx, as, p.place())
			if err != nil {
				return none, err
			}
			list, err := h.hooks.Attempts(ctx, as, at, p.hook(), f)
			if err != nil {
				return none, err
			}
			return api.ListOf(list, newHookEvent), nil
		}).Doc("List the events of a hook of " + of + " of the last 7 days").Needs(read),
		api.Get(events+"/:hook_log_id", func(ctx context.Context, as authz.Actor, p E) (hookEventEntity, error) {
			at, err := h.at(ctx, as, p.place())
			if err != nil {
				return hookEventEntity{}, err
			}
			a, err := h.hooks.Attempt(ctx, as, at, p.hook(), p.event())
			if err != nil {
				return hookEventEntity{}, err
			}
			return newHookEvent(a), nil
		}).Doc("Get an event of a hook of " + of).Needs(read),
		api.Post(events+"/:hook_log_id/resend", func(ctx context.Context, as authz.Actor, p E) (resentEntity, error) {
			at, err := h.at(ctx, as, p.place())
			if err != nil {
				return resentEntity{}, err
			}
			status, err := h.hooks.Resend(ctx, as, at, p.hook(), p.event())
			return resentEntity{status}, err
		}).Doc("Resend an event of a hook of " + of).Needs(admin),
	}
}

// The tests of hooks of projects and groups, whose triggers are the names of their events.
type (
	testProjectHookParams struct {
		hookPath
		Trigger payload.Trigger `param:"trigger" values:"confidential_issues_events,confidential_note_events,deployment_events,emoji_events,feature_flag_events,issues_events,job_events,merge_requests_events,milestone_events,note_events,pipeline_events,push_events,releases_events,resource_access_token_events,tag_push_events,wiki_page_events,vulnerability_events" doc:"Event that is sent"`
	}

	testGroupHookParams struct {
		hookPath
		Trigger payload.Trigger `param:"trigger" values:"confidential_issues_events,confidential_note_events,deployment_events,emoji_events,feature_flag_events,issues_events,job_events,member_events,merge_requests_events,milestone_events,note_events,pipeline_events,project_events,push_events,releases_events,resource_access_token_events,subgroup_events,tag_push_events,wiki_page_events,vulnerability_events" doc:"Event that is sent"`
	}
)

func (h hookHandlers) testProjectHook(ctx context.Context, as authz.Actor, p testProjectHookParams) (messageEntity, error) {
	return h.test(ctx, as, p.hookPath, p.Trigger)
}

func (h hookHandlers) testGroupHook(ctx context.Context, as authz.Actor, p testGroupHookParams) (messageEntity, error) {
	return h.test(ctx, as, p.hookPath, p.Trigger)
}

func (h hookHandlers) test(ctx context.Context, as authz.Actor, p hookPath, trigger payload.Trigger) (messageEntity, error) {
	at, err := h.at(ctx, as, p.place())
	if err != nil {
		return messageEntity{}, err
	}
	if _, err := h.hooks.Test(ctx, as, at, p.hook(), trigger); err != nil {
		return messageEntity{}, err
	}
	return messageEntity{"201 Created"}, nil
}

// systemHookSample is what the test of a hook of the instance sends.
type systemHookSample struct {
	EventName  string `json:"event_name"`
	Name       string `json:"name"`
	Path       string `json:"path"`
	ProjectID  int64  `json:"project_id"`
	OwnerName  string `json:"owner_name"`
	OwnerEmail string `json:"owner_email"`
}

// testSystemHook calls a hook of the instance.
func (h hookHandlers) testSystemHook(ctx context.Context, as authz.Actor, p systemHookPath) (systemHookSample, error) {
	var out systemHookSample
	sent, err := h.hooks.Probe(ctx, as, p.HookID)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(sent, &out); err != nil {
		return out, fmt.Errorf("read sample of system hook: %w", err)
	}
	return out, nil
}
