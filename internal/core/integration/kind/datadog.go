package kind

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/pattern"
)

func datadog() *Kind {
	return &Kind{
		Slug: "datadog", Title: "Datadog", Class: CI,
		Does: "Events are posted as webhooks have them", Send: sendDatadog,
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

// sendDatadog posts the event to where webhooks are taken.
func sendDatadog(ctx context.Context, c Caller, v Values, e *Event) error {
	q := url.Values{"service": {v.Text("datadog_service")}, "env": {v.Text("datadog_env")}}
	var tags []string
	for line := range strings.Lines(v.Text("datadog_tags")) {
		if line = strings.TrimSpace(line); line != "" {
			tags = append(tags, line)
		}
	}
	q.Set("tags", strings.Join(tags, ","))
	for name := range q {
		if q.Get(name) == "" {
			q.Del(name)
		}
	}
	address := cmp.Or(strings.TrimSuffix(v.Text("api_url"), "/"), "https://webhook-intake."+v.Text("datadog_site")) + "/api/v2/webhook"
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	r := hook(address, e)
	r.Header["DD-API-KEY"] = v.Text("api_key")
	return deliver(ctx, c, r)
}
