package payload

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
)

// GroupMemberBody is the body about a membership of a group, or of a request for one.
type GroupMemberBody struct {
	CreatedAt string            `json:"created_at"`
	UpdatedAt string            `json:"updated_at"`
	GroupName string            `json:"group_name"`
	GroupPath string            `json:"group_path"`
	GroupID   authz.NamespaceID `json:"group_id"`
	Username  string            `json:"user_username"`
	UserName  string            `json:"user_name"`
	UserEmail string            `json:"user_email"` // [REDACTED] unless the user shows it
	UserID    authz.UserID      `json:"user_id"`
	Access    *string           `json:"group_access"` // such as Maintainer; null for a request
	Plan      *string           `json:"group_plan"`
	ExpiresAt *string           `json:"expires_at"`
	Event     string            `json:"event_name"` // user_add_to_group, user_update_for_group, user_remove_from_group, user_access_request_to_group or user_access_request_denied_for_group
}

// ProjectMemberBody is the body for hooks of the instance about a membership of a project, or of a request for one.
type ProjectMemberBody struct {
	CreatedAt   string       `json:"created_at"`
	UpdatedAt   string       `json:"updated_at"`
	Event       string       `json:"event_name"` // user_add_to_team, user_update_for_team, user_remove_from_team, user_access_request_to_project or user_access_request_revoked_for_project
	Access      *string      `json:"access_level"`
	ProjectID   project.ID   `json:"project_id"`
	ProjectName string       `json:"project_name"`
	ProjectPath string       `json:"project_path"`
	Path        string       `json:"project_path_with_namespace"`
	Visibility  string       `json:"project_visibility"`
	UserEmail   string       `json:"user_email"` // [REDACTED] unless the user shows it
	UserID      authz.UserID `json:"user_id"`
	UserName    string       `json:"user_name"`
	Username    string       `json:"user_username"`
}

// SubgroupBody is the body about a subgroup.
type SubgroupBody struct {
	CreatedAt      string            `json:"created_at"`
	UpdatedAt      string            `json:"updated_at"`
	Event          string            `json:"event_name"` // subgroup_create or subgroup_destroy
	Name           string            `json:"name"`
	Path           string            `json:"path"`
	FullPath       string            `json:"full_path"`
	GroupID        authz.NamespaceID `json:"group_id"`
	ParentID       authz.NamespaceID `json:"parent_group_id"`
	ParentName     string            `json:"parent_name"`
	ParentPath     string            `json:"parent_path"`
	ParentFullPath string            `json:"parent_full_path"`
}

// GroupBody is the body for hooks of the instance about a group.
type GroupBody struct {
	CreatedAt   string            `json:"created_at"`
	UpdatedAt   string            `json:"updated_at"`
	Event       string            `json:"event_name"` // group_create, group_destroy or group_rename
	Name        string            `json:"name"`
	Path        string            `json:"path"`
	FullPath    string            `json:"full_path"`
	GroupID     authz.NamespaceID `json:"group_id"`
	OldPath     string            `json:"old_path,omitempty"`
	OldFullPath string            `json:"old_full_path,omitempty"`
}

// ProjectBody is the body about a project: to hooks of groups, and to those of the instance.
type ProjectBody struct {
	Event       string            `json:"event_name"` // project_create, project_destroy, project_update, project_rename or project_transfer
	CreatedAt   string            `json:"created_at"`
	UpdatedAt   string            `json:"updated_at"`
	Name        string            `json:"name"`
	Path        string            `json:"path"`
	FullPath    string            `json:"path_with_namespace"`
	ProjectID   project.ID        `json:"project_id"`
	NamespaceID authz.NamespaceID `json:"project_namespace_id"`
	OwnerName   string            `json:"owner_name,omitempty"`  // of the group, or the user of a personal namespace; for hooks of the instance
	OwnerEmail  *string           `json:"owner_email,omitempty"` // of that user
	Owners      []OwnerBlock      `json:"owners"`
	Visibility  string            `json:"project_visibility"`
	OldPath     string            `json:"old_path_with_namespace,omitempty"`
}

// OwnerBlock is an owner of a project.
type OwnerBlock struct {
	Name  string `json:"name" db:"name"`
	Email string `json:"email" db:"email"` // [REDACTED] unless the user shows it
}

// UserBody is the body for hooks of the instance about a user.
type UserBody struct {
	CreatedAt   string       `json:"created_at"`
	UpdatedAt   string       `json:"updated_at"`
	Event       string       `json:"event_name"` // user_create, user_destroy, user_rename or user_failed_login
	Name        string       `json:"name"`
	Email       string       `json:"email"`
	UserID      authz.UserID `json:"user_id"`
	Username    string       `json:"username"`
	OldUsername string       `json:"old_username,omitempty"`
	State       string       `json:"state,omitempty"` // of one who may not sign in
}

// KeyBody is the body for hooks of the instance about an SSH key of a user.
type KeyBody struct {
	CreatedAt string    `json:"created_at"`
	UpdatedAt string    `json:"updated_at"`
	Event     string    `json:"event_name"` // key_create or key_destroy
	Username  string    `json:"username"`
	Key       string    `json:"key"`
	ID        sshkey.ID `json:"id"`
}

// MemberEvent is what happened to a membership.
type MemberEvent struct {
	Name      string
	User      namespace.MemberUser
	Level     authz.Level // zero for a request
	ExpiresOn *string
	CreatedAt db.Time
	UpdatedAt db.Time
}

func (e *MemberEvent) access() *string {
	if e.Level == 0 {
		return nil
	}
	name := e.Level.Name()
	return &name
}

// shown is an address of a user that everyone may see.
func shown(public string) string {
	if public == "" {
		return "[REDACTED]"
	}
	return public
}

