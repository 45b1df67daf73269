package kind

func pumble() *Kind {
	return &Kind{
		Slug: "pumble", Title: "Pumble", Class: Chat,
		Later:    unsent,
		Settings: notifications(webhook("URL of the webhook in Pumble")),
		Events:   chatEvents(),
	}
}
