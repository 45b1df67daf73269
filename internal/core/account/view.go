package account

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/timezone"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/weburl"
)

// Summary is what every caller sees of a user.
type Summary struct {
	ID        authz.UserID
	Username  string
	Name      string
	State     State
	AvatarURL *string // nil where the user has none
	WebURL    string

	PublicEmail string // "" where the user shows none
	CreatedAt   time.Time
	UsesSeat    bool // counts among the users of a license
}

// View is a user as one caller may see it: a part that is nil is not for the caller.
type View struct {
	Summary
	Profile *ProfileView // nil in lists, except for administrators
	Private *PrivateView // for the user, where wanted, and for administrators
	Admin   *AdminView   // for administrators

	// CustomAttributes are for administrators, where wanted; nil otherwise.
	CustomAttributes []attribute.Attribute
}

// ProfileView is what signed-in callers see of a user.
type ProfileView struct {
	Bio             string
	Location        *string
	PublicEmail     string // "" where the user shows none
	Skype           string
	LinkedIn        string
	Twitter         string
	Discord         string
	WebsiteURL      string
	JobTitle        string
	Pronouns        *string
	Organization    string
	Bot             bool
	WorkInformation string     // "" where there is none
	LocalTime       *time.Time // in the time zone of the user; nil where that is not known
	Open            *OpenView  // nil where the profile is closed to the caller
}

// OpenView is what only open profiles show.
type OpenView struct {
	CreatedAt time.Time
	Followers int
	Following int
	Followed  *bool // by the caller; nil for callers who are no users
}

// PrivateView is what users see of themselves.
type PrivateView struct {
	Email            string
	CommitEmail      string // as commits have it
	Identities       []Identity
	LastSignInAt     *time.Time
	CurrentSignInAt  *time.Time
	ConfirmedAt      *time.Time
	LastActivityOn   string // YYYY-MM-DD, "" for never
	ThemeID          int64
	ColorSchemeID    int64
	ProjectsLimit    int64
	CanCreateGroup   bool
	CanCreateProject bool
	External         bool
	PrivateProfile   bool
	RunnerMinutes    *int64
	ExtraMinutes     *int64
}

// AdminView is what only administrators see of a user.
type AdminView struct {
	Admin           bool
	Auditor         bool
	Note            *string
	NamespaceID     *authz.NamespaceID
	CreatedBy       *Summary // nil where no user created the account, or the creator is gone
	UsesSeat        bool
	CurrentSignInIP *string
	LastSignInIP    *string
	SignInCount     int64
}

// ViewOptions are the parts of a view that cost something and are not always wanted.
type ViewOptions struct {
	Own              bool // the private part of the caller's own account
	CustomAttributes bool
}

// Summary returns what every caller sees of a user, nil for nil.
func (s *Service) Summary(u *User) *Summary {
	if u == nil {
		return nil
	}
	return &Summary{
		ID: u.ID, Username: u.Username, Name: u.Name, State: u.State, AvatarURL: s.AvatarURL(u), WebURL: s.URLs.User(u.Username),
		PublicEmail: u.PublicEmail, CreatedAt: u.CreatedAt.Time, UsesSeat: u.UsesSeat(),
	}
}

// AvatarURL is the picture of a user: the one uploaded, the one that Gravatar has for the
// primary address, or nil where the settings say so.
func (s *Service) AvatarURL(u *User) *string {
	if u.Avatar == "" {
		return s.Gravatar(u.Email, 80)
	}
	address := s.URLs.Avatar("user", int64(u.ID), u.Avatar)
	return &address
}

// Gravatar is the picture that Gravatar has for an email address, nil where the settings do
// not want it.
func (s *Service) Gravatar(email string, size int) *string {
	if email == "" || !s.Settings.Current().GravatarEnabled {
		return nil
	}
	address := weburl.Gravatar(email, size)
	return &address
}

// Views returns users as the caller may see them, with as many statements for many as for one.
// Users that were read as summaries have no parts.
func (s *Service) Views(ctx context.Context, as authz.Actor, users []*User, want ViewOptions) ([]View, error) {
	related, err := s.related(ctx, as, users, want)
	if err != nil {
		return nil, fmt.Errorf("views of users: %w", err)
	}
	out := make([]View, len(users))
	for i, u := range users {
		v := View{Summary: *s.Summary(u)}
		if !u.whole() {
			out[i] = v
			continue
		}
		v.Profile = s.profileView(as, u, related.follows[u.ID])
		if as.Admin || want.Own && as.Is(u.ID) {
			v.Private = s.privateView(u, related.identities[u.ID])
		}
		if as.Admin {
			v.Admin = s.adminView(u, related.creators)
			v.CustomAttributes = related.attributes[int64(u.ID)]
		}
		out[i] = v
	}
	return out, nil
}

