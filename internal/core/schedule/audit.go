package schedule

import "tenon/internal/core/change"

// Audit says that a schedule was made or deleted, or has an entry for each attribute that changed.
func (e Changed) Audit() []change.Entry {
	const name = "ci_pipeline_schedule_"
	switch {
	case e.Before == nil:
		return change.Record(name+"created", "Created pipeline schedule")
	case e.After == nil:
		return change.Record(name+"deleted", "Deleted pipeline schedule")
	}
	return change.RecordColumns(e.Changed(), name+"updated",
		[2]string{"owner_id", "owner"}, [2]string{"description", "description"}, [2]string{"ref", "ref"},
		[2]string{"cron", "cron"}, [2]string{"cron_timezone", "cron timezone"}, [2]string{"active", "active"})
}
