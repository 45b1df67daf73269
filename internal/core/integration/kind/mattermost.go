package kind

func mattermost() *Kind {
	return &Kind{
		Slug: "mattermost", Title: "Mattermost notifications", Class: Chat,
		Later:    unsent,
		Settings: slackLike(chatChannels),
		Events:   chatEvents(deployments, incidents),
		Check:    mostChannels(10),
	}
}