// whole reports whether more than the summary of the user was read.
func (u *User) whole() bool { return !u.UpdatedAt.IsZero() }

// UsesSeat reports whether the user counts among those of a license.
func (u *User) UsesSeat() bool { return u.Person() && u.State == Active }

// EmailsFor returns the addresses of users that the caller may see, in one statement at most:
// administrators see the primary ones, others the public ones. It is nil where there is none.
func (s *Service) EmailsFor(ctx context.Context, as authz.Actor, ids []authz.UserID) (map[authz.UserID]*string, error) {
	users, err := s.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[authz.UserID]*string, len(users))
	for id, u := range users {
		out[id] = u.emailFor(as)
	}
	return out, nil
}

func (u *User) emailFor(as authz.Actor) *string {
	switch {
	case as.Admin:
		return &u.Email
	case u.PublicEmail != "":
		return &u.PublicEmail
	}
	return nil
}

// relations is what is shown of users and stored elsewhere.
type relations struct {
	identities map[authz.UserID][]Identity
	creators   map[authz.UserID]*User
	follows    map[authz.UserID]Follows
	attributes map[int64][]attribute.Attribute
}

func (s *Service) related(ctx context.Context, as authz.Actor, users []*User, want ViewOptions) (relations, error) {
	var out relations
	var all, own, creators []authz.UserID
	var owners []int64
	for _, u := range users {
		if !u.whole() {
			continue
		}
		all, owners = append(all, u.ID), append(owners, int64(u.ID))
		if as.Admin || want.Own && as.Is(u.ID) {
			own = append(own, u.ID)
		}
		if as.Admin && u.CreatedByID != nil {
			creators = append(creators, *u.CreatedByID)
		}
	}
	var err error
	if out.identities, err = s.Identities(ctx, own); err != nil {
		return out, err
	}
	if out.creators, err = s.Load(ctx, creators); err != nil {
		return out, err
	}
	if out.follows, err = s.CountFollows(ctx, as, all); err != nil || !want.CustomAttributes || !as.Admin {
		return out, err
	}
	out.attributes, err = s.Attributes.ByOwners(ctx, attribute.User, owners)
	return out, err
}

func (s *Service) profileView(as authz.Actor, u *User, follows Follows) *ProfileView {
	v := &ProfileView{
		Bio: u.Bio, Location: u.Location, PublicEmail: u.PublicEmail, Skype: u.Skype, LinkedIn: u.LinkedIn, Twitter: u.Twitter,
		Discord: u.Discord, WebsiteURL: u.WebsiteURL, JobTitle: u.JobTitle, Pronouns: u.Pronouns, Organization: u.Organization,
		Bot: !u.Person(), WorkInformation: u.WorkInformation(), LocalTime: s.localTime(u),
	}
	if s.openTo(as, u) {
		v.Open = &OpenView{CreatedAt: u.CreatedAt.Time, Followers: follows.Followers, Following: follows.Following}
		if as.SignedIn() {
			v.Open.Followed = &follows.Followed
		}
	}
	return v
}

// localTime is the time of day where the user is, nil where that is not known.
func (s *Service) localTime(u *User) *time.Time {
	if u.TimeZone == "" {
		return nil
	}
	zone := timezone.Load(u.TimeZone)
	if zone == nil {
		return nil
	}
	at := s.Now().In(zone)
	return &at
}

func (s *Service) privateView(u *User, identities []Identity) *PrivateView {
	v := &PrivateView{
		Email: u.Email, CommitEmail: u.CommitAddress(s.CommitHost()), Identities: identities, LastSignInAt: u.LastSignInAt.Ptr(),
		CurrentSignInAt: u.CurrentSignInAt.Ptr(), ConfirmedAt: u.ConfirmedAt.Ptr(), ThemeID: u.ThemeID, ColorSchemeID: u.ColorSchemeID,
		ProjectsLimit: u.ProjectsLimit, CanCreateGroup: u.CanCreateGroup, CanCreateProject: u.CanCreateProject(), External: u.External,
		PrivateProfile: u.PrivateProfile, RunnerMinutes: u.RunnerMinutes, ExtraMinutes: u.ExtraMinutes,
	}
	if u.LastActivityOn != nil {
		v.LastActivityOn = *u.LastActivityOn
	}
	return v
}

func (s *Service) adminView(u *User, creators map[authz.UserID]*User) *AdminView {
	v := &AdminView{
		Admin: u.Admin, Auditor: u.Auditor, Note: u.Note, NamespaceID: u.NamespaceID, UsesSeat: u.UsesSeat(),
		CurrentSignInIP: u.CurrentSignInIP, LastSignInIP: u.LastSignInIP, SignInCount: u.SignInCount,
	}
	if u.CreatedByID != nil {
		v.CreatedBy = s.Summary(creators[*u.CreatedByID])
	}
	return v
}
