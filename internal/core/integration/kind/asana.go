package kind

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"tenon/internal/base/pattern"
)

func asana() *Kind {
	return &Kind{
		Slug: "asana", Title: "Asana", Class: Source,
		Does: "Tasks that commits name are commented on, and completed", Send: sendAsana,
		Settings: []Setting{
			token("api_key", "Personal access token of Asana, with which tasks are commented on"),
			{Name: "restrict_to_branch", Doc: "Branches whose commits count, separated by commas; all where blank"},
		},
		Events: []string{pushes},
	}
}

// asanaTasks finds tasks in the messages of commits: #1234, and links to them. Words before them that say so end the task.
var asanaTasks = pattern.New(`(?i)(?:\b(fix(?:e[sd])?|clos(?:e[sd]?)|done)\b:?\s+)?(?:#(\d{4,20})|https://app\.asana\.com/\S*/(\d{4,20})(?:/f)?)`)

// sendAsana comments on tasks that commits name, and completes those that they end.
func sendAsana(ctx context.Context, c Caller, v Values, e *Event) error {
	return eachTask(v, e, asanaTasks(), func(id string, done bool, by Commit) error {
		call := func(method, address string, data any) error {
			r := jsonTo("https://app.asana.com/api/1.0/tasks/"+id+address, map[string]any{"data": data})
			r.Method, r.Header["Authorization"] = method, "Bearer "+v.Text("api_key")
			return deliver(ctx, c, r)
		}
		text := e.Author.Name + " pushed to branch " + e.Ref.Name + " of " + e.Project.Name + " ( " + by.URL + " ): " + by.Message
		if err := call("POST", "/stories", map[string]string{"text": text}); err != nil || !done {
			return err
		}
		return call("PUT", "", map[string]bool{"completed": true})
	})
}

// maxTasks bounds how many tasks one push comments on.
const maxTasks = 100

// eachTask calls fn with each task that commits of a push name, on branches that count. The pattern has a word that ends the task, and its number in one of
// the groups after that. A task that is not there, or that nobody may see, does not keep the others from their comments.
func eachTask(v Values, e *Event, tasks *regexp.Regexp, fn func(id string, done bool, by Commit) error) error {
	if only := v.Text("restrict_to_branch"); e.Ref.Tag || only != "" && !listed(only, e.Ref.Name) {
		return nil
	}
	var failed error
	n := 0
	for _, by := range e.Commits {
		for _, found := range tasks.FindAllStringSubmatch(by.Message, maxTasks) {
			if n++; n > maxTasks {
				return failed
			}
			err := fn(cmp.Or(found[2:]...), found[1] != "", by)
			if denied, ok := errors.AsType[*StatusError](err); ok && !denied.Passing() {
				continue
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// listed reports whether a list with commas has a name.
func listed(list, name string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(one) == name {
			return true
		}
	}
	return false
}
