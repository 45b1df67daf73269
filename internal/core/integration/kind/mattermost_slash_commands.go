package kind

func mattermostSlashCommands() *Kind {
	return &Kind{
		Slug: "mattermost-slash-commands", Title: "Mattermost slash commands", Class: Commands,
		Later: "No command is taken yet: settings are stored until there are routes for what comes in",
		Settings: []Setting{
			token("token", "Token that Mattermost sends with each command"),
		},
	}
}
