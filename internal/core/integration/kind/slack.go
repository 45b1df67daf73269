package kind

import (
	"slices"
)

func slack() *Kind {
	return &Kind{
		Slug: "slack", Title: "Slack notifications", Class: Chat,
		Does: sends, Send: sendSlack,
		Settings: slackLike(append(slices.Clone(chatChannels), "alert")),
		Events:   chatEvents(deployments, incidents, alerts, vulnerabilities),
		Check:    mostChannels(10),
	}
}
