package kind

func webexTeams() *Kind {
	return &Kind{
		Slug: "webex-teams", Title: "Webex Teams", Class: Chat,
		Later:    unsent,
		Settings: notifications(webhook("URL of the webhook in Webex Teams")),
		Events:   chatEvents(),
	}
}
