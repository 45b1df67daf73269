package kind

import (
	"context"
	"net/url"
)

func pushover() *Kind {
	return &Kind{
		Slug: "pushover", Title: "Pushover", Class: Source,
		Does: "Devices are told of each push", Send: sendPushover,
		Settings: []Setting{
			token("api_key", "Key of the application"),
			token("user_key", "Key of the user"),
			{Name: "device", Required: true, Blank: true, Chars: 255, Doc: "Device; all active ones where blank"},
			{Name: "priority", Required: true, Values: []string{"-2", "-1", "0", "1"}, Doc: "Priority: -2, -1, 0 or 1"},
			{Name: "sound", Required: true, Blank: true, Chars: 255, Doc: "Sound of the notification"},
		},
		Events: []string{pushes},
	}
}

// sendPushover tells the user's devices what was pushed.
func sendPushover(ctx context.Context, c Caller, v Values, e *Event) error {
	form := url.Values{
		"token": {v.Text("api_key")}, "user": {v.Text("user_key")}, "device": {v.Text("device")}, "priority": {v.Text("priority")},
		"title": {e.Project.Name}, "message": {e.Message.Text.Plain()}, "url": {e.Project.URL}, "url_title": {"See project " + e.Project.Name},
	}
	if sound := v.Text("sound"); sound != "" {
		form.Set("sound", sound)
	}
	return deliver(ctx, c, formTo("https://api.pushover.net/1/messages.json", form))
}
