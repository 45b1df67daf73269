package rest

import (
	"context"
	"net/http"
	"slices"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("users", (*Server).userRoutes)

func (s *Server) userRoutes() []*api.Route {
	return append(api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/user", s.currentUser).Doc("Get the current user").Needs(authz.ReadOwnUser),
		api.Get("/user_counts", s.userCounts).Doc("Get the counts of open issues, merge requests and to-do items of the current user").Needs(authz.ReadOwnUser, authz.ReadOwnTodos),
		api.Get("/users", s.listUsers).Doc("List users").Needs(authz.ListUsers).Public(),
		api.Get("/users/:id", s.getUser).Doc("Get a user").Needs(authz.ReadUser).Public().Rate(limit.UsersByID),
		api.Post("/users", s.createUser).Doc("Create a user").Needs(authz.AdminUsers),
	), slices.Concat(s.userChangeRoutes(), s.userStatusRoutes(), s.userEmailRoutes(), s.userFollowRoutes(), s.userRecordRoutes())...)
}

// userPath names a user by its number; anything else leads nowhere.
type userPath struct {
	ID string `param:"id" doc:"ID of the user"`
}

func (p userPath) id() (authz.UserID, error) { return userNumber(p.ID) }

func userNumber(text string) (authz.UserID, error) {
	n, ok := api.NumericID(text)
	if !ok {
		return 0, &api.Refusal{Status: http.StatusNotFound, Text: "404 Not Found"}
	}
	if n == 0 {
		n = -1 // no user's number; zero means the caller in some methods of the core
	}
	return authz.UserID(n), nil
}

// currentUser answers with the form for administrators or that for users themselves.
func (s *Server) currentUser(ctx context.Context, as authz.Actor, _ struct{}) (userEntity, error) {
	u, err := s.Accounts.Current(ctx, as)
	if err != nil {
		return userEntity{}, err
	}
	return s.shownUser(ctx, as, u, account.ViewOptions{Own: true})
}

type userCountsEntity struct {
	MergeRequests         int `json:"merge_requests"` // the same as those assigned
	AssignedIssues        int `json:"assigned_issues"`
	AssignedMergeRequests int `json:"assigned_merge_requests"`
	ReviewRequested       int `json:"review_requested_merge_requests"`
	Todos                 int `json:"todos"`
}

func (s *Server) userCounts(ctx context.Context, as authz.Actor, _ struct{}) (userCountsEntity, error) {
	c, err := s.Accounts.Count(ctx, as)
	if err != nil {
		return userCountsEntity{}, err
	}
	todos, err := s.Todos.Count(ctx, as)
	return userCountsEntity{
		MergeRequests: c.AssignedMergeRequests, AssignedIssues: c.AssignedIssues,
		AssignedMergeRequests: c.AssignedMergeRequests, ReviewRequested: c.ReviewRequested, Todos: todos,
	}, err
}

type getUserParams struct {
	userPath
	Custom bool `param:"with_custom_attributes" doc:"Include custom attributes (administrators only)"`
}

// getUser answers with the form for everybody, or with everything for administrators.
func (s *Server) getUser(ctx context.Context, as authz.Actor, p getUserParams) (userEntity, error) {
	id, err := p.id()
	if err != nil {
		return userEntity{}, err
	}
	u, err := s.Accounts.Find(ctx, as, id)
	if err != nil {
		return userEntity{}, err
	}
	views, err := s.Accounts.Views(ctx, as, []*account.User{u}, account.ViewOptions{CustomAttributes: p.Custom})
	if err != nil {
		return userEntity{}, err
	}
	e := newUserEntity(&views[0])
	if a := views[0].Admin; a != nil {
		e.userDetails = &userDetails{CurrentSignInIP: a.CurrentSignInIP, LastSignInIP: a.LastSignInIP, SignInCount: a.SignInCount}
	}
	return e, nil
}

// userTexts are the parameters of a user's profile.
type userTexts struct {
	Bio          *string `param:"bio" doc:"Biography, at most 255 characters"`
	Location     *string `param:"location" doc:"Location"`
	Skype        *string `param:"skype" doc:"Skype account"`
	LinkedIn     *string `param:"linkedin" doc:"LinkedIn account"`
	Twitter      *string `param:"twitter" doc:"Twitter account"`
	Discord      *string `param:"discord" doc:"Discord ID"`
	WebsiteURL   *string `param:"website_url" doc:"Website URL"`
	Organization *string `param:"organization" doc:"Organization"`
	JobTitle     *string `param:"job_title" doc:"Job title"`
	Pronouns     *string `param:"pronouns" doc:"Pronouns"`
	Note         *string `param:"note" chars:"1000000" doc:"Administrator notes"`
}

