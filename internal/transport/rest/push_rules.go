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
	const ofProject, ofGroup = "/projects/:id/push_rule", "/groups/:id/push_rule"
	return api.Scoped(nil,
		api.Get(ofProject, s.pushRule).Doc("Get the push rule of a project").Needs(authz.ReadPushRule),
		api.Post(ofProject, s.createPushRule).Doc("Create the push rule of a project").Needs(authz.AdminPushRule),
		api.Put(ofProject, s.updatePushRule).Timed().Doc("Update the push rule of a project").Needs(authz.AdminPushRule),
		api.Delete(ofProject, s.deletePushRule).Timed().Doc("Delete the push rule of a project").Needs(authz.AdminPushRule),
		api.Get(ofGroup, s.groupPushRule).Doc("Get the push rule of a group").Needs(authz.ReadGroupPushRule),
		api.Post(ofGroup, s.createGroupPushRule).Doc("Create the push rule of a group").Needs(authz.AdminGroupPushRule),
		api.Put(ofGroup, s.updateGroupPushRule).Timed().Doc("Update the push rule of a group").Needs(authz.AdminGroupPushRule),
		api.Delete(ofGroup, s.deleteGroupPushRule).Timed().Doc("Delete the push rule of a group").Needs(authz.AdminGroupPushRule),
	)
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

func newPushRuleEntity(r *pushrule.Rule, err error) (*pushRuleEntity, error) {
	if err != nil {
		return nil, err
	}
	return &pushRuleEntity{ID: r.ID, ProjectID: r.ProjectID, termsEntity: newTermsEntity(r)}, nil
}

func newGroupPushRuleEntity(r *pushrule.Rule, err error) (*groupPushRuleEntity, error) {
	if err != nil {
		return nil, err
	}
	return &groupPushRuleEntity{ID: r.ID, termsEntity: newTermsEntity(r)}, nil
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

type projectTermsParams struct {
	projectPath
	termsParams
}

type groupTermsParams struct {
	groupPath
	termsParams
}

// ruled finds the project that a rule belongs to.
func (s *Server) ruled(ctx context.Context, as authz.Actor, in projectPath) (authz.Place, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return authz.Place{}, err
	}
	return p.Place(), nil
}

// ruledGroup finds the group that a rule belongs to.
func (s *Server) ruledGroup(ctx context.Context, as authz.Actor, in groupPath) (authz.Place, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return authz.Place{}, err
	}
	return g.Place(), nil
}

func (s *Server) pushRule(ctx context.Context, as authz.Actor, in projectPath) (*pushRuleEntity, error) {
	at, err := s.ruled(ctx, as, in)
	if err != nil {
		return nil, err
	}
	r, err := s.PushRules.Find(ctx, as, at)
	if errs.Is(err, errs.NotFound) {
		// A caller who may not see the project was refused above; its rule is null.
		return nil, nil
	}
	return newPushRuleEntity(r, err)
}

func (s *Server) createPushRule(ctx context.Context, as authz.Actor, in projectTermsParams) (*pushRuleEntity, error) {
	at, err := s.ruled(ctx, as, in.projectPath)
	if err != nil {
		return nil, err
	}
	return newPushRuleEntity(s.PushRules.Create(ctx, as, at, in.changes()))
}

func (s *Server) updatePushRule(ctx context.Context, as authz.Actor, in projectTermsParams) (*pushRuleEntity, error) {
	at, err := s.ruled(ctx, as, in.projectPath)
	if err != nil {
		return nil, err
	}
	return newPushRuleEntity(s.PushRules.Update(ctx, as, at, in.changes()))
}

func (s *Server) deletePushRule(ctx context.Context, as authz.Actor, in projectPath) (api.None, error) {
	at, err := s.ruled(ctx, as, in)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.PushRules.Delete(ctx, as, at)
}

func (s *Server) groupPushRule(ctx context.Context, as authz.Actor, in groupPath) (*groupPushRuleEntity, error) {
	at, err := s.ruledGroup(ctx, as, in)
	if err != nil {
		return nil, err
	}
	return newGroupPushRuleEntity(s.PushRules.Find(ctx, as, at))
}

func (s *Server) createGroupPushRule(ctx context.Context, as authz.Actor, in groupTermsParams) (*groupPushRuleEntity, error) {
	at, err := s.ruledGroup(ctx, as, in.groupPath)
	if err != nil {
		return nil, err
	}
	return newGroupPushRuleEntity(s.PushRules.Create(ctx, as, at, in.changes()))
}

func (s *Server) updateGroupPushRule(ctx context.Context, as authz.Actor, in groupTermsParams) (*groupPushRuleEntity, error) {
	at, err := s.ruledGroup(ctx, as, in.groupPath)
	if err != nil {
		return nil, err
	}
	return newGroupPushRuleEntity(s.PushRules.Update(ctx, as, at, in.changes()))
}

func (s *Server) deleteGroupPushRule(ctx context.Context, as authz.Actor, in groupPath) (api.None, error) {
	at, err := s.ruledGroup(ctx, as, in)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.PushRules.Delete(ctx, as, at)
}
