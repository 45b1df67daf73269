package kind

import (
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/project"
)

// unlisted says of a kind whose events are only stored.
const unlisted = "Events of its flags are stored and without effect"

// References of issue trackers.
const (
	keys      = `([A-Z][A-Z0-9_]+-\d+)`
	mixedKeys = `([A-Za-z][A-Za-z0-9_]*-\d+)`
)

// chatEvents are the events of most kinds that send messages.
func chatEvents(more ...string) []string {
	return append([]string{pushes, issues, confidentialIssues, mergeRequests, notes, confidentialNotes, tagPushes, pipelines, wikiPages}, more...)
}

// ciEvents are the events that start builds elsewhere.
func ciEvents() []string { return []string{pushes, mergeRequests, tagPushes} }

// branchValues are the branches whose events are sent.
func branchValues() []string { return []string{"all", "default", "protected", "default_and_protected"} }

const (
	branchesName   = "branches_to_be_notified"
	legacyBranches = "notify_only_default_branch"
)

// branches selects the branches whose events are sent.
func branches(by string) Setting {
	return Setting{
		Name: branchesName, Values: branchValues(), Default: by,
		Doc: "Branches to send notifications for: all, default, protected or default_and_protected",
	}
}

// notifications are the settings of kinds that send messages about pipelines and branches.
func notifications(first ...Setting) []Setting {
	return append(slices.Clone(first),
		Setting{Name: "notify_only_broken_pipelines", Type: Bool, Default: true, Doc: "Send notifications for broken pipelines only"},
		branches("default"),
		Setting{Name: legacyBranches, Type: Bool, Legacy: true, Doc: "Deprecated: use branches_to_be_notified"},
	)
}

// webhook is the address to which a chat takes messages. Its value lets others write there.
func webhook(doc string) Setting {
	return Setting{Name: "webhook", Required: true, Hidden: true, URL: true, Doc: doc}
}

// channelSettings are the settings that name the channels for each event.
func channelSettings(hidden bool, events ...string) []Setting {
	var out []Setting
	for _, event := range events {
		out = append(out, Setting{Name: event + "_channel", Hidden: hidden, Doc: "Channels that get notifications for " + strings.ReplaceAll(event, "_", " ") + " events"})
	}
	return out
}

var chatChannels = []string{
	"push", "issue", "confidential_issue", "merge_request", "note", "confidential_note", "tag_push", "pipeline", "wiki_page", "deployment", "incident", "vulnerability",
}

// slackLike are the settings of Slack and of what takes the same messages.
func slackLike(channels []string) []Setting {
	out := notifications(
		webhook("URL of the incoming webhook"),
		Setting{Name: "username", Doc: "Name that messages are posted under"},
		Setting{Name: "channel", Doc: "Channels to use where no other is set for an event, separated by commas"},
	)
	out = append(out, labelSettings()...)
	return append(out, channelSettings(false, channels...)...)
}

func labelSettings() []Setting {
	return []Setting{
		{Name: "labels_to_be_notified", Doc: "Labels to send notifications for, separated by commas; all where blank"},
		{Name: "labels_to_be_notified_behavior", Values: []string{"match_any", "match_all"}, Default: "match_any", Doc: "Labels that are needed: match_any or match_all"},
	}
}

// mostChannels refuses more channels for an event than a kind takes.
func mostChannels(most int) func(v Values, f *errs.Fields) {
	return func(v Values, f *errs.Fields) {
		for name := range v {
			if strings.HasSuffix(name, "channel") && strings.Count(v.Text(name), ",") >= most {
				f.Add("base", fmt.Sprintf("cannot have more than %d channels", most))
				return
			}
		}
	}
}

// token is a secret that signs on at the other service.
func token(name, doc string) Setting {
	return Setting{Name: name, Required: true, Secret: true, Doc: doc}
}

// sslVerification says whether certificates of the other service are checked.
func sslVerification() Setting {
	return Setting{Name: "enable_ssl_verification", Type: Bool, Default: true, Doc: "Verify the certificate of the server"}
}

// tracker is an issue tracker with the settings of trackerLinks.
func tracker(v Values, references string) project.Tracker {
	return project.Tracker{Link: project.Link{URL: v.Text("project_url")}, IssueURL: v.Text("issues_url"), Reference: references}
}

// numbered is a tracker whose issues are also written as those of the project itself, where that has none.
func numbered(v Values) project.Tracker {
	out := tracker(v, keys)
	out.Hash = true
	return out
}

// trackerLinks are the settings of an issue tracker.
func trackerLinks(creates bool) []Setting {
	out := []Setting{
		{Name: "project_url", Required: true, URL: true, Doc: "URL of the project in the issue tracker"},
		{Name: "issues_url", Required: true, URL: true, Doc: "URL of an issue, with :id in place of its key"},
	}
	if creates {
		out = append(out, Setting{Name: "new_issue_url", Required: true, URL: true, Doc: "URL at which an issue is created"})
	}
	return out
}
