package kind

func microsoftTeams() *Kind {
	return &Kind{
		Slug: "microsoft-teams", Title: "Microsoft Teams notifications", Class: Chat,
		Later:    unsent,
		Settings: notifications(webhook("URL of the webhook in Microsoft Teams")),
		Events:   chatEvents(),
	}
}
