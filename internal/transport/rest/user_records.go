package rest

import (
	"context"
	"time"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

// userRecordRoutes are those that tell what a user likes, does and belongs to.
func (s *Server) userRecordRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/user/preferences", s.getPreferences).Doc("Get the preferences of the current user").Needs(authz.ReadOwnUser),
		api.Get("/user/activities", s.listActivities).Doc("List the last activity of users").Needs(authz.ReadActivities),
		api.Get("/users/:id/associations_count", s.countAssociations).Doc("Get the association counts of a user").
			Needs(authz.CountOfUser),
		api.Get("/users/:id/memberships", s.listMemberships).Doc("List the memberships of a user").
			Needs(authz.ReadMemberships),
		api.Put("/user/preferences", s.putPreferences).Timed().Doc("Update the preferences of the current user").Needs(authz.UpdateOwnUser),
	)
}

type preferencesEntity struct {
	ID             authz.UserID `json:"id"`
	UserID         authz.UserID `json:"user_id"`
	FileByFile     bool         `json:"view_diffs_file_by_file"`
	ShowWhitespace bool         `json:"show_whitespace_in_diffs"`
	PassIdentities bool         `json:"pass_user_identities_to_ci_jwt"`
}

func preferencesOf(u *account.User) preferencesEntity {
	return preferencesEntity{
		ID: u.ID, UserID: u.ID, FileByFile: u.FileByFile, ShowWhitespace: u.ShowWhitespace, PassIdentities: u.PassIdentities,
	}
}

func (s *Server) getPreferences(ctx context.Context, as authz.Actor, _ struct{}) (preferencesEntity, error) {
	u, err := s.Accounts.Current(ctx, as)
	if err != nil {
		return preferencesEntity{}, err
	}
	return preferencesOf(u), nil
}

type putPreferencesParams struct {
	FileByFile     *bool    `param:"view_diffs_file_by_file" doc:"Show one file at a time in diffs"`
	ShowWhitespace *bool    `param:"show_whitespace_in_diffs" doc:"Show whitespace changes in diffs"`
	PassIdentities *bool    `param:"pass_user_identities_to_ci_jwt" doc:"Include user identities in CI/CD ID tokens"`
	_              struct{} `atleastone:"view_diffs_file_by_file,show_whitespace_in_diffs,pass_user_identities_to_ci_jwt"`
}

func (s *Server) putPreferences(ctx context.Context, as authz.Actor, p putPreferencesParams) (preferencesEntity, error) {
	u, err := s.Accounts.Prefer(ctx, as, account.Preferences{
		FileByFile: p.FileByFile, ShowWhitespace: p.ShowWhitespace, PassIdentities: p.PassIdentities,
	})
	if err != nil {
		return preferencesEntity{}, err
	}
	return preferencesOf(u), nil
}

type activityEntity struct {
	Username       string   `json:"username"`
	LastActivityOn api.Date `json:"last_activity_on"`
	LastActivityAt api.Date `json:"last_activity_at"` // its old name
}

type listActivitiesParams struct {
	api.Page
	From *time.Time `param:"from" doc:"Return users active since this date, YYYY-MM-DD; defaults to six months ago"`
}

func (s *Server) listActivities(ctx context.Context, as authz.Actor, p listActivitiesParams) (api.List[activityEntity], error) {
	from := s.Now().UTC().AddDate(0, -6, 0)
	if p.From != nil {
		from = *p.From
	}
	list, err := s.Accounts.Activities(ctx, as, from.UTC().Format(time.DateOnly), p.Range())
	if err != nil {
		return api.List[activityEntity]{}, err
	}
	return api.ListOf(list, func(a *account.Activity) activityEntity {
		return activityEntity{a.Username, api.Date(a.Day), api.Date(a.Day)}
	}), nil
}

type associationsEntity struct {
	Groups        int `json:"groups_count"`
	Projects      int `json:"projects_count"`
	Issues        int `json:"issues_count"`
	MergeRequests int `json:"merge_requests_count"`
}

func (s *Server) countAssociations(ctx context.Context, as authz.Actor, p userPath) (associationsEntity, error) {
	id, err := p.id()
	if err != nil {
		return associationsEntity{}, err
	}
	a, err := s.Accounts.CountAssociations(ctx, as, id)
	return associationsEntity(a), err
}

type membershipEntity struct {
	SourceID    int64       `json:"source_id"`
	SourceName  string      `json:"source_name"`
	SourceType  string      `json:"source_type"` // Project, Namespace
	AccessLevel authz.Level `json:"access_level"`
}

type listMembershipsParams struct {
	userPath
	api.Page
	Type string `param:"type" values:"Project,Namespace" doc:"Return only memberships of this type: Project or Namespace"`
}

func (s *Server) listMemberships(ctx context.Context, as authz.Actor, p listMembershipsParams) (api.List[membershipEntity], error) {
	none := api.List[membershipEntity]{}
	id, err := p.id()
	if err != nil {
		return none, err
	}
	f := namespace.MembershipFilter{Range: p.Range()}
	switch p.Type {
	case "Project":
		f.Kind = namespace.ProjectKind
	case "Namespace":
		f.Kind = namespace.GroupKind
	}
	list, err := s.Namespaces.Memberships(ctx, as, id, f)
	if err != nil {
		return none, err
	}
	items := make([]membershipEntity, len(list.Items))
	for i, m := range list.Items {
		items[i] = membershipEntity{SourceID: m.SourceID, SourceName: m.SourceName, SourceType: "Project", AccessLevel: m.Level}
		if m.Group {
			items[i].SourceType = "Namespace"
		}
	}
	return api.Listed(list, items), nil
}
