package clients

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// replaced are attributes that stand for others, which the client calls deprecated: nothing that manages settings as a whole sends them.
var replaced = map[string]bool{
	"AdminNotificationEmail": true, "AllowLocalRequestsFromHooksAndServices": true, "AssetProxyWhitelist": true, "DefaultBranchProtection": true,
	"HousekeepingBitmapsEnabled": true, "HousekeepingFullRepackPeriod": true, "HousekeepingGcPeriod": true, "HousekeepingIncrementalRepackPeriod": true,
	"PerformanceBarAllowedGroupID": true, "PerformanceBarEnabled": true, "SigninEnabled": true, "PasswordAuthenticationEnabled": true,
	"ThrottleUnauthenticatedEnabled": true, "ThrottleUnauthenticatedPeriodInSeconds": true, "ThrottleUnauthenticatedRequestsPerPeriod": true,
}

// whole are the options that say everything that settings say, but for what is empty.
func whole(s *gitlab.Settings) *gitlab.UpdateSettingsOptions {
	out := &gitlab.UpdateSettingsOptions{SharedRunnersText: &s.SharedRunnersText}
	from, to := reflect.ValueOf(s).Elem(), reflect.ValueOf(out).Elem()
	for f := range to.Type().Fields() {
		have := from.FieldByName(f.Name)
		if replaced[f.Name] || !have.IsValid() || have.IsZero() || f.Type.Kind() != reflect.Pointer || have.Type() != f.Type.Elem() {
			continue
		}
		value := reflect.New(have.Type())
		value.Elem().Set(have)
		to.FieldByIndex(f.Index).Set(value)
	}
	return out
}

// TestSettings_whole manages the settings as a whole, as Terraform's resource gitlab_application_settings does, whose provider is not
// installed here: it reads them, applies what they are, finds nothing to change when it plans again, applies other values, and changes them back.
func TestSettings_whole(t *testing.T) {
	servertest.Each(t, func(t *testing.T, database string) {
		s := &story{server: servertest.Start(t, database)}
		s.root = s.client(t, servertest.RootToken)
		read := func() *gitlab.Settings {
			t.Helper()
			out := got(s.root.Settings.GetSettings()).must(t)
			out.UpdatedAt = nil
			return out
		}
		apply := func(o *gitlab.UpdateSettingsOptions) {
			t.Helper()
			got(s.root.Settings.UpdateSettings(o)).must(t)
		}
		first := read()
		if n := reflect.ValueOf(*whole(first)); n.NumField() < 400 {
			t.Fatalf("only %d attributes", n.NumField())
		}
		apply(whole(first))
		if diff := cmp.Diff(first, read()); diff != "" {
			t.Errorf("applied as they are, the plan is not empty:\n%s", diff)
		}
		change := whole(first)
		change.AfterSignUpText, change.DefaultProjectsLimit, change.SignupEnabled = new("Welcome"), new(int64(7)), new(false)
		change.DomainDenylist, change.DomainDenylistEnabled = &[]string{"a.example"}, new(true)
		change.PlantumlEnabled, change.PlantumlURL = new(true), new("https://plant.example")
		change.RestrictedVisibilityLevels = &[]gitlab.VisibilityValue{gitlab.PublicVisibility}
		change.ExternalAuthorizationServiceTimeout, change.PollingIntervalMultiplier = new(1.5), new(2.5)
		change.DefaultProjectVisibility, change.ImportSources = new(gitlab.InternalVisibility), &[]string{"git"}
		apply(change)
		second := read()
		if second.AfterSignUpText != "Welcome" || second.DefaultProjectsLimit != 7 || second.SignupEnabled || !second.DomainDenylistEnabled || second.PlantumlURL != "https://plant.example" ||
			second.ExternalAuthorizationServiceTimeout != 1.5 || second.DefaultProjectVisibility != gitlab.InternalVisibility || len(second.RestrictedVisibilityLevels) != 1 {
			t.Errorf("applied: %+v", second)
		}
		apply(whole(second))
		if diff := cmp.Diff(second, read()); diff != "" {
			t.Errorf("applied once more, the plan is not empty:\n%s", diff)
		}
		back := whole(first)
		back.AfterSignUpText, back.DomainDenylist, back.DomainDenylistEnabled = new(""), &[]string{}, new(false)
		back.PlantumlEnabled, back.PlantumlURL = new(false), new("")
		back.RestrictedVisibilityLevels, back.ImportSources = &[]gitlab.VisibilityValue{}, &first.ImportSources
		apply(back)
		if diff := cmp.Diff(first, read()); diff != "" {
			t.Errorf("changed back:\n%s", diff)
		}
	})
}
