package clients

import (
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// TestSettings reads the whole object of the settings with the Go client, and changes some.
func TestSettings(t *testing.T) {
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	first := got(s.root.Settings.GetSettings()).must(t)
	if first.ID != 1 || first.CreatedAt == nil || first.PollingIntervalMultiplier != 1 || first.DefaultProjectsLimit != 100_000 || first.DeletionAdjournedPeriod != 7 {
		t.Errorf("got %+v", first)
	}
	changed := got(s.root.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{
		DomainDenylist: &[]string{"a.example", "b.example"}, PollingIntervalMultiplier: new(1.5), MaintenanceModeMessage: new("soon"), AkismetAPIKey: new("key"), AkismetEnabled: new(true),
	})).must(t)
	if len(changed.DomainDenylist) != 2 || changed.PollingIntervalMultiplier != 1.5 || changed.MaintenanceModeMessage != "soon" || !changed.AkismetEnabled || changed.AkismetAPIKey != "key" {
		t.Errorf("got %+v", changed)
	}
}
