package namespace_test

import (
	"context"
	"testing"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// What belongs to a user is for the user and for administrators; memberships are for those who see
// the place.
func TestService_ofUser(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		ann, bob, cat := f.user("ann"), f.user("bob"), f.user("cat")
		open, closed := f.group(ann, "open", nil, authz.Public), f.group(ann, "closed", nil, authz.Private)
		f.add(ann, at(open), bob, authz.Developer)
		f.add(ann, at(closed), bob, authz.Guest)
		both := []authz.UserID{ann.UserID, bob.UserID}
		for _, tt := range []struct {
			name            string
			as              authz.Actor
			counts, members int
			groups          int64
		}{
			{"administrator", f.admin, 2, 2, 2},
			{"the user", bob, 1, 2, 2},
			{"another member", ann, 1, 2, 0},
			{"a stranger", cat, 0, 1, 0},
			{"not signed in", authz.Actor{}, 0, 1, 0},
		} {
			counts, err := f.GroupCounts(ctx, tt.as, both)
			if err != nil || len(counts) != tt.counts || counts[bob.UserID] != tt.groups {
				t.Errorf("%s: groups %v, %v; want %d of bob", tt.name, counts, err, tt.groups)
			}
			personal, err := f.PersonalOf(ctx, tt.as, both)
			if err != nil || len(personal) != tt.counts {
				t.Errorf("%s: personal namespaces %v, %v; want %d", tt.name, personal, err, tt.counts)
			}
			list, err := f.MembersOfUser(ctx, tt.as, bob.UserID, namespace.GroupKind, page.Range{})
			if err != nil || len(list.Items) != tt.members {
				t.Errorf("%s: memberships %v, %v; want %d", tt.name, list.Items, err, tt.members)
			}
		}
		sizes, err := f.RootSizes(ctx, ann, []namespace.ID{open.ID, closed.ID})
		if err != nil || len(sizes) != 0 {
			t.Errorf("an owner measures groups: %v, %v", sizes, err)
		}
		places, err := f.PlacesByIDs(ctx, cat, []namespace.ID{open.ID, closed.ID})
		if err != nil || len(places) != 1 || places[open.ID] == nil {
			t.Errorf("a stranger sees %v, %v", places, err)
		}
	})
}
