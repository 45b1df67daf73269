package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("members", (*Server).memberRoutes)

func (s *Server) memberRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlaces("members", func(m mount) []*api.Route {
		read, admin := m.ability(authz.ReadMembers, authz.ReadGroupMembers), m.ability(authz.AdminMembers, authz.AdminGroupMembers)
		rate := limit.ProjectMembers
		if m.group {
			rate = "" // groups have no limit of their own
		}
		return []*api.Route{
			api.Get(m.path, m.list).Doc("List the direct members of a " + m.noun).Needs(read).Public().Rate(rate),
			api.Get(m.path+"/all", m.listAll).Doc("List the direct, inherited and invited members of a " + m.noun).Needs(read).Public().Rate(rate),
			api.Get(m.path+"/:user_id", m.get).Doc("Get a direct member of a " + m.noun).Needs(read).Public(),
			api.Get(m.path+"/all/:user_id", m.getAll).Doc("Get a direct, inherited or invited member of a " + m.noun).Needs(read).Public(),
			api.Post(m.path, m.add).Doc("Add a member to a " + m.noun).Needs(admin),
			api.Put(m.path+"/:user_id", m.change).Timed().Doc("Update a member of a " + m.noun).Needs(admin),
			api.Delete(m.path+"/:user_id", m.remove).Timed().Doc("Remove a member from a "+m.noun).Needs(admin, read),
		}
	})...)
}

type listMembersParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
	Query        string   `param:"query" doc:"Search in names and usernames"`
	UserIDs      api.Ints `param:"user_ids" doc:"IDs of users to return"`
	SkipUsers    api.Ints `param:"skip_users" doc:"IDs of users to exclude"`
	ShowSeatInfo bool     `param:"show_seat_info" doc:"Include is_using_seat"`
}

type listAllMembersParams struct {
	listMembersParams
	State string `param:"state" values:"awaiting,active" doc:"awaiting or active"`
}

func (m mount) list(ctx context.Context, as authz.Actor, p listMembersParams) (api.List[memberEntity], error) {
	return m.page(ctx, as, p, namespace.MemberFilter{})
}

func (m mount) listAll(ctx context.Context, as authz.Actor, p listAllMembersParams) (api.List[memberEntity], error) {
	return m.page(ctx, as, p.listMembersParams, namespace.MemberFilter{Inherited: true, State: p.State})
}

func (m mount) page(ctx context.Context, as authz.Actor, p listMembersParams, f namespace.MemberFilter) (api.List[memberEntity], error) {
	none := api.List[memberEntity]{}
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	f.Query, f.Range = p.Query, p.Range()
	if len(p.UserIDs) > 0 {
		f.UserIDs = memberIDs(p.UserIDs)
	}
	f.Skip = memberIDs(p.SkipUsers)
	list, err := m.s.Namespaces.Members(ctx, as, at, f)
	if err != nil {
		return none, err
	}
	items, err := m.s.members(ctx, list.Items, p.ShowSeatInfo)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

func memberIDs(list api.Ints) []authz.UserID {
	out := make([]authz.UserID, len(list))
	for i, id := range list {
		out[i] = authz.UserID(id)
	}
	return out
}

// memberPath names a member by place and number.
type memberPath struct {
	ID     string       `param:"id" doc:"ID or URL-encoded path"`
	UserID authz.UserID `param:"user_id" doc:"ID of the user"`
}

func (m mount) get(ctx context.Context, as authz.Actor, p memberPath) (memberEntity, error) {
	return m.one(ctx, as, p, namespace.MemberFilter{})
}

func (m mount) getAll(ctx context.Context, as authz.Actor, p memberPath) (memberEntity, error) {
	return m.one(ctx, as, p, namespace.MemberFilter{Inherited: true})
}

func (m mount) one(ctx context.Context, as authz.Actor, p memberPath, f namespace.MemberFilter) (memberEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return memberEntity{}, err
	}
	found, err := m.s.Namespaces.Member(ctx, as, at, p.UserID, f)
	if err != nil {
		return memberEntity{}, err
	}
	return m.s.member(ctx, found, false)
}

type addMemberParams struct {
	ID       string   `param:"id" doc:"ID or URL-encoded path"`
	Level    int      `param:"access_level,required" doc:"Access level"`
	UserID   *string  `param:"user_id" doc:"ID of the user, or several separated by commas"`
	Username *string  `param:"username" doc:"Username, or several separated by commas"`
	_        struct{} `exclusive:"user_id,username"`
	_        struct{} `atleastone:"user_id,username"`
	Expires  api.Date `param:"expires_at" doc:"Expiry date of the membership, YYYY-MM-DD"`
	Source   string   `param:"invite_source" doc:"Source of the invitation"`
}

