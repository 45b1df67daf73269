package kind

import (
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
)

func datadog() *Kind {
	return &Kind{
		Slug: "datadog", Title: "Datadog", Class: CI,
		Later: unsent,
		Settings: []Setting{
			{Name: "datadog_site", Aliases: []string{"site"}, Where: true, Host: true, Default: "datadoghq.com", Doc: "Site of Datadog to which data is sent"},
			{Name: "api_url", URL: true, Where: true, Doc: "URL of the Datadog site, in place of datadog_site"},
			token("api_key", "API key of Datadog"),
			{Name: "datadog_ci_visibility", Type: Bool, Doc: "Collect pipelines and jobs in Datadog"},
			{Name: "archive_trace_events", Type: Bool, Doc: "Send logs of jobs"},
			{Name: "datadog_service", Aliases: []string{"service"}, Chars: 255, Doc: "Name that all data from this instance has"},
			{Name: "datadog_env", Aliases: []string{"env"}, Chars: 255, Doc: "Environment of all data that is sent"},
			{Name: "datadog_tags", Aliases: []string{"tags"}, Doc: "Further tags, one a line, as key:value"},
		},
		Events: []string{pipelines, jobs, pushes, mergeRequests, notes, tagPushes},
		Check: func(v Values, f *errs.Fields) {
			f.Check(datadogKey().MatchString(v.Text("api_key")), "api_key", "is invalid")
			f.Check(v.Text("datadog_site") != "" || v.Text("api_url") != "", "datadog_site", "can't be blank")
			for line := range strings.Lines(v.Text("datadog_tags")) {
				line = strings.TrimSpace(line)
				key, value, ok := strings.Cut(line, ":")
				f.Check(line == "" || ok && key != "" && value != "", "datadog_tags", "must be key:value pairs, one a line")
			}
		},
	}
}

var datadogKey = pattern.New(`^\w+$`)
