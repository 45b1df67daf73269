package kind

import (
	"slices"
)

func gitLabSlackApplication() *Kind {
	return &Kind{
		Slug: "gitlab-slack-application", Title: "GitLab for Slack app", Class: Chat,
		Settings: append(append(notifications(Setting{Name: "channel", Doc: "Channels to use where no other is set for an event, separated by commas"}), labelSettings()...),
			channelSettings(false, append(slices.Clone(chatChannels), "alert")...)...),
		Events: chatEvents(deployments, incidents, alerts, vulnerabilities),
		App:    true, Unavailable: "The application of Slack sets it up, which this server does not have",
	}
}
