package kind

func telegram() *Kind {
	return &Kind{
		Slug: "telegram", Title: "Telegram", Class: Chat,
		Later: unsent,
		Settings: notifications(
			token("token", "Token of the bot, such as 123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
			Setting{Name: "room", Required: true, Chars: 255, Doc: "ID of the chat or name of the channel, as @channelusername"},
		),
		Events: chatEvents(incidents),
	}
}
