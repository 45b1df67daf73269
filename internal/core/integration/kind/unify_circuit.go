package kind

func unifyCircuit() *Kind {
	return &Kind{
		Slug: "unify-circuit", Title: "Unify Circuit", Class: Chat,
		Later:    unsent,
		Settings: notifications(webhook("URL of the webhook in Unify Circuit")),
		Events:   chatEvents(),
	}
}
