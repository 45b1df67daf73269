package kind

func hangoutsChat() *Kind {
	return &Kind{
		Slug: "hangouts-chat", Title: "Google Chat", Class: Chat,
		Later:    unsent,
		Settings: notifications(webhook("URL of the webhook in Google Chat")),
		Events:   chatEvents(),
	}
}
