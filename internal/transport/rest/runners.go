package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/runner"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("runners", (*Server).runnerRoutes)

func (s *Server) runnerRoutes() []*api.Route {
	manage := authz.ScopeManageRunner
	routes := []*api.Route{
		api.Get("/runners", s.listRunners).Doc("List the runners available to the caller").Needs(authz.ReadRunner).Scope(manage),
		api.Get("/runners/all", s.listAllRunners).Doc("List all runners").Needs(authz.ListAllRunners).Scope(manage),
		api.Get("/runners/:id", s.getRunner).Doc("Get a runner").Needs(authz.ReadRunner).Scope(manage),
		api.Put("/runners/:id", s.updateRunner).Timed().Doc("Update a runner").Needs(authz.UpdateRunner).Scope(manage),
		api.Delete("/runners/:id", s.deleteRunner).Timed().Doc("Delete a runner").Needs(authz.UpdateRunner).Scope(manage),
		api.Get("/runners/:id/managers", s.listRunnerManagers).Doc("List the managers of a runner").Needs(authz.ReadRunner).Scope(manage),
		api.Get("/runners/:id/projects", s.listRunnerProjects).Doc("List the projects of a runner").Needs(authz.ReadRunner).Scope(manage),
		api.Get("/runners/:id/jobs", s.listRunnerJobs).Doc("List the jobs of a runner").Needs(authz.UpdateRunner).Scope(manage),
		api.Post("/runners/:id/reset_authentication_token", s.resetRunnerToken).Doc("Reset the authentication token of a runner").
			Needs(authz.UpdateRunner).Scope(manage),
		api.Post("/runners/reset_registration_token", s.resetInstanceRegistration).Doc("Reset the runner registration token of the instance").
			Needs(authz.AdminInstanceRunners).Scope(manage),
	}
	routes = append(routes, s.onPlaces("runners", func(m mount) []*api.Route {
		out := []*api.Route{
			api.Get(m.path, m.listRunners).Doc("List the runners of a " + m.noun).Needs(m.ability(authz.ReadProjectRunners, authz.ReadGroupRunners)).Scope(manage),
		}
		if !m.group {
			out = append(out,
				api.Post(m.path, s.assignRunner).Doc("Assign a runner to a project").Needs(authz.AdminProjectRunners).Scope(manage),
				api.Delete(m.path+"/:runner_id", s.unassignRunner).Doc("Unassign a runner from a project").Needs(authz.AdminProjectRunners).Scope(manage),
			)
		}
		return append(out, api.Post(m.path+"/reset_registration_token", m.resetRegistration).Doc("Reset the runner registration token of a "+m.noun).
			Needs(m.ability(authz.RegisterProjectRunner, authz.RegisterGroupRunner)).Scope(manage))
	})...)
	return api.Scoped(nil, append(routes, api.Post("/user/runners", s.createRunner).Doc("Create a runner").
		Needs(authz.CreateRunner, authz.AdminInstanceRunners, authz.AdminGroupRunners, authz.AdminProjectRunners).Scope(authz.ScopeCreateRunner))...)
}

// runnerEntity is a runner as lists show it.
type runnerEntity struct {
	ID          runner.ID   `json:"id"`
	Description *string     `json:"description"`
	IPAddress   *string     `json:"ip_address"`
	Active      bool        `json:"active"`
	Paused      bool        `json:"paused"`
	IsShared    bool        `json:"is_shared"`
	Type        runner.Type `json:"runner_type"`
	Name        *string     `json:"name"`
	Online      *bool       `json:"online"`
	Status      string      `json:"status"`
}

type runnerDetails struct {
	runnerEntity
	TagList        []string          `json:"tag_list"`
	RunUntagged    bool              `json:"run_untagged"`
	Locked         bool              `json:"locked"`
	MaximumTimeout *int64            `json:"maximum_timeout"`
	AccessLevel    string            `json:"access_level"`
	Version        *string           `json:"version"`
	Revision       *string           `json:"revision"`
	Platform       *string           `json:"platform"`
	Architecture   *string           `json:"architecture"`
	ContactedAt    *api.Time         `json:"contacted_at"`
	*runnerNote                      // for those who may update the runner
	Projects       []projectIdentity `json:"projects"`
	Groups         []runnerGroup     `json:"groups"`
}

