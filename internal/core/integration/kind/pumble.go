package kind

import "context"

func pumble() *Kind {
	return &Kind{
		Slug: "pumble", Title: "Pumble", Class: Chat,
		Does: sends, Send: sendPumble,
		Settings: notifications(webhook("URL of the webhook in Pumble")),
		Events:   chatEvents(),
	}
}

func sendPumble(ctx context.Context, c Caller, v Values, e *Event) error {
	return deliver(ctx, c, jsonTo(v.Text("webhook"), map[string]string{"text": e.Message.markdown()}))
}
