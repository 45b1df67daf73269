package kind

func pushover() *Kind {
	return &Kind{
		Slug: "pushover", Title: "Pushover", Class: Source,
		Later: unsent,
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