type runnerNote struct {
	Note *string `json:"maintenance_note"`
}

type runnerGroup struct {
	ID     authz.NamespaceID `json:"id"`
	WebURL string            `json:"web_url"`
	Name   string            `json:"name"`
}

func (s *Server) runnerOf(r *runner.Runner) runnerEntity {
	status := r.Status(s.Now())
	e := runnerEntity{
		ID: r.ID, Description: r.Description, IPAddress: r.IPAddress, Active: !r.Paused, Paused: r.Paused, IsShared: r.Type == runner.InstanceType,
		Type: r.Type, Name: r.Name, Status: string(status),
	}
	if r.ContactedAt != nil {
		online := status == runner.Online
		e.Online = &online
		if r.Paused && status != runner.Stale {
			e.Status = "paused"
		}
	}
	return e
}

func (s *Server) runnerDetails(ctx context.Context, as authz.Actor, r *runner.Runner) (runnerDetails, error) {
	v, err := s.Runners.View(ctx, as, r)
	if err != nil {
		return runnerDetails{}, err
	}
	e := runnerDetails{
		runnerEntity: s.runnerOf(r), TagList: r.Tags(), RunUntagged: r.RunUntagged, Locked: r.Locked, MaximumTimeout: r.MaximumTimeout,
		AccessLevel: r.AccessLevel(), Version: r.Version, Revision: r.Revision, Platform: r.Platform, Architecture: r.Architecture,
		ContactedAt: api.TimePtr(r.ContactedAt.Ptr()), Projects: []projectIdentity{}, Groups: []runnerGroup{},
	}
	if v.MayUpdate {
		e.runnerNote = &runnerNote{v.Note}
	}
	for _, p := range v.Projects {
		e.Projects = append(e.Projects, identityOf(p))
	}
	if v.Group != nil {
		e.Groups = append(e.Groups, runnerGroup{v.Group.ID, s.URLs.Group(v.Group.FullPath), v.Group.Name})
	}
	return e, nil
}

// runnerFilter is what lists of runners are selected by.
type runnerFilter struct {
	api.Page
	Scope   string      `param:"scope" doc:"Deprecated: use type, status or paused"`
	Type    string      `param:"type" values:"instance_type,group_type,project_type" doc:"Type of the runners"`
	Status  string      `param:"status" values:"active,paused,online,offline,never_contacted,stale" doc:"Status of the runners"`
	Paused  *bool       `param:"paused" doc:"Only runners that are paused, or that are not"`
	TagList api.Strings `param:"tag_list" doc:"Tags that the runners have all of"`
	Version string      `param:"version_prefix" doc:"Text that the versions of the runners begin with"`
}

func (p runnerFilter) filter() runner.Filter {
	return runner.Filter{
		Scope: p.Scope, Type: runner.Type(p.Type), Status: p.Status, Paused: p.Paused, Tags: p.TagList, Version: p.Version, Range: p.Range(),
	}
}

func (s *Server) listRunners(ctx context.Context, as authz.Actor, p runnerFilter) (api.List[runnerEntity], error) {
	list, err := s.Runners.List(ctx, as, p.filter())
	if err != nil {
		return api.List[runnerEntity]{}, err
	}
	return api.ListOf(list, s.runnerOf), nil
}

func (s *Server) listAllRunners(ctx context.Context, as authz.Actor, p runnerFilter) (api.List[runnerEntity], error) {
	list, err := s.Runners.ListAll(ctx, as, p.filter())
	if err != nil {
		return api.List[runnerEntity]{}, err
	}
	return api.ListOf(list, s.runnerOf), nil
}

type listPlaceRunnersParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	runnerFilter
}

func (m mount) listRunners(ctx context.Context, as authz.Actor, p listPlaceRunnersParams) (api.List[runnerEntity], error) {
	none := api.List[runnerEntity]{}
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := m.s.Runners.ListOf(ctx, as, at, p.filter())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, m.s.runnerOf), nil
}

type runnerPath struct {
	ID runner.ID `param:"id" doc:"ID of the runner"`
}

func (s *Server) getRunner(ctx context.Context, as authz.Actor, p runnerPath) (runnerDetails, error) {
	r, err := s.Runners.Find(ctx, as, p.ID)
	if err != nil {
		return runnerDetails{}, err
	}
	return s.runnerDetails(ctx, as, r)
}

