package rest

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/pushrule"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("push_rules", (*Server).pushRuleRoutes)

func (s *Server) pushRuleRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlanningPlaces("push_rule", func(m mount) []*api.Route {
		if m.group {
			return pushRuleHandlers[groupPushRuleEntity]{m, newGroupPushRuleEntity}.routes()
		}
		return pushRuleHandlers[pushRuleEntity]{m, newPushRuleEntity}.routes()
	})...)
}

// pushRuleHandlers are the endpoints of projects or of groups, whose answers differ.
type pushRuleHandlers[E any] struct {
	m      mount
	entity func(r *pushrule.Rule) *E
}

func (h pushRuleHandlers[E]) routes() []*api.Route {
	read, admin := h.m.ability(authz.ReadPushRule, authz.ReadGroupPushRule), h.m.ability(authz.AdminPushRule, authz.AdminGroupPushRule)
	return []*api.Route{
		api.Get(h.m.path, h.get).Doc("Get the push rule of a " + h.m.noun).Needs(read),
		api.Post(h.m.path, h.create).Doc("Create the push rule of a " + h.m.noun).Needs(admin),
		api.Put(h.m.path, h.update).Timed().Doc("Update the push rule of a " + h.m.noun).Needs(admin),
		api.Delete(h.m.path, h.delete).Timed().Doc("Delete the push rule of a " + h.m.noun).Needs(admin),
	}
}

// termsEntity are the terms of a push rule.
type termsEntity struct {
	CreatedAt        api.Time `json:"created_at"`
	MessageRegex     string   `json:"commit_message_regex"`
	MessageNegative  string   `json:"commit_message_negative_regex"`
	BranchRegex      string   `json:"branch_name_regex"`
	DenyDeleteTag    bool     `json:"deny_delete_tag"`
	MemberCheck      bool     `json:"member_check"`
	PreventSecrets   bool     `json:"prevent_secrets"`
	EmailRegex       string   `json:"author_email_regex"`
	FileRegex        string   `json:"file_name_regex"`
	MaxFileSize      int64    `json:"max_file_size"`
	CommitterCheck   bool     `json:"commit_committer_check"`
	CommitterName    bool     `json:"commit_committer_name_check"`
	RejectUnsigned   bool     `json:"reject_unsigned_commits"`
	RejectWithoutDCO bool     `json:"reject_non_dco_commits"`
}

// pushRuleEntity is the push rule of a project.
type pushRuleEntity struct {
	ID        pushrule.ID `json:"id"`
	ProjectID *project.ID `json:"project_id"`
	termsEntity
}

// groupPushRuleEntity is the push rule of a group.
type groupPushRuleEntity struct {
	ID pushrule.ID `json:"id"`
	termsEntity
}

func newTermsEntity(r *pushrule.Rule) termsEntity {
	return termsEntity{
		CreatedAt: api.Time(r.CreatedAt.Time), MessageRegex: r.MessageRegex, MessageNegative: r.MessageNegative, BranchRegex: r.BranchRegex,
		DenyDeleteTag: r.DenyDeleteTag, MemberCheck: r.MemberCheck, PreventSecrets: r.PreventSecrets, EmailRegex: r.EmailRegex,
		FileRegex: r.FileRegex, MaxFileSize: r.MaxFileSize, CommitterCheck: r.CommitterCheck, CommitterName: r.CommitterName,
		RejectUnsigned: r.RejectUnsigned, RejectWithoutDCO: r.RejectWithoutDCO,
	}
}

func newPushRuleEntity(r *pushrule.Rule) *pushRuleEntity {
	return &pushRuleEntity{ID: r.ID, ProjectID: r.ProjectID, termsEntity: newTermsEntity(r)}
}

func newGroupPushRuleEntity(r *pushrule.Rule) *groupPushRuleEntity {
	return &groupPushRuleEntity{ID: r.ID, termsEntity: newTermsEntity(r)}
}

type termsParams struct {
	MessageRegex     *string `param:"commit_message_regex" doc:"Regular expression that commit messages must match"`
	MessageNegative  *string `param:"commit_message_negative_regex" doc:"Regular expression that commit messages must not match"`
	BranchRegex      *string `param:"branch_name_regex" doc:"Regular expression that branch names must match"`
	EmailRegex       *string `param:"author_email_regex" doc:"Regular expression that commit author and committer emails must match"`
	FileRegex        *string `param:"file_name_regex" doc:"Regular expression that committed file names must not match"`
	MaxFileSize      *int64  `param:"max_file_size" doc:"Maximum file size in MB; 0 is unlimited"`
	DenyDeleteTag    *bool   `param:"deny_delete_tag" doc:"Deny deleting tags"`
	MemberCheck      *bool   `param:"member_check" doc:"Restrict commits by author email to existing users"`
	PreventSecrets   *bool   `param:"prevent_secrets" doc:"Reject files that are likely to contain secrets"`
	CommitterCheck   *bool   `param:"commit_committer_check" doc:"Committers may only push commits with their own verified emails"`
	CommitterName    *bool   `param:"commit_committer_name_check" doc:"Commit author name must match the user's name"`
	RejectUnsigned   *bool   `param:"reject_unsigned_commits" doc:"Reject unsigned commits"`
	RejectWithoutDCO *bool   `param:"reject_non_dco_commits" doc:"Reject commits without a Signed-off-by line"`
}

func (p termsParams) changes() pushrule.Changes {
	return pushrule.Changes(p)
}

type placeTermsParams struct {
	placePath
	termsParams
}

func (h pushRuleHandlers[E]) get(ctx context.Context, as authz.Actor, in placePath) (*E, error) {
	at, err := h.m.place(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	r, err := h.m.s.PushRules.Find(ctx, as, at)
	if !h.m.group && errs.Is(err, errs.NotFound) {
		// A caller who may not see the project was refused above; its rule is null.
		return nil, nil
	}
	return h.answer(r, err)
}

func (h pushRuleHandlers[E]) answer(r *pushrule.Rule, err error) (*E, error) {
	if err != nil {
		return nil, err
	}
	return h.entity(r), nil
}

func (h pushRuleHandlers[E]) create(ctx context.Context, as authz.Actor, in placeTermsParams) (*E, error) {
	at, err := h.m.place(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	return h.answer(h.m.s.PushRules.Create(ctx, as, at, in.changes()))
}

func (h pushRuleHandlers[E]) update(ctx context.Context, as authz.Actor, in placeTermsParams) (*E, error) {
	at, err := h.m.place(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	return h.answer(h.m.s.PushRules.Update(ctx, as, at, in.changes()))
}

func (h pushRuleHandlers[E]) delete(ctx context.Context, as authz.Actor, in placePath) (api.None, error) {
	at, err := h.m.place(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.m.s.PushRules.Delete(ctx, as, at)
}
