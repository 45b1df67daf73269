package mergerequest_test

import (
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
)

// TestService_List_addresses lists requests of a public project whose group does not let the reader's address in.
func TestService_List_addresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.open("topic", files{"c": "c\n"})
		w.exec("UPDATE namespaces SET visibility = 20")
		admin := w.maintainer
		admin.Admin = true
		count := func(as authz.Actor) int {
			t.Helper()
			as.Address = "10.0.0.1"
			list, err := w.requests.List(t.Context(), as, authz.Place{}, mergerequest.Filter{})
			check(t, err)
			return len(list.Items)
		}
		for name, as := range map[string]authz.Actor{"stranger": w.stranger, "member": w.developer, "administrator": admin} {
			equal(t, "before, "+name, count(as), 1)
		}
		w.exec("INSERT INTO group_address_ranges (namespace_id, low, high) VALUES (?, '', '')", w.groupID())
		w.Policy.HoldAddresses()
		for name, as := range map[string]authz.Actor{"stranger": w.stranger, "member": w.developer, "administrator": admin} {
			equal(t, "after, "+name, count(as), 0)
		}
	})
}
