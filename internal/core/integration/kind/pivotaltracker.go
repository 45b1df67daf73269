package kind

import "context"

func pivotalTracker() *Kind {
	return &Kind{
		Slug: "pivotaltracker", Title: "Pivotal Tracker", Class: Source,
		Does: "Commits are posted to the stories that they name", Send: sendPivotal,
		Settings: []Setting{
			token("token", "API token of Pivotal Tracker"),
			{Name: "restrict_to_branch", Doc: "Branches whose commits count, separated by commas; all where blank"},
		},
		Events: []string{pushes},
	}
}

// sendPivotal posts each commit; stories that messages name in brackets, as [#123] or [fixes #123], get it as a comment.
func sendPivotal(ctx context.Context, c Caller, v Values, e *Event) error {
	if only := v.Text("restrict_to_branch"); e.Ref.Tag || only != "" && !listed(only, e.Ref.Name) {
		return nil
	}
	for _, by := range e.Commits {
		r := jsonTo("https://www.pivotaltracker.com/services/v5/source_commits", map[string]any{"source_commit": map[string]string{
			"commit_id": by.ID, "author": by.Author, "url": by.URL, "message": by.Message,
		}})
		r.Header["X-TrackerToken"] = v.Text("token")
		if err := deliver(ctx, c, r); err != nil {
			return err
		}
	}
	return nil
}
