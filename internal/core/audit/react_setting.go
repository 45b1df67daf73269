package audit

import (
	"context"

	"tenon/internal/core/setting"
)

// SettingChanged records another value of a setting of the instance.
func (r *Recorder) SettingChanged(ctx context.Context, e setting.Changed) error {
	return r.Record(ctx, Entry{
		By: e.By, EntityType: Instance, EntityID: 1, Event: "application_setting_updated", Message: "Changed " + e.Name,
		TargetType: "ApplicationSetting", TargetID: 1, TargetDetails: e.Name,
		Details: map[string]any{"change": e.Name, "from": e.From, "to": e.To},
	})
}
