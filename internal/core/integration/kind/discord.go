package kind

import (
	"net/url"
	"strings"

	"tenon/internal/base/errs"
)

func discord() *Kind {
	return &Kind{
		Slug: "discord", Title: "Discord Notifications", Class: Chat,
		Later: unsent,
		Settings: append(notifications(webhook("URL of the webhook in Discord")), channelSettings(true, "push", "issue", "confidential_issue", "merge_request", "note",
			"confidential_note", "tag_push", "pipeline", "wiki_page")...),
		Events: chatEvents(),
		Check: func(v Values, f *errs.Fields) {
			for name, value := range v {
				text, ok := value.(string)
				if !ok || text == "" || name != "webhook" && !strings.HasSuffix(name, "_channel") {
					continue
				}
				u, err := url.Parse(text)
				f.Check(err == nil && u.Scheme == "https" && (u.Hostname() == "discord.com" || u.Hostname() == "discordapp.com"), name, "URL must point to discord.com")
			}
		},
	}
}
