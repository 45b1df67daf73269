package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/transport/rest/api"
)

func (s *Server) userStatusRoutes() []*api.Route {
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get("/user/status", s.ownStatus).Doc("Get the status of the current user").Needs(authz.ReadOwnUser),
		api.Get("/users/:id/status", s.userStatus).Doc("Get the status of a user").Needs(authz.ReadUserStatus).Public().Rate(limit.UserStatus),
		api.Put("/user/status", s.putStatus).Timed().Doc("Set the status of the current user").Needs(authz.UpdateOwnUser),
		api.Patch("/user/status", s.patchStatus).Timed().Gives("application/json", statusEntity{}).Doc("Update the status of the current user").Needs(authz.UpdateOwnUser),
	)
}

// statusEntity is a status; all but message_html are null where a user says nothing.
type statusEntity struct {
	Emoji         *string   `json:"emoji"`
	Message       *string   `json:"message"`
	Availability  *string   `json:"availability"`
	MessageHTML   string    `json:"message_html"`
	ClearStatusAt *api.Time `json:"clear_status_at"`
}

func statusOf(st account.Status) statusEntity {
	if st.Empty() {
		return statusEntity{}
	}
	e := statusEntity{Emoji: &st.Emoji, Availability: &st.Availability, MessageHTML: html.EscapeString(st.Message)}
	if st.Message != "" {
		e.Message = &st.Message
	}
	if st.ClearAt != nil {
		e.ClearStatusAt = api.TimePtr(&st.ClearAt.Time)
	}
	return e
}

func (s *Server) ownStatus(ctx context.Context, as authz.Actor, _ struct{}) (statusEntity, error) {
	st, err := s.Accounts.OwnStatus(ctx, as)
	return statusOf(st), err
}

type userStatusParams struct {
	User string `param:"id" doc:"ID or username of the user"`
}

func (s *Server) userStatus(ctx context.Context, as authz.Actor, p userStatusParams) (statusEntity, error) {
	st, err := s.Accounts.StatusOf(ctx, as, p.User)
	return statusOf(st), err
}

type putStatusParams struct {
	Emoji        string `param:"emoji" doc:"Emoji name; defaults to speech_balloon"`
	Message      string `param:"message" doc:"Status message, at most 100 characters"`
	Availability string `param:"availability" values:"not_set,busy" doc:"Availability: not_set or busy"`
	ClearAfter   string `param:"clear_status_after" values:"30_minutes,3_hours,8_hours,1_day,3_days,7_days,30_days" doc:"Time after which the status is cleared"`
}

// putStatus replaces the whole: what is not sent is taken away.
func (s *Server) putStatus(ctx context.Context, as authz.Actor, p putStatusParams) (statusEntity, error) {
	st, err := s.Accounts.SetStatus(ctx, as, account.StatusChanges{
		Emoji: &p.Emoji, Message: &p.Message, Availability: &p.Availability, ClearAfter: &p.ClearAfter,
	})
	return statusOf(st), err
}

type patchStatusParams struct {
	Emoji        api.Opt[string] `param:"emoji" doc:"Emoji name"`
	Message      api.Opt[string] `param:"message" doc:"Status message, at most 100 characters"`
	Availability api.Opt[string] `param:"availability" values:"not_set,busy" doc:"Availability: not_set or busy"`
	ClearAfter   api.Opt[string] `param:"clear_status_after" values:"30_minutes,3_hours,8_hours,1_day,3_days,7_days,30_days" doc:"Time after which the status is cleared"`
}

// patchStatus leaves alone what is not sent; where nothing is, the answer has no body.
func (s *Server) patchStatus(ctx context.Context, as authz.Actor, p patchStatusParams) (api.Raw, error) {
	c := account.StatusChanges{
		Emoji: p.Emoji.OrZero(), Message: p.Message.OrZero(), Availability: p.Availability.OrZero(), ClearAfter: p.ClearAfter.OrZero(),
	}
	if c == (account.StatusChanges{}) {
		_, err := s.Accounts.SetStatus(ctx, as, c) // for the right to it; nothing changes
		return api.Raw{Type: "application/json"}, err
	}
	st, err := s.Accounts.SetStatus(ctx, as, c)
	if err != nil {
		return api.Raw{}, err
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // as all answers are
	if err := encoder.Encode(statusOf(st)); err != nil {
		return api.Raw{}, fmt.Errorf("encode status: %w", err)
	}
	return api.Raw{Type: "application/json", Bytes: bytes.TrimSpace(body.Bytes())}, nil
}
