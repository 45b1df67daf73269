package kind

import (
	"context"
	"strings"

	"tenon/internal/base/errs"
)

func campfire() *Kind {
	return &Kind{
		Slug: "campfire", Title: "Campfire", Class: Chat,
		Does: sends, Send: sendCampfire,
		Settings: []Setting{
			token("token", "Token of the Campfire API"),
			{Name: "subdomain", Where: true, Host: true, Chars: 63, Doc: "Subdomain at Campfire"},
			{Name: "room", Chars: 20, Doc: "ID of the room"},
		},
		Events: []string{pushes},
		Check: func(v Values, f *errs.Fields) {
			room := v.Text("room")
			f.Check(room == "" || strings.Trim(room, "0123456789") == "" && strings.Trim(room, "0") != "", "room", "is not a number")
		},
	}
}

// sendCampfire says in the room what was pushed.
func sendCampfire(ctx context.Context, c Caller, v Values, e *Event) error {
	if v.Text("subdomain") == "" || v.Text("room") == "" {
		return nil
	}
	r := jsonTo("https://"+v.Text("subdomain")+".campfirenow.com/room/"+v.Text("room")+"/speak.json",
		map[string]any{"message": map[string]string{"type": "TextMessage", "body": e.Message.Text.Plain()}})
	r.User, r.Password = v.Text("token"), "X"
	return deliver(ctx, c, r)
}