// runnerAttributes are what is set of a runner.
type runnerAttributes struct {
	Description    *string        `param:"description" doc:"Description of the runner"`
	Paused         *bool          `param:"paused" doc:"Whether the runner takes no jobs"`
	TagList        api.Strings    `param:"tag_list" doc:"Tags of the runner, at most 50"`
	RunUntagged    *bool          `param:"run_untagged" doc:"Whether the runner takes jobs without tags"`
	Locked         *bool          `param:"locked" doc:"Whether the runner is assigned to no further project"`
	AccessLevel    *string        `param:"access_level" values:"not_protected,ref_protected" doc:"Whether the runner takes jobs of protected refs only"`
	MaximumTimeout api.Opt[int64] `param:"maximum_timeout" doc:"Maximum time in seconds that jobs run, at least 600"`
	Note           *string        `param:"maintenance_note" doc:"Note for those who administrate the runner"`
	MaintainerNote *string        `param:"maintainer_note" doc:"Deprecated: use maintenance_note"`
	_              struct{}       `exclusive:"maintainer_note,maintenance_note"`
}

func (p runnerAttributes) changes() runner.Changes {
	c := runner.Changes{
		Description: p.Description, Paused: p.Paused, RunUntagged: p.RunUntagged, Locked: p.Locked, MaintenanceNote: p.Note,
	}
	if p.MaintainerNote != nil {
		c.MaintenanceNote = p.MaintainerNote
	}
	if p.TagList != nil {
		tags := []string(p.TagList)
		c.Tags = &tags
	}
	if p.AccessLevel != nil {
		protected := *p.AccessLevel == runner.RefProtected
		c.Protected = &protected
	}
	if p.MaximumTimeout.Set {
		c.Timeout = &runner.Timeout{Seconds: p.MaximumTimeout.Ptr()}
	}
	return c
}

type updateRunnerParams struct {
	runnerAttributes
	Active *bool    `param:"active" doc:"Deprecated: use paused"`
	_      struct{} `exclusive:"active,paused"`
	_      struct{} `atleastone:"description,active,paused,tag_list,run_untagged,locked,access_level,maximum_timeout,maintenance_note,maintainer_note"`

	ID runner.ID `param:"id" doc:"ID of the runner"`
}

// activeAs sets Paused by its former name.
func activeAs(c *runner.Changes, active *bool) {
	if active != nil {
		paused := !*active
		c.Paused = &paused
	}
}

func (s *Server) updateRunner(ctx context.Context, as authz.Actor, p updateRunnerParams) (runnerDetails, error) {
	c := p.changes()
	activeAs(&c, p.Active)
	r, err := s.Runners.Update(ctx, as, p.ID, c)
	if err != nil {
		return runnerDetails{}, err
	}
	return s.runnerDetails(ctx, as, r)
}

func (s *Server) deleteRunner(ctx context.Context, as authz.Actor, p runnerPath) (api.None, error) {
	return api.None{}, s.Runners.Delete(ctx, as, p.ID)
}

type managerEntity struct {
	ID           runner.ManagerID `json:"id"`
	SystemID     string           `json:"system_id"`
	Version      *string          `json:"version"`
	Revision     *string          `json:"revision"`
	Platform     *string          `json:"platform"`
	Architecture *string          `json:"architecture"`
	CreatedAt    api.Time         `json:"created_at"`
	ContactedAt  api.Time         `json:"contacted_at"`
	IPAddress    *string          `json:"ip_address"`
	Status       runner.Status    `json:"status"`
}

type runnerPartsParams struct {
	runnerPath
	api.Page
}

func (s *Server) listRunnerManagers(ctx context.Context, as authz.Actor, p runnerPartsParams) (api.List[managerEntity], error) {
	list, err := s.Runners.Managers(ctx, as, p.ID, p.Range())
	if err != nil {
		return api.List[managerEntity]{}, err
	}
	return api.ListOf(list, func(m *runner.Manager) managerEntity {
		return managerEntity{
			ID: m.ID, SystemID: m.SystemID, Version: m.Version, Revision: m.Revision, Platform: m.Platform, Architecture: m.Architecture,
			CreatedAt: api.Time(m.CreatedAt.Time), ContactedAt: api.Time(m.ContactedAt.Time), IPAddress: m.IPAddress, Status: m.Status(s.Now()),
		}
	}), nil
}

