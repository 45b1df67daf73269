package kind

import (
	"context"
)

func telegram() *Kind {
	return &Kind{
		Slug: "telegram", Title: "Telegram", Class: Chat,
		Does: sends, Send: sendTelegram,
		Settings: notifications(
			token("token", "Token of the bot, such as 123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
			Setting{Name: "room", Required: true, Chars: 255, Doc: "ID of the chat or name of the channel, as @channelusername"},
		),
		Events: chatEvents(incidents),
	}
}

// telegramHost is where messages go.
const telegramHost = "https://api.telegram.org"

// sendTelegram posts a message, once more as plain text where the server does not take its markup.
func sendTelegram(ctx context.Context, c Caller, v Values, e *Event) error {
	address := telegramHost + "/bot" + v.Text("token") + "/sendMessage"
	body := map[string]string{"text": e.Message.markdown(), "chat_id": v.Text("room"), "parse_mode": "markdown"}
	status, _, err := c.Call(ctx, jsonTo(address, body))
	if err != nil {
		return err
	}
	if status == badRequest {
		delete(body, "parse_mode")
		return deliver(ctx, c, jsonTo(address, body))
	}
	if status >= refused {
		return &StatusError{status}
	}
	return nil
}
