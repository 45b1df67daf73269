package rest

import (
	"context"
	"time"

	"tenon/internal/core/account"
	"tenon/internal/core/attribute"
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

// remarkUsers adds the custom attributes that only administrators see.
func (s *Server) remarkUsers(ctx context.Context, as authz.Actor, users []userEntity) error {
	if !as.Admin {
		return nil
	}
	ids := make([]int64, len(users))
	for i := range users {
		ids[i] = int64(users[i].ID)
	}
	all, err := s.Attributes.ByOwners(ctx, attribute.User, ids)
	if err != nil {
		return err
	}
	for i := range users {
		list := attributeEntities(all[ids[i]])
		users[i].CustomAttributes = &list
	}
	return nil
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

// user gives the summary of a user, nil for nobody.
func (s *Server) user(u *account.User) *userBasic {
	if u == nil {
		return nil
	}
	b := s.basic(u)
	return &b
}

func (s *Server) basic(u *account.User) userBasic {
	return userBasic{
		ID: u.ID, Username: u.Username, Name: u.Name, State: u.State,
		AvatarURL: s.avatar(u), WebURL: s.URLs.User(u.Username),
	}
}

// avatar gives the address of a user's picture: the one uploaded, the one that Gravatar
// has for the primary address, or none where the settings say so.
func (s *Server) avatar(u *account.User) *string {
	if u.Avatar == "" {
		return s.gravatar(u.Email, 80)
	}
	return s.upload("user", int64(u.ID), u.Avatar)
}

// profileOf gives what the signed-in see of a user.
func (s *Server) profileOf(as authz.Actor, u *account.User, follows account.Follows) userEntity {
	p := &userProfile{
		Bio: u.Bio, Location: u.Location, Skype: u.Skype, LinkedIn: u.LinkedIn, Twitter: u.Twitter, Discord: u.Discord,
		WebsiteURL: u.WebsiteURL, JobTitle: u.JobTitle, Pronouns: u.Pronouns, Organization: u.Organization,
		Bot: !u.Person(), LocalTime: s.localTime(u),
	}
	if u.PublicEmail != "" {
		p.PublicEmail = &u.PublicEmail
	}
	if work := u.WorkInformation(); work != "" {
		p.WorkInformation = &work
	}
	if u.OpenTo(as) {
		p.CreatedAt, p.Followers, p.Following = api.TimePtr(&u.CreatedAt.Time), &follows.Followers, &follows.Following
		if as.SignedIn() {
			p.IsFollowed = &follows.Followed
		}
	}
	return userEntity{userBasic: s.basic(u), userProfile: p}
}

// localTime is the time of day where the user is, nil where that is not known.
func (s *Server) localTime(u *account.User) *string {
	if u.TimeZone == "" {
		return nil
	}
	zone, err := time.LoadLocation(u.TimeZone)
	if err != nil {
		return nil
	}
	at := s.Now().In(zone).Format("3:04 PM")
	return &at
}

// ownForm gives what users see of themselves.
func (s *Server) ownForm(as authz.Actor, u *account.User, identities []account.Identity, follows account.Follows) userEntity {
	own := &userOwn{
		LastSignInAt: api.TimePtr(u.LastSignInAt.Ptr()), ConfirmedAt: api.TimePtr(u.ConfirmedAt.Ptr()), Email: u.Email, ThemeID: u.ThemeID,
		ColorSchemeID: u.ColorSchemeID, ProjectsLimit: u.ProjectsLimit, CurrentSignInAt: api.TimePtr(u.CurrentSignInAt.Ptr()),
		CanCreateGroup: u.CanCreateGroup, CanCreateProject: u.CanCreateProject(), External: u.External,
		PrivateProfile: u.PrivateProfile, CommitEmail: u.CommitAddress(s.Accounts.CommitHost()),
		RunnerMinutes: u.RunnerMinutes, ExtraMinutes: u.ExtraMinutes, Identities: make([]identityEntity, len(identities)),
	}
	for i, id := range identities {
		own.Identities[i] = identityEntity{Provider: id.Provider, ExternUID: id.ExternUID}
	}
	if u.LastActivityOn != nil {
		own.LastActivityOn = api.Date(*u.LastActivityOn)
	}
	e := s.profileOf(as, u, follows)
	e.userOwn = own
	return e
}

// adminForms gives what administrators see of some users, with three statements however
// many there are.
func (s *Server) adminForms(ctx context.Context, as authz.Actor, users ...*account.User) ([]userEntity, error) {
	ids, makers := make([]authz.UserID, len(users)), make([]authz.UserID, 0, len(users))
	for i, u := range users {
		ids[i] = u.ID
		if u.CreatedByID != nil {
			makers = append(makers, *u.CreatedByID)
		}
	}
	identities, err := s.Accounts.Identities(ctx, ids)
	if err != nil {
		return nil, err
	}
	creators, err := s.Accounts.ByIDs(ctx, makers)
	if err != nil {
		return nil, err
	}
	follows, err := s.Accounts.CountFollows(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	out := make([]userEntity, len(users))
	for i, u := range users {
		out[i] = s.ownForm(as, u, identities[u.ID], follows[u.ID])
		out[i].userAdmin = &userAdmin{
			IsAdmin: u.Admin, Note: u.Note, NamespaceID: u.NamespaceID, IsAuditor: u.Auditor,
			UsingLicenseSeat: u.Person() && u.State == account.Active,
		}
		if u.CreatedByID != nil {
			out[i].CreatedBy = s.user(creators[*u.CreatedByID])
		}
	}
	return out, nil
}

func (s *Server) adminForm(ctx context.Context, as authz.Actor, u *account.User) (userEntity, error) {
	list, err := s.adminForms(ctx, as, u)
	if err != nil {
		return userEntity{}, err
	}
	return list[0], nil
}
