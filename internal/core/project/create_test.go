package project_test

import (
	"fmt"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// New projects, and those of new subgroups, begin without instance runners where the group says so.
func TestService_Create_sharedRunners(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann := f.user("ann", 10)
		team := f.group(ann, "team", authz.Private)
		for i, tt := range []struct {
			setting string
			asked   *bool
			want    bool
		}{
			{"enabled", nil, true},
			{"enabled", ptr(false), false},
			{"disabled_and_overridable", nil, false},
			{"disabled_and_overridable", ptr(true), true},
			{"disabled_and_unoverridable", nil, false},
		} {
			if _, err := f.spaces.Update(t.Context(), f.admin, "team", namespace.GroupChanges{GroupAttributes: namespace.GroupAttributes{SharedRunnersSetting: &tt.setting}}); err != nil {
				t.Fatal(err)
			}
			below, err := f.spaces.Create(t.Context(), ann, namespace.GroupInput{
				ParentID: &team.ID, GroupChanges: namespace.GroupChanges{Name: ptr(fmt.Sprint("below", i)), Path: ptr(fmt.Sprint("below", i))},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range []*namespace.Group{team, below} {
				made := input(fmt.Sprint("app", i), in, authz.Private)
				made.SharedRunnersEnabled = tt.asked
				if p, err := f.Create(t.Context(), ann, made); err != nil || p.SharedRunnersEnabled != tt.want {
					t.Errorf("%s, asked for %v, in %s: got %+v, %v, want %v", tt.setting, tt.asked, in.FullPath, p, err, tt.want)
				}
			}
		}
	})
}