func (s *Server) listRunnerProjects(ctx context.Context, as authz.Actor, p runnerPartsParams) (api.List[projectIdentity], error) {
	list, err := s.Runners.Projects(ctx, as, p.ID, p.Range())
	if err != nil {
		return api.List[projectIdentity]{}, err
	}
	items := make([]projectIdentity, len(list.Items))
	for i, of := range list.Items {
		items[i] = identityOf(of)
	}
	return api.Listed(list, items), nil
}

type projectRunnerParams struct {
	ID       string    `param:"id" doc:"ID or URL-encoded path"`
	RunnerID runner.ID `param:"runner_id,required" doc:"ID of the runner"`
}

func (s *Server) assignRunner(ctx context.Context, as authz.Actor, p projectRunnerParams) (runnerEntity, error) {
	to, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return runnerEntity{}, err
	}
	r, err := s.Runners.Assign(ctx, as, to, p.RunnerID)
	if err != nil {
		return runnerEntity{}, err
	}
	return s.runnerOf(r), nil
}

func (s *Server) unassignRunner(ctx context.Context, as authz.Actor, p projectRunnerParams) (api.None, error) {
	from, err := s.Projects.Find(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Runners.Unassign(ctx, as, from, p.RunnerID)
}

// runnerTokenEntity is a new authentication token.
type runnerTokenEntity struct {
	Token     string    `json:"token"`
	ExpiresAt *api.Time `json:"token_expires_at"`
}

// runnerCredentials is a runner with its authentication token.
type runnerCredentials struct {
	ID runner.ID `json:"id"`
	runnerTokenEntity
}

func tokenOf(r *runner.Runner, token string) runnerTokenEntity {
	return runnerTokenEntity{token, api.TimePtr(r.TokenExpiresAt.Ptr())}
}

func (s *Server) resetRunnerToken(ctx context.Context, as authz.Actor, p runnerPath) (runnerTokenEntity, error) {
	r, token, err := s.Runners.ResetToken(ctx, as, p.ID)
	if err != nil {
		return runnerTokenEntity{}, err
	}
	return tokenOf(r, token), nil
}

// registrationEntity is a new registration token.
type registrationEntity struct {
	Token string `json:"token"`
}

func (s *Server) resetInstanceRegistration(ctx context.Context, as authz.Actor, _ struct{}) (registrationEntity, error) {
	token, err := s.Runners.ResetRegistration(ctx, as, authz.Place{})
	return registrationEntity{token}, err
}

type registrationPath struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
}

func (m mount) resetRegistration(ctx context.Context, as authz.Actor, p registrationPath) (registrationEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return registrationEntity{}, err
	}
	token, err := m.s.Runners.ResetRegistration(ctx, as, at)
	return registrationEntity{token}, err
}

type createRunnerParams struct {
	Type    string   `param:"runner_type,required" values:"instance_type,group_type,project_type" doc:"Type of the runner"`
	Group   *int64   `param:"group_id" doc:"ID of the group of a group runner"`
	Project *int64   `param:"project_id" doc:"ID of the project of a project runner"`
	_       struct{} `exclusive:"group_id,project_id"`
	runnerAttributes
}

// missing names the parameter that the type of the runner needs beside it, "" for none.
func (p createRunnerParams) missing() string {
	switch {
	case p.Type == string(runner.GroupType) && p.Group == nil:
		return "group_id"
	case p.Type == string(runner.ProjectType) && p.Project == nil:
		return "project_id"
	}
	return ""
}

func (s *Server) createRunner(ctx context.Context, as authz.Actor, p createRunnerParams) (runnerCredentials, error) {
	if name := p.missing(); name != "" {
		return runnerCredentials{}, &api.Refusal{Status: http.StatusBadRequest, Text: name + " is missing"}
	}
	in := runner.Input{Type: runner.Type(p.Type), Changes: p.changes()}
	if p.Group != nil {
		in.GroupID = authz.NamespaceID(*p.Group)
	}
	if p.Project != nil {
		in.ProjectID = *p.Project
	}
	r, token, err := s.Runners.Create(ctx, as, in)
	if err != nil {
		return runnerCredentials{}, err
	}
	return runnerCredentials{r.ID, tokenOf(r, token)}, nil
}