// GroupMember builds the body about a membership of a group. It is nil where the group no longer exists.
func (s *Service) GroupMember(ctx context.Context, group authz.NamespaceID, e *MemberEvent) (*GroupMemberBody, error) {
	g, err := s.group(ctx, group)
	if err != nil || g == nil {
		return nil, err
	}
	out := &GroupMemberBody{
		CreatedAt: at(e.CreatedAt.Time), UpdatedAt: at(e.UpdatedAt.Time), GroupName: g.Name, GroupPath: g.Path, GroupID: g.ID, Username: e.User.Username,
		UserName: e.User.Name, UserEmail: shown(e.User.PublicEmail), UserID: e.User.ID, Access: e.access(), Event: e.Name,
	}
	if e.ExpiresOn != nil {
		day := *e.ExpiresOn + "T00:00:00Z"
		out.ExpiresAt = &day
	}
	return out, nil
}

// ProjectMember builds the body about a membership of p.
func (s *Service) ProjectMember(p *project.Project, e *MemberEvent) *ProjectMemberBody {
	return &ProjectMemberBody{
		CreatedAt: at(e.CreatedAt.Time), UpdatedAt: at(e.UpdatedAt.Time), Event: e.Name, Access: e.access(), ProjectID: p.ID, ProjectName: p.Name, ProjectPath: p.Path,
		Path: p.FullPath, Visibility: p.Visibility.String(), UserEmail: shown(e.User.PublicEmail), UserID: e.User.ID, UserName: e.User.Name, Username: e.User.Username,
	}
}

// Group builds the body about a group for hooks of the instance; old is the group before it was renamed, nil where it was not.
func (s *Service) Group(event string, g, old *namespace.Group, updated db.Time) *GroupBody {
	out := &GroupBody{
		CreatedAt: at(g.CreatedAt.Time), UpdatedAt: at(updated.Time), Event: event, Name: g.Name, Path: g.Path, FullPath: g.FullPath, GroupID: g.ID,
	}
	if old != nil {
		out.OldPath, out.OldFullPath = old.Path, old.FullPath
	}
	return out
}

// Subgroup builds the body about a subgroup. It is nil where the group above no longer exists.
func (s *Service) Subgroup(ctx context.Context, event string, g *namespace.Group, updated db.Time) (*SubgroupBody, error) {
	parent, err := s.group(ctx, *g.ParentID)
	if err != nil || parent == nil {
		return nil, err
	}
	return &SubgroupBody{
		CreatedAt: at(g.CreatedAt.Time), UpdatedAt: at(updated.Time), Event: event, Name: g.Name, Path: g.Path, FullPath: g.FullPath, GroupID: g.ID,
		ParentID: parent.ID, ParentName: parent.Name, ParentPath: parent.Path, ParentFullPath: parent.FullPath,
	}, nil
}

// ProjectEvent is what happened to a project.
type ProjectEvent struct {
	Name    string
	OldPath string  // full, of one that was renamed or transferred
	At      db.Time // when
	System  bool    // for hooks of the instance
}

// maxOwners bounds the owners in a body.
const maxOwners = 100

// ProjectEvent builds the body about a project itself.
func (s *Service) ProjectEvent(ctx context.Context, p *project.Project, e ProjectEvent) (*ProjectBody, error) {
	out := &ProjectBody{
		Event: e.Name, CreatedAt: at(p.CreatedAt.Time), UpdatedAt: at(e.At.Time), Name: p.Name, Path: p.Path, FullPath: p.FullPath, ProjectID: p.ID,
		NamespaceID: p.ParentID, Visibility: p.Visibility.String(), OldPath: e.OldPath,
	}
	var err error
	if p.Personal {
		out.Owners, err = db.Select[OwnerBlock](ctx, s.DB, "SELECT u.name, u.public_email AS email FROM users u WHERE u.namespace_id = ? ORDER BY u.id", p.ParentID)
	} else {
		out.Owners, err = db.Select[OwnerBlock](ctx, s.DB, `SELECT u.name, u.public_email AS email FROM members m JOIN users u ON u.id = m.user_id
			WHERE m.namespace_id = ? AND m.access_level = ? ORDER BY u.id LIMIT ?`, p.ParentID, authz.Owner, maxOwners)
	}
	if err != nil {
		return nil, fmt.Errorf("read owners of project: %w", err)
	}
	if out.Owners == nil {
		out.Owners = []OwnerBlock{}
	}
	for i := range out.Owners {
		out.Owners[i].Email = shown(out.Owners[i].Email)
	}
	if !e.System {
		return out, nil
	}
	if p.Personal && len(out.Owners) == 1 {
		out.OwnerName, out.OwnerEmail = out.Owners[0].Name, &out.Owners[0].Email
		return out, nil
	}
	parents, err := s.namesOf(ctx, []authz.NamespaceID{p.ParentID})
	none := ""
	out.OwnerName, out.OwnerEmail = parents[p.ParentID], &none
	return out, err
}

// User builds the body about a user for hooks of the instance.
func (s *Service) User(event string, u *account.User, now db.Time) *UserBody {
	return &UserBody{
		CreatedAt: at(u.CreatedAt.Time), UpdatedAt: at(now.Time), Event: event, Name: u.Name, Email: u.Email, UserID: u.ID, Username: u.Username,
	}
}

// Key builds the body about an SSH key for hooks of the instance.
func (s *Service) Key(event string, k *sshkey.Key, username string, now db.Time) *KeyBody {
	return &KeyBody{CreatedAt: at(k.CreatedAt.Time), UpdatedAt: at(now.Time), Event: event, Username: username, Key: k.PublicKey, ID: k.ID}
}
