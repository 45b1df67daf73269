package kind

import (
	"strings"

	"tenon/internal/base/errs"
)

func campfire() *Kind {
	return &Kind{
		Slug: "campfire", Title: "Campfire", Class: Chat,
		Later: unsent,
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
