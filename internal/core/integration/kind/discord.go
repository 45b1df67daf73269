package kind

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/errs"
)

func discord() *Kind {
	return &Kind{
		Slug: "discord", Title: "Discord Notifications", Class: Chat,
		Does: sends, Send: sendDiscord,
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

// discordColors are the colors of Slack that have names.
var discordColors = map[string]int{"good": 0x2e8b57, "warning": 0xdaa038, "danger": 0xd50200}

func discordColor(text string) int {
	if n, ok := discordColors[text]; ok {
		return n
	}
	text = strings.TrimPrefix(text, "#")
	if len(text) == 3 {
		text = string([]byte{text[0], text[0], text[1], text[1], text[2], text[2]})
	}
	n, err := strconv.ParseInt(text, 16, 32)
	if err != nil {
		return 0x333333
	}
	return int(n)
}

// sendDiscord posts an embed. The settings of channels are addresses of webhooks.
func sendDiscord(ctx context.Context, c Caller, v Values, e *Event) error {
	type named struct {
		Name  string `json:"name"`
		Icon  string `json:"icon_url,omitempty"`
		Value string `json:"value,omitempty"`
	}
	type embed struct {
		Color       int     `json:"color"`
		At          string  `json:"timestamp"`
		Author      named   `json:"author"`
		Description string  `json:"description"`
		Fields      []named `json:"fields,omitempty"`
	}
	m := embed{
		Color: discordColor(e.Message.Color), At: e.At.UTC().Format(time.RFC3339), Author: named{Name: e.Author.Name, Icon: e.Author.Avatar},
		Description: strings.TrimSpace(e.Message.Text.Markdown() + "\n" + rendered(e.Message.Lines, Line.Markdown)),
	}
	for _, f := range e.Message.Fields {
		m.Fields = append(m.Fields, named{Name: f.Name, Value: f.Text.Markdown()})
	}
	address := cmp.Or(v.Text(channelNames[e.Flag]+"_channel"), v.Text("webhook"))
	return deliver(ctx, c, jsonTo(address, map[string]any{
		"content": "", "embeds": []embed{m}, "allowed_mentions": map[string]any{"parse": []string{}},
	}))
}
