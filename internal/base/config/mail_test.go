package config

import (
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/mail"
)

func TestLoad_mail(t *testing.T) {
	t.Parallel()
	password := written(t, "hunter2\n")
	on := []string{"TENON_MAIL_HOST=smtp.example.com", "TENON_MAIL_FROM=Tenon <tenon@example.com>"}
	for _, c := range []struct {
		name    string
		environ []string
		want    string // the key of the one problem, "" for none
	}{
		{"off", nil, ""},
		{"on", on, ""},
		{"without a sender", []string{"TENON_MAIL_HOST=smtp.example.com"}, "mail.from"},
		{"a sender that is none", append(on[:1:1], "TENON_MAIL_FROM=tenon"), "mail.from"},
		{"a sender with a line break", append(on[:1:1], "TENON_MAIL_FROM=a@example.com\r\nBcc: b@example.com"), "mail.from"},
		{"a port in the host", []string{"TENON_MAIL_HOST=smtp.example.com:25", on[1]}, "mail.host"},
		{"no port", append(on, "TENON_MAIL_PORT=0"), "mail.port"},
		{"an unknown security", append(on, "TENON_MAIL_SECURITY=ssl"), "mail.security"},
		{"a password in the clear", append(on, "TENON_MAIL_SECURITY=off", "TENON_MAIL_USER=ann", "TENON_MAIL_PASSWORD_FILE="+password), "mail.security"},
		{"a user without a password", append(on, "TENON_MAIL_USER=ann"), "mail.password_file"},
		{"a password that is not there", append(on, "TENON_MAIL_USER=ann", "TENON_MAIL_PASSWORD_FILE="+password+".not"), "mail.password_file"},
		{"an empty password", append(on, "TENON_MAIL_PASSWORD_FILE="+written(t, "\n")), "mail.password_file"},
		{"answers", append(on, "TENON_MAIL_INCOMING_ADDRESS=in+%{key}@example.com"), ""},
		{"answers without a key", append(on, "TENON_MAIL_INCOMING_ADDRESS=in@example.com"), "mail.incoming_address"},
		{"a key in the host", append(on, "TENON_MAIL_INCOMING_ADDRESS=in@%{key}.example.com"), "mail.incoming_address"},
		{"a long address for answers", append(on, "TENON_MAIL_INCOMING_ADDRESS="+strings.Repeat("a", 30)+"%{key}@example.com"), "mail.incoming_address"},
		{"no time", append(on, "TENON_MAIL_TIMEOUT_SECONDS=0"), "mail.timeout_seconds"},
	} {
		got, err := Load(Sources{Environ: c.environ})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: no problem with %+v", c.name, got.Mail)
			continue
		}
		keys := []string{}
		for _, p := range problems(t, Sources{Environ: c.environ}) {
			keys = append(keys, p.Key)
		}
		if !slices.Equal(keys, []string{c.want}) {
			t.Errorf("%s: problems with %v, want %s", c.name, keys, c.want)
		}
	}

	got, err := Load(Sources{Environ: append(on, "TENON_MAIL_PORT=465", "TENON_MAIL_SECURITY=tls", "TENON_MAIL_USER=ann", "TENON_MAIL_PASSWORD_FILE="+password)})
	if err != nil {
		t.Fatal(err)
	}
	c := got.Mail.Config("code.example.com")
	if c.Password != "hunter2" || c.Port != 465 || c.Security != mail.TLS || c.From.Name != "Tenon" || c.From.Address != "tenon@example.com" || c.Name != "code.example.com" {
		t.Errorf("got %+v", c)
	}
	var out strings.Builder
	if err := got.Print(&out); err != nil || strings.Contains(out.String(), "hunter2") {
		t.Errorf("printed, %v:\n%s", err, &out)
	}
}
