package audit

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/core/accesstoken"
	"tenon/internal/core/authz"
)

// BotTokenCreated records a new access token of a project or group.
func (r *Recorder) BotTokenCreated(ctx context.Context, e accesstoken.Created) error {
	out, kind := at(e.Place), accesstoken.Kind(e.Place)
	out.By, out.TargetType, out.TargetID, out.Event = e.By, "PersonalAccessToken", int64(e.Token.ID), kind+"_access_token_created"
	out.Message = fmt.Sprintf("Created %s access token with token_id: %d with scopes: [%s]", kind, e.Token.ID, list(e.Token.Scopes()))
	return r.Record(ctx, out)
}

// BotTokenRevoked records the end of an access token of a project or group.
func (r *Recorder) BotTokenRevoked(ctx context.Context, e accesstoken.Revoked) error {
	out, kind := at(e.Place), accesstoken.Kind(e.Place)
	out.By, out.TargetType, out.TargetID, out.Event = e.By, "PersonalAccessToken", int64(e.Token.ID), kind+"_access_token_deleted"
	out.Message = fmt.Sprintf("Revoked %s access token with token_id: %d", kind, e.Token.ID)
	return r.Record(ctx, out)
}

// DeployTokenCreated records a new deploy token of a project or group.
func (r *Recorder) DeployTokenCreated(ctx context.Context, e accesstoken.DeployCreated) error {
	out := aboutDeployToken(e.DeployChange, "deploy_token_created")
	out.Message = fmt.Sprintf("Created %s deploy token with name: %s with token_id: %d with scopes: [%s]",
		accesstoken.Kind(e.Place), e.Name, e.TokenID, list(e.Scopes))
	return r.Record(ctx, out)
}

// DeployTokenDestroyed records the end of a deploy token of a project or group.
func (r *Recorder) DeployTokenDestroyed(ctx context.Context, e accesstoken.DeployDestroyed) error {
	out := aboutDeployToken(e.DeployChange, "deploy_token_destroyed")
	out.Message = fmt.Sprintf("Destroyed %s deploy token with name: %s with token_id: %d with scopes: [%s]",
		accesstoken.Kind(e.Place), e.Name, e.TokenID, list(e.Scopes))
	return r.Record(ctx, out)
}

func aboutDeployToken(e accesstoken.DeployChange, event string) Entry {
	out := at(e.Place)
	out.By, out.TargetType, out.TargetID, out.TargetDetails, out.Event = e.By, "DeployToken", int64(e.TokenID), e.Name, event
	return out
}

func list(scopes authz.Scopes) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = `"` + string(s) + `"`
	}
	return strings.Join(words, ", ")
}