// userSwitches are the parameters of a user's rights and limits.
type userSwitches struct {
	Admin          *bool  `param:"admin" doc:"Administrator"`
	Auditor        *bool  `param:"auditor" doc:"Auditor"`
	External       *bool  `param:"external" doc:"External user"`
	PrivateProfile *bool  `param:"private_profile" doc:"Private profile"`
	CanCreateGroup *bool  `param:"can_create_group" doc:"User can create top-level groups"`
	ProjectsLimit  *int64 `param:"projects_limit" doc:"Limit of personal projects of the user"`
	ThemeID        *int64 `param:"theme_id" doc:"ID of the theme"`
	ColorSchemeID  *int64 `param:"color_scheme_id" doc:"ID of the color scheme of the file viewer"`
	FileByFile     *bool  `param:"view_diffs_file_by_file" doc:"Show one file at a time in diffs"`
}

type createUserParams struct {
	Email               string   `param:"email,required" doc:"Primary email address"`
	Password            string   `param:"password" doc:"Password"`
	ResetPassword       bool     `param:"reset_password" doc:"Create the user without a password. No mail is sent yet: the administrator makes a link with tenon admin user link"`
	ForceRandomPassword bool     `param:"force_random_password" doc:"Set a random password"`
	_                   struct{} `atleastone:"password,reset_password,force_random_password"`
	Name                string   `param:"name,required" doc:"Name"`
	Username            string   `param:"username,required" doc:"Username, also the path of the personal namespace"`
	SkipConfirmation    bool     `param:"skip_confirmation" doc:"Skip confirmation and treat the email address as verified"`
	userTexts
	userSwitches
	RunnerMinutes *int64   `param:"shared_runners_minutes_limit" doc:"Maximum compute minutes per month; null inherits the default, 0 is unlimited"`
	ExtraMinutes  *int64   `param:"extra_shared_runners_minutes_limit" doc:"Additional compute minutes"`
	Provider      string   `param:"provider" doc:"Name of the external provider"`
	ExternUID     string   `param:"extern_uid" doc:"External UID at the provider"`
	_             struct{} `allornone:"extern_uid,provider"`
	avatarParam
}

func (s *Server) createUser(ctx context.Context, as authz.Actor, p createUserParams) (userEntity, error) {
	sent, err := s.picture(p.avatarParam)
	if err != nil {
		return userEntity{}, err
	}
	u, err := s.Accounts.Create(ctx, as, account.Input{
		Email: p.Email, Username: p.Username, Name: p.Name, Password: p.Password, ResetPassword: p.ResetPassword,
		ForceRandomPassword: p.ForceRandomPassword, Admin: isTrue(p.Admin), Auditor: isTrue(p.Auditor), External: p.External,
		SkipConfirmation: p.SkipConfirmation, PrivateProfile: p.PrivateProfile, CanCreateGroup: p.CanCreateGroup,
		ProjectsLimit: p.ProjectsLimit, ThemeID: p.ThemeID, ColorSchemeID: p.ColorSchemeID, FileByFile: p.FileByFile,
		RunnerMinutes: p.RunnerMinutes, ExtraMinutes: p.ExtraMinutes, Provider: p.Provider, ExternUID: p.ExternUID,
		Details: account.Details{
			Bio: textOf(p.Bio), Location: p.Location, Skype: textOf(p.Skype), LinkedIn: textOf(p.LinkedIn),
			Twitter: textOf(p.Twitter), Discord: textOf(p.Discord), WebsiteURL: textOf(p.WebsiteURL),
			Organization: textOf(p.Organization), JobTitle: textOf(p.JobTitle), Pronouns: p.Pronouns, Note: p.Note,
		},
	})
	if err != nil {
		return userEntity{}, err
	}
	if err := s.portrayed(ctx, as, u, sent); err != nil {
		return userEntity{}, err
	}
	return s.shownUser(ctx, as, u, account.ViewOptions{})
}

func isTrue(b *bool) bool { return b != nil && *b }

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
