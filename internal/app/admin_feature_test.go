package app

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/mail"
	"tenon/internal/base/mail/mailtest"
	"tenon/internal/core/feature"
)

// TestAdminFeature sets a feature for all and for a project, and takes it back.
func TestAdminFeature(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		ctx := t.Context()
		s.user("ann", nil)
		s.do("ann", "POST", "/projects", obj{"name": "crane"})
		find := func(name string) AdminFeature {
			t.Helper()
			list, err := s.adminFeatureList(ctx, struct{}{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				if f.Name == name {
					return f
				}
			}
			t.Fatalf("no feature %s in %+v", name, list)
			return AdminFeature{}
		}
		const name = feature.ChangelogLimit
		if f := find(name); f.State != feature.On || !f.Default || !f.Known {
			t.Errorf("at first: %+v", f)
		}
		for _, c := range []struct {
			in    FeatureInput
			state string
			gates string
		}{
			{FeatureInput{Value: "false"}, feature.Off, ""},
			{FeatureInput{Value: "true", Projects: []string{"ann/crane"}}, feature.Conditional, "Project:1"},
			{FeatureInput{Value: "30", OfActors: true}, feature.Conditional, "30% of actors,Project:1"},
			{FeatureInput{Value: "true"}, feature.On, ""},
		} {
			c.in.Name = name
			got, err := s.adminFeatureSet(ctx, c.in, nil)
			if gates := strings.Join(got.Gates, ","); err != nil || got.State != c.state || gates != c.gates {
				t.Errorf("%+v: got %+v, %v, want %s %s", c.in, got, err, c.state, c.gates)
			}
			if f := find(name); f.State != c.state || f.Default {
				t.Errorf("%+v: list has %+v", c.in, f)
			}
		}
		if got, err := s.adminFeatureSet(ctx, FeatureInput{Name: name, Value: "default"}, nil); err != nil || got.State != feature.On || !got.Default || !find(name).Default {
			t.Errorf("default: %+v, %v", got, err)
		}
		if _, err := s.adminFeatureSet(ctx, FeatureInput{Name: "own", Value: "true"}, nil); err != nil || find("own").Known {
			t.Errorf("a feature of others: %v, %+v", err, find("own"))
		}
		for _, in := range []FeatureInput{{Name: name, Value: "sometimes"}, {Name: name, Value: "true", Users: []string{"nobody"}}} {
			if _, err := s.adminFeatureSet(ctx, in, nil); err == nil {
				t.Errorf("%+v is accepted", in)
			}
		}
	})
}

// TestAdminMail sends a test mail, and says why where it cannot.
func TestAdminMail(t *testing.T) {
	t.Parallel()
	post := mailtest.New(t, mailtest.Options{})
	s := newServer(t, "", func(c *config.Config) {
		c.Mail = config.Mail{Host: "127.0.0.1", Port: post.Port, Security: mail.Plain, From: "Tenon <tenon@example.com>", Timeout: 10 * time.Second}
	})
	if got, err := s.adminMailTest(t.Context(), MailTestInput{To: "ann@example.com"}, nil); err != nil || got.To != "ann@example.com" || got.From != "tenon@example.com" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := post.Take(); len(got) != 1 {
		t.Errorf("%d mails came", len(got))
	}
	want := func(to, text string) {
		t.Helper()
		if _, err := s.adminMailTest(t.Context(), MailTestInput{To: to}, nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want %s", to, err, text)
		}
	}
	want("nobody", "is no address")
	s.set(obj{"silent_mode_enabled": true})
	want("ann@example.com", "silent mode is on")
	s.config.Mail.Host = ""
	want("ann@example.com", "mail.host is not set")
	if got := post.Take(); len(got) != 0 {
		t.Errorf("%d mails came although none may", len(got))
	}
}

// TestAdminDoctor_conflicts finds each contradiction of settings, and none where all is as it comes.
func TestAdminDoctor_conflicts(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	found := func() string {
		t.Helper()
		d, err := s.adminDoctor(t.Context(), struct{}{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, c := range d.Conflicts {
			if c.Advice == "" {
				t.Errorf("%s: nothing is to be done", c.Text)
			}
			text += c.Text + "\n"
		}
		return text
	}
	if got := found(); got != "" {
		t.Errorf("a new server: %s", got)
	}
	s.config.ExternalURL = &url.URL{Scheme: "https", Host: "code.example.com"}
	for _, c := range []struct {
		set  obj
		text string
	}{
		{obj{"email_confirmation_setting": "hard"}, "no mail server is configured"},
		{obj{"email_confirmation_setting": "soft", "silent_mode_enabled": true}, "silent mode lets no mail out"},
		{obj{"allow_local_requests_from_web_hooks_and_services": true}, "opens the whole local network"},
		{obj{"outbound_local_requests_whitelist": []string{"0.0.0.0/0"}}, "allows all addresses"},
		{obj{"deny_all_requests_except_allowed": true}, "outbound_local_requests_whitelist is empty"},
		{obj{"dns_rebinding_protection_enabled": false}, "may change its address after the check"},
		{obj{"unique_ips_limit_enabled": true}, "only that of its proxy"},
		{obj{"globally_allowed_ips": "10.0.0.0/8"}, "globally_allowed_ips"},
		{obj{"enabled_git_access_protocol": "ssh"}, "does not listen for SSH"},
		{obj{"password_authentication_enabled_for_web": false}, "no other sign-in"},
		{obj{"external_authorization_service_enabled": true, "external_authorization_service_default_label": "x"}, "without a URL"},
		{obj{"maintenance_mode": true}, "maintenance_mode is on"},
	} {
		before := obj{}
		all := s.do("admin", "GET", "/application/settings", nil)
		for name := range c.set {
			before[name] = all[name]
		}
		s.set(c.set)
		if got := found(); !strings.Contains(got, c.text) {
			t.Errorf("%v: got %q, want %q", c.set, got, c.text)
		}
		if before["enabled_git_access_protocol"] == "" {
			before["enabled_git_access_protocol"] = "all"
		}
		s.set(before)
		if got := found(); got != "" {
			t.Errorf("%v, taken back: %s", c.set, got)
		}
	}
}
