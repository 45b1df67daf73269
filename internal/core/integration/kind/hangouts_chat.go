package kind

import (
	"context"
	"net/url"
)

func hangoutsChat() *Kind {
	return &Kind{
		Slug: "hangouts-chat", Title: "Google Chat", Class: Chat,
		Does: sends, Send: sendHangouts,
		Settings: notifications(webhook("URL of the webhook in Google Chat")),
		Events:   chatEvents(),
	}
}

// sendHangouts posts a message into the thread of what it is about.
func sendHangouts(ctx context.Context, c Caller, v Values, e *Event) error {
	u, err := url.Parse(v.Text("webhook"))
	if err != nil {
		return err
	}
	q, body := u.Query(), map[string]any{"text": e.Message.markdown()}
	if e.Message.Thread != "" {
		q.Set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
		u.RawQuery, body["thread"] = q.Encode(), map[string]string{"threadKey": e.Message.Thread}
	}
	return deliver(ctx, c, jsonTo(u.String(), body))
}