// outcome is the answer for several members at once.
type memberOutcome struct {
	Status  string            `json:"status"`
	Message map[string]string `json:"message,omitempty"`
}

// addedForm is the member that was added, or what came of adding several.
type addedForm interface {
	OneOf(one memberEntity, several memberOutcome)
}

// OneOf names the answers to an addition.
func (memberEntity) OneOf(memberEntity, memberOutcome) {}

// OneOf names the answers to an addition.
func (memberOutcome) OneOf(memberEntity, memberOutcome) {}

func (m mount) add(ctx context.Context, as authz.Actor, p addMemberParams) (addedForm, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	in := namespace.MemberInput{Level: authz.Level(p.Level)}
	if p.Expires != "" {
		in.ExpiresOn = (*string)(&p.Expires)
	}
	if many := p.several(); many != nil {
		if len(many) > maxInvitations {
			return nil, tooMany()
		}
		return m.addMany(ctx, as, at, in, many)
	}
	if p.Username != nil {
		in.Username = *p.Username
	} else if p.UserID != nil { // both may be null
		in.UserID = memberID(*p.UserID)
	}
	if in.Username == "" && in.UserID == 0 {
		return nil, errs.Missing("User")
	}
	added, err := m.s.Namespaces.Add(ctx, as, at, in)
	var high *namespace.TooHigh
	if errors.As(err, &high) {
		return nil, &api.Answer{Status: http.StatusBadRequest, Body: map[string]string{"status": "error", "message": high.Error()}}
	}
	if err != nil {
		return nil, err
	}
	return m.s.member(ctx, added, false)
}

// several returns the items of a list with commas, nil for one user.
func (p *addMemberParams) several() []string {
	text := p.UserID
	if text == nil {
		text = p.Username
	}
	if text == nil || !strings.Contains(*text, ",") {
		return nil
	}
	return strings.Split(*text, ",")
}

func memberID(text string) authz.UserID {
	id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return authz.UserID(id)
}

// addMany adds each user on its own and reports those it could not add.
func (m mount) addMany(ctx context.Context, as authz.Actor, at authz.Place, in namespace.MemberInput, many []string) (addedForm, error) {
	out := memberOutcome{Status: "success"}
	for _, item := range many {
		item = strings.TrimSpace(item)
		one := in
		if one.UserID = memberID(item); one.UserID == 0 {
			one.Username = item
		}
		_, err := m.s.Namespaces.Add(ctx, as, at, one)
		var e *errs.Error
		switch {
		case err == nil:
			continue
		case !errors.As(err, &e), e.Kind == errs.Internal:
			return nil, err
		case e.Kind == errs.Forbidden, e.Kind == errs.Unauthorized, e.Kind == errs.NotFound && e.Message != "User":
			return nil, err
		}
		if out.Message == nil {
			out.Status, out.Message = "error", map[string]string{}
		}
		out.Message[item] = reason(e)
	}
	return out, nil
}

// reason is an error as one sentence beside a user's name.
func reason(e *errs.Error) string {
	if len(e.Fields) > 0 {
		return strings.ToUpper(e.Fields[0].Name[:1]) + strings.ReplaceAll(e.Fields[0].Name[1:], "_", " ") + " " + e.Fields[0].Messages[0]
	}
	return e.Error()
}

type changeMemberParams struct {
	memberPath
	Level   int               `param:"access_level,required" doc:"Access level"`
	Expires api.Opt[api.Date] `param:"expires_at" doc:"Expiry date of the membership, YYYY-MM-DD"`
	RoleID  *int64            `param:"member_role_id" doc:"ID of the custom role"`
}

func (m mount) change(ctx context.Context, as authz.Actor, p changeMemberParams) (memberEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return memberEntity{}, err
	}
	c := namespace.MemberChanges{Level: authz.Level(p.Level)}
	if p.Expires.Set {
		day := (*string)(p.Expires.Ptr())
		if day != nil && *day == "" {
			day = nil
		}
		c.ExpiresOn = &day
	}
	changed, err := m.s.Namespaces.Change(ctx, as, at, p.UserID, c)
	if err != nil {
		return memberEntity{}, err
	}
	return m.s.member(ctx, changed, false)
}

type removeMemberParams struct {
	memberPath
	SkipSubresources  bool `param:"skip_subresources" doc:"Keep memberships in subgroups and projects"`
	UnassignIssuables bool `param:"unassign_issuables" doc:"Unassign the user from issues and merge requests"`
}

func (m mount) remove(ctx context.Context, as authz.Actor, p removeMemberParams) (api.None, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.Namespaces.Delete(ctx, as, at, p.UserID, namespace.Removal{Below: !p.SkipSubresources, Unassign: p.UnassignIssuables})
}
