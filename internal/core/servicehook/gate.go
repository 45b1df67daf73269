package servicehook

import (
	"slices"
	"strings"

	"tenon/internal/core/integration"
	"tenon/internal/core/integration/kind"
)

// selects reports whether an integration is notified of an event: it reacts to its flag, which is on, and what it selects matches.
func selects(i *integration.Integration, e *kind.Event, labels []string) bool {
	flag := i.Kind.Flag(e.Flag)
	if flag == "" || !i.Kind.Reacts() || !i.Flags.On(flag) {
		return false
	}
	return i.Kind.Class != kind.Chat && i.Kind.Class != kind.Mail || chats(i.Settings, e) && labelled(i.Settings, labels) && branch(i.Settings, e)
}

// chats reports whether an event is worth a message: no changes of attributes, and of pipelines those that failed, or also those
// that succeeded.
func chats(v kind.Values, e *kind.Event) bool {
	switch e.Kind {
	case "issue", "merge_request":
		return e.Action != "" && e.Action != "update"
	case "pipeline":
		return e.Status == "failed" || e.Status == "success" && v["notify_only_broken_pipelines"] != true
	}
	return true
}

// branch reports whether the branch of an event is among those that are selected. Tags always are.
func branch(v kind.Values, e *kind.Event) bool {
	if e.Ref.Name == "" || e.Ref.Tag {
		return true
	}
	switch v.Text("branches_to_be_notified") {
	case "default":
		return e.Ref.Default
	case "protected":
		return e.Ref.Protected
	case "default_and_protected":
		return e.Ref.Default || e.Ref.Protected
	}
	return true
}

// labelled reports whether the labels of what an event is about are those that are selected. Events without labels are not selected by them.
func labelled(v kind.Values, labels []string) bool {
	if labels == nil {
		return true
	}
	n := 0
	wanted := slices.DeleteFunc(strings.Split(v.Text("labels_to_be_notified"), ","), func(name string) bool { return strings.TrimSpace(name) == "" })
	for _, name := range wanted {
		if slices.Contains(labels, strings.TrimPrefix(strings.TrimSpace(name), "~")) {
			n++
		}
	}
	if v.Text("labels_to_be_notified_behavior") == "match_all" {
		return n == len(wanted)
	}
	return n > 0 || len(wanted) == 0
}
