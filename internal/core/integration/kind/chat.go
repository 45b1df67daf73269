package kind

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"
)

// sends says of a chat kind what it does.
const sends = "Messages about the events that are switched on"

// channels are those of an event: its own, or else the general ones.
func channels(v Values, e *Event) []string {
	text := v.Text(channelNames[e.Flag] + "_channel")
	var out []string
	for name := range strings.SplitSeq(cmp.Or(text, v.Text("channel")), ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// channelNames are what the settings of channels call each event.
var channelNames = map[string]string{
	pushes: "push", issues: "issue", confidentialIssues: "confidential_issue", mergeRequests: "merge_request", notes: "note",
	confidentialNotes: "confidential_note", tagPushes: "tag_push", pipelines: "pipeline", wikiPages: "wiki_page", deployments: "deployment",
	incidents: "incident", alerts: "alert", vulnerabilities: "vulnerability",
}

// slackMessage is what Slack and Mattermost take.
type slackMessage struct {
	Channel     string            `json:"channel,omitempty"`
	Username    string            `json:"username,omitempty"`
	Text        string            `json:"text,omitempty"`
	Attachments []slackAttachment `json:"attachments,omitempty"`
}

type slackAttachment struct {
	Color     string       `json:"color,omitempty"`
	Fallback  string       `json:"fallback,omitempty"`
	Title     string       `json:"title,omitempty"`
	TitleLink string       `json:"title_link,omitempty"`
	Text      string       `json:"text,omitempty"`
	Fields    []slackField `json:"fields,omitempty"`
	Footer    string       `json:"footer,omitempty"`
	Icon      string       `json:"footer_icon,omitempty"`
	At        int64        `json:"ts,omitempty"`
	Markdown  []string     `json:"mrkdwn_in,omitempty"`
}

type slackField struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Short bool   `json:"short"`
}

// sendSlack posts a message to each channel of an event, or to the one of the webhook where none is set.
func sendSlack(ctx context.Context, c Caller, v Values, e *Event) error {
	m := slackMessage{Username: cmp.Or(v.Text("username"), e.Author.Name), Text: e.Message.Text.Slack()}
	a := slackAttachment{
		Color: e.Message.Color, Fallback: e.Message.Text.Plain(), Text: rendered(e.Message.Lines, Line.Slack), Footer: e.Project.Name, Icon: e.Project.Avatar,
		At: e.At.Unix(), Markdown: []string{"text"},
	}
	if len(e.Message.Title) > 0 {
		a.Title, a.TitleLink = e.Message.Title.Plain(), e.Message.Title[0].URL
	}
	for _, f := range e.Message.Fields {
		a.Fields = append(a.Fields, slackField{f.Name, f.Text.Slack(), len(f.Text.Plain()) < 40})
	}
	if a.Title != "" || a.Text != "" || len(a.Fields) > 0 {
		m.Attachments = []slackAttachment{a}
	}
	to := channels(v, e)
	if len(to) == 0 {
		to = []string{""}
	}
	for _, m.Channel = range to {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if err := deliver(ctx, c, formTo(v.Text("webhook"), url.Values{"payload": {string(text)}})); err != nil {
			return err
		}
	}
	return nil
}

// rendered are lines as one text.
func rendered(lines []Line, with func(Line) string) string {
	var out []string
	for _, l := range lines {
		out = append(out, with(l))
	}
	return strings.Join(out, "\n")
}

// markdown is a message as one text of Markdown.
func (m *Message) markdown() string {
	parts := []string{m.Text.Markdown()}
	if len(m.Title) > 0 {
		parts = append(parts, m.Title.Markdown())
	}
	if len(m.Lines) > 0 {
		parts = append(parts, rendered(m.Lines, Line.Markdown))
	}
	for _, f := range m.Fields {
		parts = append(parts, "*"+f.Name+"*: "+f.Text.Markdown())
	}
	return strings.Join(parts, "\n\n")
}
