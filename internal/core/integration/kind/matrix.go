package kind

func matrix() *Kind {
	return &Kind{
		Slug: "matrix", Title: "Matrix notifications", Class: Chat, Since: "17.x",
		Later: unsent,
		Settings: notifications(
			Setting{Name: "hostname", URL: true, Where: true, Doc: "URL of the Matrix server; https://matrix-client.matrix.org where blank"},
			token("token", "Access token of Matrix, such as syt-zyx57W2v1u123ew11"),
			Setting{Name: "room", Required: true, Chars: 255, Doc: "ID of the room, such as !qPKKM111FFKKsfoCVy:matrix.org"},
		),
		Events: chatEvents(incidents),
	}
}
