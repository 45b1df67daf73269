// Package account says who a user is: users, their addresses and passwords, and the
// access tokens they sign on with.
package account

import (
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// State says whether a user may act; only active ones may.
type State string

// The states of the contract.
const (
	Active          State = "active"
	Blocked         State = "blocked"
	LDAPBlocked     State = "ldap_blocked"
	PendingApproval State = "blocked_pending_approval"
	Deactivated     State = "deactivated"
	Banned          State = "banned"
)

// barred are the states of users who were shut out. They are kept from lists of everybody but administrators, and nothing that they did
// starts anything any more.
var barred = []State{Blocked, LDAPBlocked, Banned}

// Barred reports whether users in the state were shut out.
func (s State) Barred() bool { return slices.Contains(barred, s) }

// BarredSQL holds for users, by an alias of their table, who were shut out.
func BarredSQL(alias string) string {
	names := make([]string, len(barred))
	for i, state := range barred {
		names[i] = "'" + string(state) + "'"
	}
	return alias + ".state IN (" + strings.Join(names, ", ") + ")"
}

// Type tells people from the server's own accounts.
type Type string

// The types of users. Bots act for a token of a project or group; service accounts
// are members like people, but sign on with tokens alone; Ghost owns what deleted users
// left; Internal accounts belong to the server.
const (
	Human          Type = "human"
	Bot            Type = "bot"
	ServiceAccount Type = "service_account"
	Ghost          Type = "ghost"
	Internal       Type = "internal"
)

// PrivateCommitEmail is the value of CommitEmail that stands for the private address.
const PrivateCommitEmail = "_private"

// User is one account. [Service.Load] fills only what stands before Profile; the
// single reads and List fill all of it.
type User struct {
	ID          authz.UserID `db:"id"`
	Username    string       `db:"username" fold:"username_fold"`
	Name        string       `db:"name" fold:"name_fold"`
	State       State        `db:"state"`
	Type        Type         `db:"user_type"`
	Admin       bool         `db:"admin"`
	Avatar      string       `db:"avatar"`                          // stored file name, "" for none
	PublicEmail string       `db:"public_email"`                    // "" where the user shows none
	CommitEmail string       `db:"commit_email"`                    // as stored: "" is Email, "_private" the private address
	Email       string       `db:"email,readonly" change:",secret"` // the primary address: not for everybody's eyes
	CreatedAt   db.Time      `db:"created_at"`

	Profile
}

// Profile is what only the user's own pages and answers show.
type Profile struct {
	Auditor          bool               `db:"auditor"`
	External         bool               `db:"external"`
	PrivateProfile   bool               `db:"private_profile"`
	PasswordExpired  bool               `db:"password_expired"`
	NamespaceID      *authz.NamespaceID `db:"namespace_id"` // nil for the ghost and internal users
	CreatedByID      *authz.UserID      `db:"created_by_id"`
	ProvisionedBy    *authz.NamespaceID `db:"provisioned_by_group_id"` // the group of a service account, nil for one of the instance
	Bio              string             `db:"bio"`
	Location         *string            `db:"location"`
	Skype            string             `db:"skype"`
	LinkedIn         string             `db:"linkedin"`
	Twitter          string             `db:"twitter"`
	Discord          string             `db:"discord"`
	WebsiteURL       string             `db:"website_url"`
	Organization     string             `db:"organization"`
	JobTitle         string             `db:"job_title"`
	Pronouns         *string            `db:"pronouns"`
	Note             *string            `db:"note" change:",secret"` // for administrators
	TimeZone         string             `db:"time_zone"`             // IANA name, "" for none
	ThemeID          int64              `db:"theme_id"`
	ColorSchemeID    int64              `db:"color_scheme_id"`
	ProjectsLimit    int64              `db:"projects_limit"`
	CanCreateGroup   bool               `db:"can_create_group"`
	FileByFile       bool               `db:"view_diffs_file_by_file"`
	ShowWhitespace   bool               `db:"show_whitespace_in_diffs"`
	PassIdentities   bool               `db:"pass_user_identities_to_ci_jwt"` // to what pipelines sign on with
	IssuesSort       string             `db:"issues_sort"`                    // order of pages of issues, such as updated_desc; "" is the usual one
	PipelineIIDs     bool               `db:"name_pipelines_by_iid"`          // pages name pipelines by iid, not by id
	RunnerMinutes    *int64             `db:"shared_runners_minutes_limit"`   // nil inherits, 0 is unlimited
	ExtraMinutes     *int64             `db:"extra_shared_runners_minutes_limit"`
	SignInCount      int64              `db:"sign_in_count"`
	CurrentSignInAt  *db.Time           `db:"current_sign_in_at"`
	LastSignInAt     *db.Time           `db:"last_sign_in_at"`
	CurrentSignInIP  *string            `db:"current_sign_in_ip" change:",secret"`
	LastSignInIP     *string            `db:"last_sign_in_ip" change:",secret"`
	LastActivityOn   *string            `db:"last_activity_on"`                 // YYYY-MM-DD
	FailedAttempts   int64              `db:"failed_attempts" change:",secret"` // wrong passwords since the last right one
	LockedAt         *db.Time           `db:"locked_at"`                        // when there were too many, see [Service.Locked]
	ConfirmedAt      *db.Time           `db:"confirmed_at,readonly"`            // of the primary address
	UpdatedAt        db.Time            `db:"updated_at"`
	PersonalProjects int64              `db:"personal_projects,readonly"` // how many stand in the user's namespace
}

// Identity is a user's account with another provider.
type Identity struct {
	UserID    authz.UserID `db:"user_id"`
	Provider  string       `db:"provider"`
	ExternUID string       `db:"extern_uid"`
}

// Person reports whether a human is behind the account.
func (u *User) Person() bool { return u.Type == Human }

// openTo reports whether the actor may see who follows the user and since when the user
// is here: profiles that are private, blocked or not confirmed are closed to others. A setting opens all private profiles.
func (s *Service) openTo(as authz.Actor, u *User) bool {
	private := u.PrivateProfile && s.Settings.Current().MakeProfilePrivate
	return as.Admin || as.Is(u.ID) || !private && u.State == Active && u.ConfirmedAt != nil
}

// CanCreateProject reports whether the user's own limit leaves room for one more
// project in the personal namespace.
func (u *User) CanCreateProject() bool { return u.PersonalProjects < u.ProjectsLimit }

// WorkInformation is "job at organization", or what there is of it.
func (u *User) WorkInformation() string {
	switch {
	case u.JobTitle == "":
		return u.Organization
	case u.Organization == "":
		return u.JobTitle
	default:
		return u.JobTitle + " at " + u.Organization
	}
}

// CommitAddress is the address that commits made by the server carry for u: the one
// chosen, the primary one, or the private one at hostname.
func (u *User) CommitAddress(hostname string) string {
	switch u.CommitEmail {
	case "":
		return u.Email
	case PrivateCommitEmail:
		return u.PrivateAddress(hostname)
	default:
		return u.CommitEmail
	}
}

// PrivateAddress is the commit address that gives away nothing but id and username.
func (u *User) PrivateAddress(hostname string) string {
	return strconv.FormatInt(int64(u.ID), 10) + "-" + u.Username + "@" + hostname
}

// Actor is the user as one who acts, with every right of the account: for a password
// or a session. [Service.Authenticate] narrows it to a token's scopes.
func (u *User) Actor() authz.Actor {
	return authz.Actor{
		UserID: u.ID, Username: u.Username, Admin: u.Admin, Auditor: u.Auditor,
		External: u.External, Bot: u.Type != Human,
	}
}
