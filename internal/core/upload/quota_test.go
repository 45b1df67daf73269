package upload_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
)

// Files count against the limits of the project and of the user, and those of people from
// outside against a limit that is on by default.
func TestService_Create_limits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		set := coretest.Setter(t, w.settings)
		put := func(as authz.Actor, id project.ID) error {
			_, err := w.Create(ctx, as, w.at(id), "a.txt", strings.NewReader(strings.Repeat("x", 600<<10)))
			return err
		}
		if n := w.settings.Current().ExternalUserStorageLimit; n != 1024 {
			t.Errorf("people from outside may store %d MB by default, want 1024", n)
		}
		external := w.gus
		external.External = true
		for _, tt := range []struct {
			name, setting string
			as            authz.Actor
			id            project.ID
			second        bool // is refused
		}{
			{"a member below the limit of outsiders", "external_user_storage_limit", w.mary, w.shop, false},
			{"a stranger in a public project", "external_user_storage_limit", w.stan, w.den, true},
			{"an external user in a project of others", "external_user_storage_limit", external, w.shop, true},
			{"the project", "project_storage_limit", w.mary, w.shop, true},
			{"the user", "user_storage_limit", w.mary, w.shop, true},
		} {
			_, err := w.World.DB.Exec(ctx, "DELETE FROM uploads")
			if err != nil {
				t.Fatal(err)
			}
			set(tt.setting, 1)
			if err := put(tt.as, tt.id); err != nil {
				t.Errorf("%s: the first file: %v", tt.name, err)
			}
			err = put(tt.as, tt.id)
			if errs.Is(err, errs.TooLarge) != tt.second {
				t.Errorf("%s: the second file: %v, want refused: %v", tt.name, err, tt.second)
			}
			if tt.second && (err == nil || !strings.Contains(err.Error(), "("+tt.setting+")")) {
				t.Errorf("%s: %v, want the limit by name", tt.name, err)
			}
			set(tt.setting, 0)
		}
		_, err := w.World.DB.Exec(ctx, "DELETE FROM uploads")
		if err != nil {
			t.Fatal(err)
		}
		set("project_storage_limit", 2)
		// Files of 600 KiB, below a limit of 2 MiB.
		coretest.CheckRoom(t, 8, 3, func(int) error { return put(w.mary, w.shop) })
	})
}
