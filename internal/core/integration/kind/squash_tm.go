package kind

import "context"

func squashTM() *Kind {
	return &Kind{
		Slug: "squash-tm", Title: "Squash TM", Class: Source,
		Does: "Issues are synchronized", Send: sendSquash,
		Settings: []Setting{
			{Name: "url", Required: true, URL: true, Where: true, Doc: "URL of the Squash TM webhook"},
			{Name: "token", Secret: true, Chars: 255, Doc: "Secret token"},
		},
		Events: []string{issues, confidentialIssues},
	}
}

// sendSquash posts what became of an issue.
func sendSquash(ctx context.Context, c Caller, v Values, e *Event) error {
	r := hook(v.Text("url"), e)
	if token := v.Text("token"); token != "" {
		r.Header["X-Squash-TM-Integration-Token"] = token
	}
	return deliver(ctx, c, r)
}
