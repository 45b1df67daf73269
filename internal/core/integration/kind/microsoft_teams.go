package kind

import "context"

func microsoftTeams() *Kind {
	return &Kind{
		Slug: "microsoft-teams", Title: "Microsoft Teams notifications", Class: Chat,
		Does: sends, Send: sendTeams,
		Settings: notifications(webhook("URL of the webhook in Microsoft Teams")),
		Events:   chatEvents(),
	}
}

// sendTeams posts a card.
func sendTeams(ctx context.Context, c Caller, v Values, e *Event) error {
	type section struct {
		Title    string              `json:"activityTitle,omitempty"`
		Subtitle string              `json:"activitySubtitle,omitempty"`
		Text     string              `json:"activityText,omitempty"`
		Image    string              `json:"activityImage,omitempty"`
		Facts    []map[string]string `json:"facts,omitempty"`
	}
	s := section{
		Title: e.Message.Text.Markdown(), Subtitle: Say("in ").Link(e.Project.Name, e.Project.URL).Markdown(),
		Text: rendered(e.Message.Lines, Line.Markdown), Image: e.Author.Avatar,
	}
	for _, f := range e.Message.Fields {
		s.Facts = append(s.Facts, map[string]string{"name": f.Name, "value": f.Text.Markdown()})
	}
	return deliver(ctx, c, jsonTo(v.Text("webhook"), map[string]any{"title": e.Project.Name, "summary": e.Message.Text.Plain(), "sections": []section{s}}))
}
