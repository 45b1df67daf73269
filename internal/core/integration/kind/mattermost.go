package kind

func mattermost() *Kind {
	return &Kind{
		Slug: "mattermost", Title: "Mattermost notifications", Class: Chat,
		Does: sends, Send: sendSlack,
		Settings: slackLike(chatChannels),
		Events:   chatEvents(deployments, incidents),
		Check:    mostChannels(10),
	}
}
