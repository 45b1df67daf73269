package coretest

import "tenon/internal/core/authz"

// GroupAt is the place of a group without its row.
func GroupAt(id authz.NamespaceID, v authz.Visibility) authz.Place {
	return authz.Place{Namespace: id, ID: int64(id), Group: true, Subject: authz.Subject{Noun: "Group", Namespace: id, Visibility: v}}
}
