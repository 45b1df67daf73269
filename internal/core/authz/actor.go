// Package authz says who may do what: actors, roles, abilities and the one table
// that joins them. Every core method that acts for a user asks it first.
package authz

import (
	"slices"
	"strings"
	"time"
)

// UserID identifies a user; zero is no user.
type UserID int64

// Actor is the caller that a core method acts for. The zero value is an anonymous caller.
type Actor struct {
	UserID   UserID
	Username string
	Admin    bool // administrator, and the credential lets it act as one
	Auditor  bool // reads everything, writes nothing more than its memberships allow
	External bool // sees internal things as private
	Bot      bool

	// Visitor says that a caller who is not signed in looks at pages, which show merge requests of public projects
	// to everybody. The interfaces for programs do not.
	Visitor bool

	// Deploy, where it is not zero, says that the actor is no user but a deploy key or a
	// deploy token: UserID is zero then.
	Deploy Deploy

	// Job, where it is not zero, says that the actor is the user of a job that runs, by the job's token:
	// it reaches the project of the job, what is public, and the projects that let this one's jobs in, in
	// what the rules open to it.
	Job JobCredential

	TokenID int64  // the access token used, zero for a password or none
	Session int64  // the session used, zero for everything else
	Scopes  Scopes // what the credential permits; nil for a session or a password
	Address string // remote address, for the audit trail
	Agent   string // User-Agent of the request, at most 255 characters; "" for none
	Chain   string // X-Gitlab-Event-UUID of the request, which a call of a hook has caused; "" for none

	// UnmodifiedSince, where it is not zero, is a condition of this call: what was changed
	// after this time is neither changed nor deleted. See Unmodified.
	UnmodifiedSince time.Time
}

// Deploy is a key or token that acts for itself, and only in what the rules open to it.
type Deploy struct {
	KeyID   int64       // a deploy key: reaches the projects that it is enabled in
	TokenID int64       // a deploy token: reaches Place and what is below it
	Place   NamespaceID // of a token
}

// JobCredential is the token of a job that runs.
type JobCredential struct {
	ID       int64       // of the job
	Place    NamespaceID // of its project
	Confined bool        // the project keeps its jobs from other projects
	Pushes   bool        // the token came over git, and the project lets its jobs push to it
}

// SignedIn reports whether the actor is a user at all.
func (a Actor) SignedIn() bool { return a.UserID != 0 }

// Is reports whether the actor is signed in as this user.
func (a Actor) Is(user UserID) bool { return a.SignedIn() && a.UserID == user }

// Owns is Is for a column that may hold no user.
func (a Actor) Owns(user *UserID) bool { return user != nil && a.Is(*user) }

// Deploys reports whether the actor is a deploy key or a deploy token.
func (a Actor) Deploys() bool { return a.Deploy != Deploy{} }

// Nameless reports whether the actor is neither a user nor a visitor of pages nor the server itself.
func (a Actor) Nameless() bool { return !a.SignedIn() && !a.Admin && !a.Visitor }

// Known reports whether the actor proved an identity.
func (a Actor) Known() bool { return a.SignedIn() || a.Deploys() }

// System is the actor of the server's own work; it may do everything.
func System() Actor { return Actor{Admin: true} }

// Scope is what an access token permits, spelled as in the API ("read_api").
type Scope string

// The scopes of access tokens.
const (
	ScopeAPI             Scope = "api"
	ScopeReadAPI         Scope = "read_api"
	ScopeReadUser        Scope = "read_user"
	ScopeSudo            Scope = "sudo"
	ScopeAdminMode       Scope = "admin_mode"
	ScopeCreateRunner    Scope = "create_runner"
	ScopeManageRunner    Scope = "manage_runner"
	ScopeReadRepository  Scope = "read_repository"
	ScopeWriteRepository Scope = "write_repository"
	ScopeReadRegistry    Scope = "read_registry"
	ScopeWriteRegistry   Scope = "write_registry"
	ScopeK8sProxy        Scope = "k8s_proxy"
	ScopeSelfRotate      Scope = "self_rotate"
	ScopeServicePing     Scope = "read_service_ping"
)

// Scopes that only deploy tokens may hold.
const (
	ScopeReadPackages  Scope = "read_package_registry"
	ScopeWritePackages Scope = "write_package_registry"
	ScopeReadVirtual   Scope = "read_virtual_registry"
	ScopeWriteVirtual  Scope = "write_virtual_registry"
)

// DeployScopes lists every scope a deploy token may hold, in the API's order.
func DeployScopes() Scopes {
	return Scopes{
		ScopeReadRepository, ScopeReadRegistry, ScopeWriteRegistry, ScopeReadPackages, ScopeWritePackages,
		ScopeReadVirtual, ScopeWriteVirtual,
	}
}

// AllScopes lists every scope a personal access token may hold, in the API's order.
func AllScopes() Scopes {
	return Scopes{
		ScopeAPI, ScopeReadAPI, ScopeReadUser, ScopeSudo, ScopeAdminMode, ScopeCreateRunner, ScopeManageRunner,
		ScopeReadRepository, ScopeWriteRepository, ScopeReadRegistry, ScopeWriteRegistry, ScopeK8sProxy,
		ScopeSelfRotate, ScopeServicePing,
	}
}

// Scopes is a set of scopes in the order they were given.
type Scopes []Scope

// Has reports whether any of the wanted scopes is in the set.
func (s Scopes) Has(wanted ...Scope) bool {
	for _, w := range wanted {
		if slices.Contains(s, w) {
			return true
		}
	}
	return false
}

// Unique returns each scope once: a request may name one fifty thousand times.
func (s Scopes) Unique() Scopes {
	seen := map[Scope]bool{}
	var out Scopes
	for _, v := range s {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// String joins the scopes with spaces, the form of OAuth and of the database.
func (s Scopes) String() string {
	parts := make([]string, len(s))
	for i, v := range s {
		parts[i] = string(v)
	}
	return strings.Join(parts, " ")
}

// ParseScopes reads the form of String.
func ParseScopes(text string) Scopes {
	var out Scopes
	for part := range strings.FieldsSeq(text) {
		out = append(out, Scope(part))
	}
	return out
}
