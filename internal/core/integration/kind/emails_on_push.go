package kind

import (
	"strings"

	"tenon/internal/base/errs"
)

func emailsOnPush() *Kind {
	return &Kind{
		Slug: "emails-on-push", Title: "Emails on push", Class: Mail,
		Does: "Recipients get a mail with the commits and the diff of each push, at most 30 files and 5,000 lines of it",
		Settings: []Setting{
			{Name: "recipients", Required: true, Chars: maxAddress, Doc: "Email addresses, separated by whitespace"},
			{Name: "disable_diffs", Type: Bool, Doc: "Leave diffs out"},
			{Name: "send_from_committer_email", Type: Bool, Doc: "Send from the address of the user who pushed, where its domain is that of the instance"},
			branches("all"),
		},
		Events: []string{pushes, tagPushes},
		Check: func(v Values, f *errs.Fields) {
			f.Check(len(strings.Fields(v.Text("recipients"))) <= 750, "recipients", "can't exceed 750")
		},
	}
}
