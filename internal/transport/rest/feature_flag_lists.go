package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

type userListEntity struct {
	ID        featureflag.ListID `json:"id"`
	IID       int64              `json:"iid"`
	ProjectID project.ID         `json:"project_id"`
	Name      string             `json:"name"`
	UserXIDs  string             `json:"user_xids"`
	CreatedAt api.Time           `json:"created_at"`
	UpdatedAt api.Time           `json:"updated_at"`
}

func userListOf(l *featureflag.UserList) userListEntity {
	return userListEntity{l.ID, l.IID, l.ProjectID, l.Name, l.UserXIDs, api.Time(l.CreatedAt.Time), api.Time(l.UpdatedAt.Time)}
}

func userListFound(l *featureflag.UserList, err error) (userListEntity, error) {
	if err != nil {
		return userListEntity{}, err
	}
	return userListOf(l), nil
}

type listUserListsParams struct {
	projectPath
	api.Page
	Search string `param:"search" doc:"Part of the name"`
}

func (h flagHandlers) lists(ctx context.Context, as authz.Actor, in listUserListsParams) (api.List[userListEntity], error) {
	none := api.List[userListEntity]{}
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.flags.UserLists(ctx, as, p, featureflag.ListFilter{Search: in.Search, Range: in.Range()})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, userListOf), nil
}

type userListPath struct {
	projectPath
	IID int64 `param:"iid" doc:"Number of the user list in the project"`
}

func (h flagHandlers) getList(ctx context.Context, as authz.Actor, in userListPath) (userListEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return userListEntity{}, err
	}
	return userListFound(h.flags.UserList(ctx, as, p, in.IID))
}

type createUserListParams struct {
	projectPath
	Name     string `param:"name,required" doc:"Name of the user list"`
	UserXIDs string `param:"user_xids,required" doc:"IDs of the users, with commas between them"`
}

func (h flagHandlers) createList(ctx context.Context, as authz.Actor, in createUserListParams) (userListEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return userListEntity{}, err
	}
	return userListFound(h.flags.CreateUserList(ctx, as, p, featureflag.ListChanges{Name: &in.Name, UserXIDs: &in.UserXIDs}))
}

type updateUserListParams struct {
	userListPath
	Name     *string `param:"name" doc:"Name of the user list"`
	UserXIDs *string `param:"user_xids" doc:"IDs of the users, with commas between them"`
}

func (h flagHandlers) updateList(ctx context.Context, as authz.Actor, in updateUserListParams) (userListEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return userListEntity{}, err
	}
	return userListFound(h.flags.UpdateUserList(ctx, as, p, in.IID, featureflag.ListChanges{Name: in.Name, UserXIDs: in.UserXIDs}))
}

func (h flagHandlers) deleteList(ctx context.Context, as authz.Actor, in userListPath) (api.None, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.flags.DeleteUserList(ctx, as, p, in.IID)
}
