package rest

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/pushrule"
	"tenon/internal/transport/rest/api"
)

func (s *Server) pushRuleRoutes() []*api.Route {
	const ofProject, ofGroup = "/projects/:id/push_rule", "/groups/:id/push_rule"
	return api.Scoped(nil,
		api.Get(ofProject, s.pushRule).Doc("Show the push rule of a project; null where there is none").Needs(authz.ReadPushRule),
		api.Post(ofProject, s.createPushRule).Doc("Give a project a push rule").Needs(authz.AdminPushRule),
		api.Put(ofProject, s.updatePushRule).Timed().Doc("Change the push rule of a project").Needs(authz.AdminPushRule),
		api.Delete(ofProject, s.deletePushRule).Timed().Doc("Take the push rule of a project away").Needs(authz.AdminPushRule),
		api.Get(ofGroup, s.groupPushRule).Doc("Show the push rule that new projects of a group get").Needs(authz.ReadGroupPushRule),
		api.Post(ofGroup, s.createGroupPushRule).Doc("Give the new projects of a group a push rule").Needs(authz.AdminGroupPushRule),
		api.Put(ofGroup, s.updateGroupPushRule).Timed().Doc("Change the push rule that new projects of a group get").Needs(authz.AdminGroupPushRule),
		api.Delete(ofGroup, s.deleteGroupPushRule).Timed().Doc("Take the push rule of a group away").Needs(authz.AdminGroupPushRule),
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

// pushRuleEntity is the push rule of a project (facts-3 §29.5).
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
	MessageRegex     *string `param:"commit_message_regex" doc:"Every commit message must match this"`
	MessageNegative  *string `param:"commit_message_negative_regex" doc:"No commit message may match this"`
	BranchRegex      *string `param:"branch_name_regex" doc:"Every branch but the default one must match this"`
	EmailRegex       *string `param:"author_email_regex" doc:"Addresses of authors and committers must match this"`
	FileRegex        *string `param:"file_name_regex" doc:"No new file's name may match this"`
	MaxFileSize      *int64  `param:"max_file_size" doc:"Largest file in MB; 0 allows any"`
	DenyDeleteTag    *bool   `param:"deny_delete_tag" doc:"Nobody deletes tags by git"`
	MemberCheck      *bool   `param:"member_check" doc:"Authors and committers must be users"`
	PreventSecrets   *bool   `param:"prevent_secrets" doc:"Refuse files whose names are those of keys and passwords"`
	CommitterCheck   *bool   `param:"commit_committer_check" doc:"Committers must use their own verified addresses"`
	CommitterName    *bool   `param:"commit_committer_name_check" doc:"Committers must use the name of their account"`
	RejectUnsigned   *bool   `param:"reject_unsigned_commits" doc:"Pushed commits must be signed"`
	RejectWithoutDCO *bool   `param:"reject_non_dco_commits" doc:"Messages must have a line Signed-off-by"`
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
func (s *Server) ruled(ctx context.Context, as authz.Actor, in projectPath) (pushrule.Place, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return pushrule.Place{}, err
	}
	return pushrule.Of(p), nil
}

// ruledGroup finds the group that a rule belongs to.
func (s *Server) ruledGroup(ctx context.Context, as authz.Actor, in groupPath) (pushrule.Place, error) {
	g, err := s.Namespaces.Find(ctx, as, in.ID)
	if err != nil {
		return pushrule.Place{}, err
	}
	return pushrule.OfGroup(g), nil
}

func (s *Server) pushRule(ctx context.Context, as authz.Actor, in projectPath) (*pushRuleEntity, error) {
	at, err := s.ruled(ctx, as, in)
	if err != nil {
		return nil, err
	}
	r, err := s.PushRules.Find(ctx, as, at)
	if errs.Is(err, errs.NotFound) {
		// Whoever may not see the project was told so above; its rule is null.
		return nil, nil //nolint:nilnil // renders null
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
