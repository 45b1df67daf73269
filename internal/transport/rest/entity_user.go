package rest

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

// userBasic is the summary of a user that stands inside other answers.
type userBasic struct {
	ID        authz.UserID  `json:"id"`
	Username  string        `json:"username"`
	Name      string        `json:"name"`
	State     account.State `json:"state"`
	AvatarURL *string       `json:"avatar_url"`
	WebURL    string        `json:"web_url"`
}

// userEntity is a user as one of the audiences sees it: lists for everybody have the
// summary alone, everybody's single form the profile too, users themselves their own
// part, administrators their part, and in the single form the details.
type userEntity struct {
	userBasic
	*userProfile
	*userOwn
	*userAdmin
	*userDetails
	CustomAttributes *[]attributeEntity `json:"custom_attributes,omitempty"`
}

type userProfile struct {
	CreatedAt       *api.Time `json:"created_at,omitempty"` // left out where the profile is closed, as are those below
	Bio             string    `json:"bio"`
	Location        *string   `json:"location"`
	PublicEmail     *string   `json:"public_email"`
	Skype           string    `json:"skype"`
	LinkedIn        string    `json:"linkedin"`
	Twitter         string    `json:"twitter"`
	Discord         string    `json:"discord"`
	WebsiteURL      string    `json:"website_url"`
	JobTitle        string    `json:"job_title"`
	Pronouns        *string   `json:"pronouns"`
	Organization    string    `json:"organization"`
	Bot             bool      `json:"bot"`
	WorkInformation *string   `json:"work_information"`
	Followers       *int      `json:"followers,omitempty"`
	Following       *int      `json:"following,omitempty"`
	IsFollowed      *bool     `json:"is_followed,omitempty"`
	LocalTime       *string   `json:"local_time"` // "3:38 PM" in the user's time zone
}

type userOwn struct {
	LastSignInAt     *api.Time        `json:"last_sign_in_at" later:"web sign-on"`
	ConfirmedAt      *api.Time        `json:"confirmed_at"`
	LastActivityOn   api.Date         `json:"last_activity_on"`
	Email            string           `json:"email"`
	ThemeID          int64            `json:"theme_id"`
	ColorSchemeID    int64            `json:"color_scheme_id"`
	ProjectsLimit    int64            `json:"projects_limit"`
	CurrentSignInAt  *api.Time        `json:"current_sign_in_at" later:"web sign-on"`
	Identities       []identityEntity `json:"identities"`
	CanCreateGroup   bool             `json:"can_create_group"`
	CanCreateProject bool             `json:"can_create_project"`
	TwoFactorEnabled bool             `json:"two_factor_enabled" later:"two-factor sign-on"`
	External         bool             `json:"external"`
	PrivateProfile   bool             `json:"private_profile"`
	CommitEmail      string           `json:"commit_email"`
	RunnerMinutes    *int64           `json:"shared_runners_minutes_limit"`
	ExtraMinutes     *int64           `json:"extra_shared_runners_minutes_limit"`
}

type userAdmin struct {
	IsAdmin          bool               `json:"is_admin"`
	Note             *string            `json:"note"`
	NamespaceID      *authz.NamespaceID `json:"namespace_id"`
	CreatedBy        *userBasic         `json:"created_by"`
	IsAuditor        bool               `json:"is_auditor"`
	UsingLicenseSeat bool               `json:"using_license_seat"`
	ProvisionedBy    *int64             `json:"provisioned_by_group_id" later:"single sign-on of groups"`
}

type userDetails struct {
	CurrentSignInIP *string `json:"current_sign_in_ip" later:"web sign-on"`
	LastSignInIP    *string `json:"last_sign_in_ip" later:"web sign-on"`
	SignInCount     int64   `json:"sign_in_count" later:"web sign-on"`
	Plan            *string `json:"plan"` // there are none
	Trial           bool    `json:"trial"`
}

type identityEntity struct {
	Provider       string `json:"provider"`
	ExternUID      string `json:"extern_uid"`
	SAMLProviderID *int64 `json:"saml_provider_id" later:"single sign-on of groups"`
}

