package authz

// Abilities to read the audit trail.
const (
	ReadAuditEvents        Ability = "read_audit_events"
	ListGroupAuditEvents   Ability = "list_group_audit_events" // those of the actor alone, without the next one
	ReadGroupAuditEvents   Ability = "read_group_audit_events"
	ListProjectAuditEvents Ability = "list_project_audit_events" // those of the actor alone, without the next one
	ReadProjectAuditEvents Ability = "read_project_audit_events"
)
