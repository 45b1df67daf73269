package kind

import "context"

func webexTeams() *Kind {
	return &Kind{
		Slug: "webex-teams", Title: "Webex Teams", Class: Chat,
		Does: sends, Send: sendWebex,
		Settings: notifications(webhook("URL of the webhook in Webex Teams")),
		Events:   chatEvents(),
	}
}

func sendWebex(ctx context.Context, c Caller, v Values, e *Event) error {
	return deliver(ctx, c, jsonTo(v.Text("webhook"), map[string]string{"markdown": e.Message.markdown()}))
}
