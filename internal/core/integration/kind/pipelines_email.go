package kind

import (
	"strings"

	"tenon/internal/base/errs"
)

func pipelinesEmail() *Kind {
	return &Kind{
		Slug: "pipelines-email", Title: "Pipeline status emails", Class: Mail,
		Does: "Recipients get a mail when a pipeline has failed, or also when one has succeeded",
		Settings: []Setting{
			{Name: "recipients", Required: true, Chars: maxAddress, Doc: "Email addresses, separated by commas"},
			{Name: "notify_only_broken_pipelines", Type: Bool, Default: true, Doc: "Send notifications for broken pipelines only"},
			{Name: legacyBranches, Type: Bool, Doc: "Deprecated: use branches_to_be_notified"},
			branches("default"),
		},
		Events: []string{pipelines},
		Check: func(v Values, f *errs.Fields) {
			f.Check(len(strings.FieldsFunc(v.Text("recipients"), func(r rune) bool { return r == ',' })) <= 30, "recipients", "can't exceed 30")
		},
	}
}
