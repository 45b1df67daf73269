package namespace_test

import (
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// A part of a view is there for the callers that may see it, and for no one else.
func TestService_Views(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		owner, maintainer := f.user("owner"), f.user("maintainer")
		g := f.group(owner, "team", nil, authz.Public)
		f.add(owner, g.Place(), maintainer, authz.Maintainer)
		protocol, limit := "ssh", int64(5)
		change := namespace.GroupChanges{SizeLimit: &namespace.SizeLimit{Bytes: &limit}}
		change.Settings.EnabledGitAccessProtocol = &protocol
		if _, err := f.Update(t.Context(), f.admin, "team", change); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name                string
			as                  authz.Actor
			owned, limit, sizes bool
		}{
			{"no one", authz.Actor{}, false, false, false},
			{"maintainer", maintainer, false, false, false},
			{"owner", owner, true, false, false},
			{"administrator", f.admin, true, true, true},
		} {
			found, err := f.Find(t.Context(), tt.as, "team")
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			views, err := f.Views(t.Context(), tt.as, []namespace.Group{*found}, namespace.GroupViewOptions{Shares: true, Sizes: true})
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			v := views[0]
			if got, want := [...]bool{v.Owned != nil, v.SizeLimit != nil, v.Sizes != nil}, [...]bool{tt.owned, tt.limit, tt.sizes}; got != want {
				t.Errorf("%s: owned, limit, sizes: got %v, want %v", tt.name, got, want)
			}
			if v.RepositorySizeLimit != nil || v.Settings.EnabledGitAccessProtocol != nil || v.SettingsJSON != "" {
				t.Errorf("%s: the group itself shows what a part holds", tt.name)
			}
		}
	})
}

// Compute minutes are for administrators; what others send is left alone.
func TestService_Update_minutes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		owner := f.user("owner")
		f.group(owner, "team", nil, authz.Private)
		minutes := int64(50)
		var change namespace.GroupChanges
		change.Settings.SharedRunnersMinutesLimit = &minutes
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want bool
		}{{"owner", owner, false}, {"administrator", f.admin, true}} {
			g, err := f.Update(t.Context(), tt.as, "team", change)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if got := g.Settings().SharedRunnersMinutesLimit; (got != nil) != tt.want {
				t.Errorf("%s: got %v, want it set: %v", tt.name, got, tt.want)
			}
		}
	})
}
