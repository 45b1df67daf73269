package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
)

// mergeabilityEntity says whether a merge request can be merged, and what keeps it from that.
type mergeabilityEntity struct {
	IID                 mergerequest.IID         `json:"iid"`
	MergeStatus         mergerequest.MergeStatus `json:"merge_status"`
	DetailedMergeStatus string                   `json:"detailed_merge_status"`
	Message             *string                  `json:"message"` // of the first condition that is not met
	User                requestUser              `json:"user"`
	Conditions          []conditionEntity        `json:"conditions"`
}

// conditionEntity is one thing that a merge asks for.
type conditionEntity struct {
	Identifier  mergerequest.ConditionName  `json:"identifier"`
	Status      mergerequest.ConditionState `json:"status"`
	Message     *string                     `json:"message"`     // what is in the way
	Changeable  *changersEntity             `json:"changed_by"`  // who can have it met; null where it is met, or can never be
	Discussions []string                    `json:"discussions"` // IDs of the unresolved threads that it waits for
	Pipeline    *pipelineEntity             `json:"pipeline"`    // that it waits for

	MergeRequests []simpleMergeRequest `json:"merge_requests"`              // that it waits for
	Hidden        int                  `json:"hidden_merge_requests_count"` // the same, which the caller may not read
	Checks        []string             `json:"external_status_checks"`      // names of those that it waits for
}

// changersEntity is who can have a condition met.
type changersEntity struct {
	Permission  mergerequest.Permission `json:"permission"`
	AccessLevel *authz.Level            `json:"access_level"` // the least role; null where the rules of a branch decide
	Users       []userBasic             `json:"users"`        // whatever their role
	HiddenUsers bool                    `json:"hidden_users"` // members of groups that the caller may not see as well
	CurrentUser bool                    `json:"current_user"` // whether the caller can
}

func (s *Server) mergeability(ctx context.Context, as authz.Actor, in requestPath) (mergeabilityEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return mergeabilityEntity{}, err
	}
	v, err := s.MergeRequests.Mergeability(ctx, as, p, in.IID)
	if err != nil {
		return mergeabilityEntity{}, err
	}
	var ids []authz.UserID
	for i := range v.Conditions {
		ids = append(ids, v.Conditions[i].Users...)
	}
	people, err := s.Accounts.ByIDs(ctx, ids)
	if err != nil {
		return mergeabilityEntity{}, err
	}
	m := v.MergeRequest
	out := mergeabilityEntity{
		IID: m.IID, MergeStatus: m.Status, DetailedMergeStatus: v.Status, Message: present(v.Reason), User: requestUser{v.CanMerge},
		Conditions: make([]conditionEntity, len(v.Conditions)),
	}
	for i := range v.Conditions {
		c := &v.Conditions[i]
		e := conditionEntity{Identifier: c.Name, Status: c.State, Message: present(c.Reason), Discussions: append([]string{}, c.Discussions...), Checks: append([]string{}, c.Checks...)}
		if c.Change != "" {
			e.Changeable = &changersEntity{Permission: c.Change, AccessLevel: c.Level, Users: make([]userBasic, 0, len(c.Users)), HiddenUsers: c.HiddenUsers, CurrentUser: c.CanChange}
			for _, id := range c.Users {
				if u := people[id]; u != nil {
					e.Changeable.Users = append(e.Changeable.Users, newUserBasic(u))
				}
			}
		}
		if b := c.Build; b != nil && b.Head != nil {
			e.Pipeline = s.pipeline(b.Head.Project, &b.Head.Pipeline)
		}
		e.MergeRequests, e.Hidden = []simpleMergeRequest{}, c.Hidden
		blocking, err := s.MergeRequests.Views(ctx, as, c.Blocking, mergerequest.ViewOptions{})
		if err != nil {
			return out, err
		}
		for i := range blocking {
			e.MergeRequests = append(e.MergeRequests, newSimpleMergeRequest(&blocking[i]))
		}
		out.Conditions[i] = e
	}
	return out, nil
}
