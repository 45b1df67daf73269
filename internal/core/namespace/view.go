package namespace

import (
	"context"
	"fmt"

	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
)

// GroupView is a group as one caller may see it: a part that is nil is not for the caller,
// and the group has no value that a part holds.
type GroupView struct {
	Group
	Settings GroupSettings
	Shares   []Share // visible ones, where wanted

	Owned            *OwnedView            // for owners
	SizeLimit        *int64                // bytes; for administrators, nil where the group has none of its own
	Sizes            *Sizes                // for administrators, where wanted: they count projects that others do not see
	CustomAttributes []attribute.Attribute // for administrators, where wanted; nil otherwise
}

// OwnedView is what owners see of a group.
type OwnedView struct {
	EnabledGitAccessProtocol *string
}

// GroupViewOptions are the parts of a view that cost a statement and are not always wanted.
type GroupViewOptions struct {
	Shares           bool
	Sizes            bool
	CustomAttributes bool
}

// Views returns groups as the caller may see them, with as many statements for many as for one.
// Whether the caller owns a group is known where it was read for the caller.
func (s *Service) Views(ctx context.Context, as authz.Actor, groups []Group, want GroupViewOptions) ([]GroupView, error) {
	ids, owners := make([]ID, len(groups)), make([]int64, len(groups))
	for i := range groups {
		ids[i], owners[i] = groups[i].ID, int64(groups[i].ID)
	}
	var (
		shares     map[ID][]Share
		sizes      map[ID]Sizes
		attributes map[int64][]attribute.Attribute
		err        error
	)
	if want.Shares {
		if shares, err = s.Shares(ctx, as, ids); err != nil {
			return nil, err
		}
	}
	if want.Sizes && as.Admin {
		if sizes, err = s.Sizes(ctx, ids); err != nil {
			return nil, err
		}
	}
	if want.CustomAttributes && as.Admin {
		if attributes, err = s.Attributes.ByOwners(ctx, attribute.Group, owners); err != nil {
			return nil, fmt.Errorf("views of groups: %w", err)
		}
	}
	out := make([]GroupView, len(groups))
	for i := range groups {
		owns := as.Admin || groups[i].Level >= authz.Owner
		if !owns && groups[i].Level == authz.Barred { // an owner outside of the group's own addresses; lists have no such group
			var err error
			if owns, err = s.Policy.Can(ctx, as, authz.AdminGroup, groups[i].Subject()); err != nil {
				return nil, err
			}
		}
		out[i] = newView(as, groups[i], owns)
		id := groups[i].ID
		out[i].Shares, out[i].CustomAttributes = shares[id], attributes[int64(id)]
		if size, ok := sizes[id]; ok {
			out[i].Sizes = &size
		}
	}
	return out, nil
}

func newView(as authz.Actor, g Group, owns bool) GroupView {
	v := GroupView{Group: g, Settings: g.Settings()}
	if as.Admin {
		v.SizeLimit = g.RepositorySizeLimit
	}
	if owns {
		v.Owned = &OwnedView{EnabledGitAccessProtocol: v.Settings.EnabledGitAccessProtocol}
	}
	v.Settings.EnabledGitAccessProtocol, v.Group.RepositorySizeLimit, v.SettingsJSON = nil, nil, ""
	return v
}
