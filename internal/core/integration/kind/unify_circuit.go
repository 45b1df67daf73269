package kind

import "context"

func unifyCircuit() *Kind {
	return &Kind{
		Slug: "unify-circuit", Title: "Unify Circuit", Class: Chat,
		Does: sends, Send: sendCircuit,
		Settings: notifications(webhook("URL of the webhook in Unify Circuit")),
		Events:   chatEvents(),
	}
}

func sendCircuit(ctx context.Context, c Caller, v Values, e *Event) error {
	return deliver(ctx, c, jsonTo(v.Text("webhook"), map[string]any{"subject": e.Project.Name, "text": e.Message.markdown(), "markdown": true}))
}
