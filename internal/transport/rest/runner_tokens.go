package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/runner"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("runners", (*Server).runnerProgramRoutes)

// runnerProgramRoutes are those that the programs of runners call: the token in the body is the
// permission.
func (s *Server) runnerProgramRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Post("/runners", s.registerRunner).Doc("Register a runner").Public(),
		api.Delete("/runners", s.unregisterRunner).Doc("Delete a runner by its authentication token").Public(),
		api.Delete("/runners/managers", s.deleteRunnerManager).Doc("Delete a manager of a runner").Public(),
		api.Post("/runners/verify", s.verifyRunner).Doc("Verify the authentication token of a runner").Status(http.StatusOK).Public(),
		api.Post("/runners/reset_authentication_token", s.resetOwnRunnerToken).Doc("Reset the authentication token of a runner by the token").Public(),
	)
}

// programParams is what a program says of itself.
type programParams struct {
	Name         *string `param:"name" doc:"Name of the program"`
	Version      *string `param:"version" doc:"Version of the program"`
	Revision     *string `param:"revision" doc:"Revision of the program"`
	Platform     *string `param:"platform" doc:"Platform of the machine"`
	Architecture *string `param:"architecture" doc:"Architecture of the machine"`
}

func (p *programParams) info() runner.Info {
	if p == nil {
		return runner.Info{}
	}
	return runner.Info(*p)
}

type registerRunnerParams struct {
	Token string         `param:"token,required" doc:"Registration token"`
	Info  *programParams `param:"info" doc:"What the program says of itself"`
	runnerAttributes
	Active *bool    `param:"active" doc:"Deprecated: use paused"`
	_      struct{} `exclusive:"active,paused"`
}

func (s *Server) registerRunner(ctx context.Context, as authz.Actor, p registerRunnerParams) (runnerCredentials, error) {
	c := p.changes()
	activeAs(&c, p.Active)
	r, token, err := s.Runners.Register(ctx, as, runner.Registration{Token: p.Token, Info: p.Info.info(), Address: as.Address, Changes: c})
	if err != nil {
		return runnerCredentials{}, err
	}
	return runnerCredentials{r.ID, tokenOf(r, token)}, nil
}

type runnerTokenParams struct {
	Token string `param:"token,required" doc:"Authentication token of the runner"`
}

func (s *Server) unregisterRunner(ctx context.Context, as authz.Actor, p runnerTokenParams) (api.None, error) {
	return api.None{}, s.Runners.Unregister(ctx, as, p.Token)
}

type runnerManagerParams struct {
	runnerTokenParams
	SystemID string `param:"system_id,required" doc:"System ID of the machine"`
}

func (s *Server) deleteRunnerManager(ctx context.Context, _ authz.Actor, p runnerManagerParams) (api.None, error) {
	return api.None{}, s.Runners.DeleteManager(ctx, p.Token, p.SystemID)
}

type verifyRunnerParams struct {
	runnerTokenParams
	SystemID string `param:"system_id" doc:"System ID of the machine"`
}

func (s *Server) verifyRunner(ctx context.Context, as authz.Actor, p verifyRunnerParams) (runnerCredentials, error) {
	r, err := s.Runners.Verify(ctx, p.Token, p.SystemID, as.Address)
	if err != nil {
		return runnerCredentials{}, err
	}
	return runnerCredentials{r.ID, tokenOf(r, p.Token)}, nil
}

func (s *Server) resetOwnRunnerToken(ctx context.Context, as authz.Actor, p runnerTokenParams) (runnerTokenEntity, error) {
	r, token, err := s.Runners.ResetOwnToken(ctx, as, p.Token)
	if err != nil {
		return runnerTokenEntity{}, err
	}
	return tokenOf(r, token), nil
}
