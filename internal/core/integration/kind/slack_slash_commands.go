package kind

func slackSlashCommands() *Kind {
	return &Kind{
		Slug: "slack-slash-commands", Title: "Slack slash commands", Class: Commands,
		Later: "No command is taken yet: settings are stored until there are routes for what comes in",
		Settings: []Setting{
			token("token", "Token that Slack sends with each command"),
		},
	}
}
