package deploykey

import "tenon/internal/core/change"

// Audit is what the audit trail records of it.
func (e Added) Audit() []change.Entry { return e.Row().record("deploy_key_added", "Added deploy key") }

// Audit is what the audit trail records of it.
func (e Updated) Audit() []change.Entry {
	return e.Row().record("deploy_key_updated", "Updated deploy key")
}

// Audit is what the audit trail records of it.
func (e Removed) Audit() []change.Entry {
	return e.Row().record("deploy_key_removed", "Removed deploy key")
}

// Audit is what the audit trail records of it.
func (e PublicAdded) Audit() []change.Entry {
	return change.Record("deploy_key_added", "Added public deploy key", "fingerprint_sha256", e.After.SHA256)
}

func (k *Key) record(event, message string) []change.Entry {
	return change.Record(event, message, "fingerprint_sha256", k.SHA256, "can_push", k.CanPush)
}
