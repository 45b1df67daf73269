package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

func (s *Server) userChangeRoutes() []*api.Route {
	moderate := func(verb, doc string, h api.Handler[userPath, *bool]) *api.Route {
		return api.Post("/users/:id/"+verb, h).Doc(doc).Needs(authz.AdminUsers)
	}
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Put("/users/:id", s.updateUser).Timed().Doc("Update a user").Needs(authz.AdminUsers),
		api.Delete("/users/:id", s.deleteUser).Timed().Doc("Delete a user").Needs(authz.AdminUsers),
		api.Post("/users/:id/reject", s.rejectUser).Doc("Reject a pending user sign-up").Needs(authz.AdminUsers).Status(http.StatusOK),
		moderate("block", "Block a user", s.blockUser),
		moderate("unblock", "Unblock a user", s.unblockUser),
		moderate("activate", "Activate a user", s.activateUser),
		moderate("deactivate", "Deactivate a user", s.deactivateUser),
		moderate("ban", "Ban a user", s.banUser),
		moderate("unban", "Unban a user", s.unbanUser),
	)
}

type updateUserParams struct {
	userPath
	Email              *string `param:"email" doc:"Primary email address; pending until confirmed"`
	SkipReconfirmation bool    `param:"skip_reconfirmation" doc:"Skip reconfirmation and treat the new email address as verified"`
	Username           *string `param:"username" doc:"Username; the old one redirects"`
	Name               *string `param:"name" doc:"Name"`
	Password           *string `param:"password" doc:"Password; expires at the next sign-in if set by an administrator"`
	PublicEmail        *string `param:"public_email" doc:"Public email: a verified email address"`
	CommitEmail        *string `param:"commit_email" doc:"Commit email: a verified email address, or _private"`
	userTexts
	userSwitches
	RunnerMinutes api.Opt[int64] `param:"shared_runners_minutes_limit" doc:"Maximum compute minutes per month; null inherits the default, 0 is unlimited"`
	ExtraMinutes  api.Opt[int64] `param:"extra_shared_runners_minutes_limit" doc:"Additional compute minutes"`
	Provider      string         `param:"provider" doc:"Name of the external provider"`
	ExternUID     string         `param:"extern_uid" doc:"External UID at the provider"`
	_             struct{}       `allornone:"extern_uid,provider"`
	avatarParam
}

func (s *Server) updateUser(ctx context.Context, as authz.Actor, p updateUserParams) (userEntity, error) {
	id, err := p.id()
	if err != nil {
		return userEntity{}, err
	}
	sent, err := s.picture(p.avatarParam)
	if err != nil {
		return userEntity{}, err
	}
	u, err := s.Accounts.Update(ctx, as, id, account.Changes{
		Email: p.Email, SkipReconfirmation: p.SkipReconfirmation, Username: p.Username, Name: p.Name, Password: p.Password,
		PublicEmail: p.PublicEmail, CommitEmail: p.CommitEmail, Admin: p.Admin, Auditor: p.Auditor, External: p.External,
		PrivateProfile: p.PrivateProfile, CanCreateGroup: p.CanCreateGroup, FileByFile: p.FileByFile,
		ProjectsLimit: p.ProjectsLimit, ThemeID: p.ThemeID, ColorSchemeID: p.ColorSchemeID,
		RunnerMinutes: account.Limit{Set: p.RunnerMinutes.Set, Value: p.RunnerMinutes.Ptr()},
		ExtraMinutes:  account.Limit{Set: p.ExtraMinutes.Set, Value: p.ExtraMinutes.Ptr()},
		Bio:           p.Bio, Location: p.Location, Skype: p.Skype, LinkedIn: p.LinkedIn, Twitter: p.Twitter, Discord: p.Discord,
		WebsiteURL: p.WebsiteURL, Organization: p.Organization, JobTitle: p.JobTitle, Pronouns: p.Pronouns, Note: p.Note,
		Provider: p.Provider, ExternUID: p.ExternUID,
	})
	if err != nil {
		return userEntity{}, err
	}
	if err := s.portrayed(ctx, as, u, sent); err != nil {
		return userEntity{}, err
	}
	return s.shownUser(ctx, as, u, account.ViewOptions{})
}

type deleteUserParams struct {
	userPath
	HardDelete bool `param:"hard_delete" doc:"Also delete contributions and groups owned solely by this user"`
}

func (s *Server) deleteUser(ctx context.Context, as authz.Actor, p deleteUserParams) (api.None, error) {
	id, err := p.id()
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Accounts.Delete(ctx, as, id, account.Removal{Hard: p.HardDelete})
}

func (s *Server) rejectUser(ctx context.Context, as authz.Actor, p userPath) (successEntity, error) {
	id, err := p.id()
	if err != nil {
		return successEntity{}, err
	}
	return successEntity{"Success"}, s.Accounts.Reject(ctx, as, id)
}

// The answer of a moderation is true; what had been so before is null or false, verb by verb.
func moderated(done bool, otherwise *bool, err error) (*bool, error) {
	if err != nil || !done {
		return otherwise, err
	}
	return &done, nil
}

func (s *Server) blockUser(ctx context.Context, as authz.Actor, p userPath) (*bool, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	done, err := s.Accounts.Block(ctx, as, id)
	return moderated(done, nil, err)
}

func (s *Server) unblockUser(ctx context.Context, as authz.Actor, p userPath) (*bool, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	done, err := s.Accounts.Unblock(ctx, as, id)
	return moderated(done, new(bool), err)
}

func (s *Server) activateUser(ctx context.Context, as authz.Actor, p userPath) (*bool, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	return moderated(true, nil, s.Accounts.Activate(ctx, as, id))
}

func (s *Server) deactivateUser(ctx context.Context, as authz.Actor, p userPath) (*bool, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	done, err := s.Accounts.Deactivate(ctx, as, id)
	return moderated(done, nil, err)
}

func (s *Server) banUser(ctx context.Context, as authz.Actor, p userPath) (*bool, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	return moderated(true, nil, s.Accounts.Ban(ctx, as, id))
}

func (s *Server) unbanUser(ctx context.Context, as authz.Actor, p userPath) (*bool, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	return moderated(true, nil, s.Accounts.Unban(ctx, as, id))
}
