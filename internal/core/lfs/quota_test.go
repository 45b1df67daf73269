package lfs_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/lfs"
)

// text makes the content of an object of a number of KiB.
func text(kib int, mark string) string { return strings.Repeat(mark, kib<<10/len(mark)) }

// The limits of a project, of a user, of external users elsewhere and of the repository
// count what is there, and what is being stored at the same moment.
func TestService_Store_limits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		set := coretest.Setter(t, w.settings)
		w.store(w.dave, w.shop, text(600, "a"))
		external := w.dave
		external.External = true
		for _, tt := range []struct {
			name    string
			setting string
			value   any
			as      authz.Actor
			refused bool
		}{
			{"no limit", "project_storage_limit", 0, w.dave, false},
			{"of the project", "project_storage_limit", 1, w.dave, true},
			{"of the project, whoever it is", "project_storage_limit", 1, w.mary, true},
			{"of the user", "user_storage_limit", 1, w.dave, true},
			{"of another user", "user_storage_limit", 1, w.mary, false},
			{"of an external user", "external_user_storage_limit", 1, external, true},
			{"of external users, for a member", "external_user_storage_limit", 1, w.dave, false},
			{"of the repository", "repository_size_limit", int64(1 << 20), w.dave, true},
		} {
			set(tt.setting, tt.value)
			o := pointer(text(600, tt.name[3:4]+"b"))
			room := w.Room(ctx, tt.as, w.of(tt.as, w.shop), []lfs.Pointer{o})
			err := w.Store(ctx, tt.as, w.of(tt.as, w.shop), o, strings.NewReader(text(600, tt.name[3:4]+"b")))
			if errs.Is(err, errs.TooLarge) != tt.refused || errs.Is(room, errs.TooLarge) != tt.refused {
				t.Errorf("%s: %v, and to be asked before: %v; want refused: %v", tt.name, err, room, tt.refused)
			}
			if tt.refused && (err == nil || !strings.Contains(err.Error(), "("+tt.setting+")") || !strings.Contains(err.Error(), "limit of 1 MiB")) {
				t.Errorf("%s: %v, want the limit by name and size", tt.name, err)
			}
			w.exec("DELETE FROM lfs_links WHERE object_id IN (SELECT id FROM lfs_objects WHERE oid = ?)", o.OID)
			set(tt.setting, map[bool]any{true: int64(0), false: 0}[tt.setting == "repository_size_limit"])
		}
		// What is there needs no room.
		set("project_storage_limit", 1)
		w.store(w.dave, w.shop, text(600, "a"))

		set("project_storage_limit", 2)
		// Objects of 600 KiB beside one, below a limit of 2 MiB.
		coretest.CheckRoom(t, 8, 2, func(i int) error {
			content := text(600, fmt.Sprint("n", i))
			return w.Store(ctx, w.dave, w.of(w.dave, w.shop), pointer(content), strings.NewReader(content))
		})
		// Room that was held by what did not come is free again.
		set("project_storage_limit", 3)
		o := pointer(text(1100, "other"))
		if err := w.Store(ctx, w.dave, w.of(w.dave, w.shop), o, strings.NewReader("short")); err == nil || errs.Is(err, errs.TooLarge) {
			t.Errorf("an object that is not what its pointer says: %v", err)
		}
		w.store(w.dave, w.shop, text(1100, "other"))
	})
}
