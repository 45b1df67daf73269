package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/integration"
	"tenon/internal/core/integration/kind"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("integrations", (*Server).integrationRoutes)

// integrationRoutes has an endpoint for each kind that sets up an integration, because each takes other settings.
func (s *Server) integrationRoutes() []*api.Route {
	const all, old = "/projects/:id/integrations", "/projects/:id/services"
	routes := s.onPlanningPlaces("integrations", func(m mount) []*api.Route {
		h := integrationHandlers{s.Integrations, m.place}
		out := []*api.Route{
			api.Get(m.path, h.list).Doc("List the active integrations of a " + m.noun).Needs(authz.ReadIntegrations),
			api.Get(m.path+"/:slug", h.get).Without(http.MethodPut).Doc("Get an integration of a " + m.noun).Needs(authz.ReadIntegrations),
			api.Delete(m.path+"/:slug", h.disable).Timed().Doc("Disable an integration of a " + m.noun).Needs(authz.AdminIntegrations),
		}
		for _, k := range kind.All() {
			set := func(ctx context.Context, as authz.Actor, p setIntegrationParams) (integrationEntity, error) {
				return h.set(ctx, as, k, p)
			}
			out = append(out, api.Put(m.path+"/"+k.Slug, set).Takes(settingsShapeOf(k)).Timed().
				Doc("Set up the integration "+k.Title+" for a "+m.noun).Needs(authz.AdminIntegrations))
		}
		if !m.group {
			for _, r := range out {
				r.Alias(old + strings.TrimPrefix(r.Info().Path, all))
			}
		}
		return out
	})
	for _, chat := range []string{"slack", "mattermost"} {
		path := "/" + chat + "_slash_commands/trigger"
		routes = append(routes, api.Post(all+path, s.slashCommand).Alias(old+path).Public().Doc("Take a slash command; there is no integration that takes any yet"))
	}
	return api.Scoped(nil, routes...)
}

// integrationItemEntity is an integration in a list.
type integrationItemEntity struct {
	ID        integration.ID `json:"id"`
	Title     string         `json:"title"`
	Slug      string         `json:"slug"`
	CreatedAt api.Time       `json:"created_at"`
	UpdatedAt api.Time       `json:"updated_at"`
	Active    bool           `json:"active"`

	CommitEvents             bool `json:"commit_events"`
	PushEvents               bool `json:"push_events"`
	IssuesEvents             bool `json:"issues_events"`
	IncidentEvents           bool `json:"incident_events"`
	AlertEvents              bool `json:"alert_events"`
	ConfidentialIssuesEvents bool `json:"confidential_issues_events"`
	MergeRequestsEvents      bool `json:"merge_requests_events"`
	TagPushEvents            bool `json:"tag_push_events"`
	DeploymentEvents         bool `json:"deployment_events"`
	NoteEvents               bool `json:"note_events"`
	ConfidentialNoteEvents   bool `json:"confidential_note_events"`
	PipelineEvents           bool `json:"pipeline_events"`
	WikiPageEvents           bool `json:"wiki_page_events"`
	JobEvents                bool `json:"job_events"`
	CommentOnEventEnabled    bool `json:"comment_on_event_enabled"`
	Inherited                bool `json:"inherited"`
	VulnerabilityEvents      bool `json:"vulnerability_events"`
}

// integrationEntity is an integration with its settings.
type integrationEntity struct {
	integrationItemEntity
	Properties integrationProperties `json:"properties" doc:"Settings without secrets; NAME_set says whether the secret NAME is there"`
}

func newIntegrationItem(i *integration.Integration) integrationItemEntity {
	f := i.Flags
	return integrationItemEntity{
		ID: i.ID, Title: i.Kind.Title, Slug: i.Slug, CreatedAt: api.Time(i.CreatedAt.Time), UpdatedAt: api.Time(i.UpdatedAt.Time), Active: i.Active,
		CommitEvents: f.Commit, PushEvents: f.Push, IssuesEvents: f.Issues, IncidentEvents: f.Incident, AlertEvents: f.Alert,
		ConfidentialIssuesEvents: f.ConfidentialIssue, MergeRequestsEvents: f.MergeRequests, TagPushEvents: f.TagPush, DeploymentEvents: f.Deployment,
		NoteEvents: f.Note, ConfidentialNoteEvents: f.ConfidentialNote, PipelineEvents: f.Pipeline, WikiPageEvents: f.WikiPage, JobEvents: f.Job,
		CommentOnEventEnabled: f.CommentOnEvent, Inherited: i.InheritedID != nil, VulnerabilityEvents: f.Vulnerability,
	}
}

// integrationProperties are the settings of an integration but for those that are sealed, in the order of its kind.
type integrationProperties struct{ of *integration.Integration }

