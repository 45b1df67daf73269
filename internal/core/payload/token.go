package payload

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// AccessTokenBody is the body about an access token of a project or group that expires soon.
type AccessTokenBody struct {
	Kind       string                `json:"object_kind"`
	Project    *ProjectBlock         `json:"project,omitempty"` // of the token of a project
	Group      *GroupBlock           `json:"group,omitempty"`   // of that of a group
	Attributes AccessTokenAttributes `json:"object_attributes"`
	Event      string                `json:"event_name"` // expiring_access_token
}

// AccessTokenAttributes are those of an access token.
type AccessTokenAttributes struct {
	UserID    authz.UserID `json:"user_id"`
	CreatedAt string       `json:"created_at"`
	ID        int64        `json:"id"`
	Name      string       `json:"name"`
	ExpiresAt *string      `json:"expires_at"` // YYYY-MM-DD
}

// AccessToken builds the body about an access token of p, or of a group where p is nil. It is nil where the group no longer exists.
func (s *Service) AccessToken(ctx context.Context, p *project.Project, group authz.NamespaceID, a AccessTokenAttributes) (*AccessTokenBody, error) {
	out := &AccessTokenBody{Kind: "access_token", Attributes: a, Event: "expiring_access_token"}
	var err error
	if p != nil {
		out.Project, err = s.projectBlock(ctx, p)
		return out, err
	}
	if out.Group, err = s.group(ctx, group); out.Group == nil {
		return nil, err
	}
	return out, err
}