// user returns the summary of a user, nil for nil.
func (s *Server) user(u *account.Summary) *userBasic {
	if u == nil {
		return nil
	}
	b := newUserBasic(u)
	return &b
}

func (s *Server) basic(u *account.User) userBasic {
	return newUserBasic(s.Accounts.Summary(u))
}

func newUserBasic(u *account.Summary) userBasic {
	return userBasic{ID: u.ID, Username: u.Username, Name: u.Name, State: u.State, AvatarURL: u.AvatarURL, WebURL: u.WebURL}
}

// shownUsers renders users as the caller may see them.
func (s *Server) shownUsers(ctx context.Context, as authz.Actor, users []*account.User, want account.ViewOptions) ([]userEntity, error) {
	views, err := s.Accounts.Views(ctx, as, users, want)
	if err != nil {
		return nil, err
	}
	out := make([]userEntity, len(views))
	for i := range views {
		out[i] = newUserEntity(&views[i])
	}
	return out, nil
}

func (s *Server) shownUser(ctx context.Context, as authz.Actor, u *account.User, want account.ViewOptions) (userEntity, error) {
	list, err := s.shownUsers(ctx, as, []*account.User{u}, want)
	if err != nil {
		return userEntity{}, err
	}
	return list[0], nil
}

func newUserEntity(v *account.View) userEntity {
	e := userEntity{userBasic: newUserBasic(&v.Summary)}
	if p := v.Profile; p != nil {
		e.userProfile = newUserProfile(p)
	}
	if p := v.Private; p != nil {
		e.userOwn = newUserOwn(p)
	}
	if p := v.Admin; p != nil {
		e.userAdmin = &userAdmin{
			IsAdmin: p.Admin, Note: p.Note, NamespaceID: p.NamespaceID, IsAuditor: p.Auditor, UsingLicenseSeat: p.UsesSeat,
		}
		if p.CreatedBy != nil {
			by := newUserBasic(p.CreatedBy)
			e.CreatedBy = &by
		}
	}
	if v.CustomAttributes != nil {
		list := attributeEntities(v.CustomAttributes)
		e.CustomAttributes = &list
	}
	return e
}

func newUserProfile(p *account.ProfileView) *userProfile {
	e := &userProfile{
		Bio: p.Bio, Location: p.Location, PublicEmail: present(p.PublicEmail), Skype: p.Skype, LinkedIn: p.LinkedIn, Twitter: p.Twitter,
		Discord: p.Discord, WebsiteURL: p.WebsiteURL, JobTitle: p.JobTitle, Pronouns: p.Pronouns, Organization: p.Organization,
		Bot: p.Bot, WorkInformation: present(p.WorkInformation),
	}
	if p.LocalTime != nil {
		at := p.LocalTime.Format("3:04 PM")
		e.LocalTime = &at
	}
	if o := p.Open; o != nil {
		e.CreatedAt, e.Followers, e.Following, e.IsFollowed = api.TimePtr(&o.CreatedAt), &o.Followers, &o.Following, o.Followed
	}
	return e
}

func newUserOwn(p *account.PrivateView) *userOwn {
	e := &userOwn{
		LastSignInAt: api.TimePtr(p.LastSignInAt), ConfirmedAt: api.TimePtr(p.ConfirmedAt), LastActivityOn: api.Date(p.LastActivityOn),
		Email: p.Email, ThemeID: p.ThemeID, ColorSchemeID: p.ColorSchemeID, ProjectsLimit: p.ProjectsLimit,
		CurrentSignInAt: api.TimePtr(p.CurrentSignInAt), CanCreateGroup: p.CanCreateGroup, CanCreateProject: p.CanCreateProject,
		External: p.External, PrivateProfile: p.PrivateProfile, CommitEmail: p.CommitEmail, RunnerMinutes: p.RunnerMinutes,
		ExtraMinutes: p.ExtraMinutes, Identities: make([]identityEntity, len(p.Identities)),
	}
	for i, id := range p.Identities {
		e.Identities[i] = identityEntity{Provider: id.Provider, ExternUID: id.ExternUID}
	}
	return e
}