// MarshalJSON writes null for a setting without a value.
func (p integrationProperties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	next := byte('{')
	add := func(name string, value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode %s of integration: %w", name, err)
		}
		b.WriteByte(next)
		next = ','
		fmt.Fprintf(&b, "%q:%s", name, text)
		return nil
	}
	for i := range p.of.Kind.Settings {
		s := &p.of.Kind.Settings[i]
		var err error
		switch {
		case s.Legacy, s.Hidden:
		case s.Secret:
			err = add(s.Name+"_set", p.of.Secrets[s.Name])
		default:
			err = add(s.Name, p.of.Settings[s.Name])
		}
		if err != nil {
			return nil, err
		}
	}
	if next == '{' {
		return []byte("{}"), nil
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Shape is for the documentation.
func (integrationProperties) Shape() reflect.Type { return reflect.TypeFor[map[string]any]() }

// integrationSlug names a kind.
type integrationSlug string

// Values are the slugs of all kinds.
func (integrationSlug) Values() []string {
	var out []string
	for _, k := range kind.All() {
		out = append(out, k.Slug)
	}
	return out
}

type integrationPath struct {
	placePath
	Slug integrationSlug `param:"slug" doc:"Kind of the integration"`
}

type integrationHandlers struct {
	integrations *integration.Service
	at           placeFinder
}

func (h integrationHandlers) list(ctx context.Context, as authz.Actor, in placePath) ([]integrationItemEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := h.integrations.List(ctx, as, at)
	if err != nil {
		return nil, err
	}
	out := make([]integrationItemEntity, len(list))
	for i, found := range list {
		out[i] = newIntegrationItem(found)
	}
	return out, nil
}

func (h integrationHandlers) get(ctx context.Context, as authz.Actor, in integrationPath) (integrationEntity, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return integrationEntity{}, err
	}
	found, err := h.integrations.Find(ctx, as, at, string(in.Slug))
	if err != nil {
		return integrationEntity{}, err
	}
	return integrationEntity{newIntegrationItem(found), integrationProperties{found}}, nil
}

// inheritParam asks for the settings of a group above.
const inheritParam = "use_inherited_settings"

// setIntegrationParams are the settings and flags that a request sends.
type setIntegrationParams struct {
	id    string
	input integration.Input
}

// Declare returns what all kinds take; settingsShapeOf adds what one takes.
func (*setIntegrationParams) Declare() reflect.Type { return reflect.TypeFor[placePath]() }

type slashCommandParams struct {
	projectPath
	Token string `param:"token,required" doc:"Token of the integration"`
}

// slashCommand answers as where the project has no such integration: none takes commands yet.
func (s *Server) slashCommand(context.Context, authz.Actor, slashCommandParams) (api.None, error) {
	return api.None{}, errs.Missing("Integration")
}

// settingsShapeOf declares a parameter for each setting and each flag of a kind.
func settingsShapeOf(k *kind.Kind) reflect.Type {
	fields := []reflect.StructField{{Name: "F0", Type: reflect.TypeFor[string](), Tag: `param:"id" doc:"ID or URL-encoded path of the {place}"`}}
	add := func(t reflect.Type, tag string) {
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", len(fields)), Type: t, Tag: reflect.StructTag(tag)})
	}
	for _, s := range k.Settings {
		name := s.Name
		if s.Required {
			name += ",required"
		}
		tag := fmt.Sprintf("param:%q doc:%q", name, s.Doc)
		for _, alias := range s.Aliases {
			tag += fmt.Sprintf(" alias:%q", alias)
		}
		add(sentSetting(s.Type), tag)
	}
	for _, flag := range k.Events {
		add(reflect.TypeFor[*bool](), fmt.Sprintf("param:%q doc:%q", flag, "Enable notifications for "+flag))
	}
	add(reflect.TypeFor[*bool](), `param:"`+inheritParam+`" doc:"Have the settings of the nearest group above that has this integration, in place of those sent"`)
	return reflect.StructOf(fields)
}

func sentSetting(t kind.Type) reflect.Type {
	switch t {
	case kind.Bool:
		return reflect.TypeFor[api.Opt[bool]]()
	case kind.Int:
		return reflect.TypeFor[api.Opt[int64]]()
	case kind.Texts:
		return reflect.TypeFor[api.Strings]()
	}
	return reflect.TypeFor[api.Opt[string]]()
}

// Take keeps what was sent.
func (p *setIntegrationParams) Take(v reflect.Value) {
	p.id = v.Field(0).String()
	p.input = integration.Input{Settings: kind.Values{}, Flags: map[string]bool{}}
	for i := 1; i < v.NumField(); i++ {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("param"), ",")
		if flag, ok := v.Field(i).Interface().(*bool); ok {
			if name == inheritParam {
				p.input.Inherit = flag != nil && *flag
			} else if flag != nil {
				p.input.Flags[name] = *flag
			}
			continue
		}
		if value, sent := sentValue(v.Field(i)); sent {
			p.input.Settings[name] = value
		}
	}
}

func (h integrationHandlers) set(ctx context.Context, as authz.Actor, k *kind.Kind, in setIntegrationParams) (integrationEntity, error) {
	at, err := h.at(ctx, as, in.id)
	if err != nil {
		return integrationEntity{}, err
	}
	set, err := h.integrations.Set(ctx, as, at, k.Slug, in.input)
	if err != nil {
		return integrationEntity{}, err
	}
	return integrationEntity{newIntegrationItem(set), integrationProperties{set}}, nil
}

func (h integrationHandlers) disable(ctx context.Context, as authz.Actor, in integrationPath) (api.None, error) {
	at, err := h.at(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.integrations.Disable(ctx, as, at, string(in.Slug))
}
