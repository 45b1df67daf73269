// Package payload builds what other servers get about events: the bodies of webhooks, which integrations and external
// status checks share.
package payload

import (
	"context"
	"maps"
	"slices"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Trigger is a kind of event, named as the flag of a hook that asks for it.
type Trigger string

// The triggers.
const (
	Push                Trigger = "push_events"
	TagPush             Trigger = "tag_push_events"
	Issue               Trigger = "issues_events"
	ConfidentialIssue   Trigger = "confidential_issues_events"
	Note                Trigger = "note_events"
	ConfidentialNote    Trigger = "confidential_note_events"
	MergeRequest        Trigger = "merge_requests_events"
	Job                 Trigger = "job_events"
	Pipeline            Trigger = "pipeline_events"
	WikiPage            Trigger = "wiki_page_events"
	Deployment          Trigger = "deployment_events"
	FeatureFlag         Trigger = "feature_flag_events"
	Release             Trigger = "releases_events"
	Milestone           Trigger = "milestone_events"
	Emoji               Trigger = "emoji_events"
	ResourceAccessToken Trigger = "resource_access_token_events"
	Member              Trigger = "member_events"
	Subgroup            Trigger = "subgroup_events"
	Project             Trigger = "project_events"

	// RepositoryUpdate is for hooks of the instance alone, once for each push.
	RepositoryUpdate Trigger = "repository_update_events"

	// System is what hooks of the instance are notified of without a flag: users, groups, projects, keys and members.
	System Trigger = "system_events"
)

// headers are what X-Gitlab-Event says of each trigger in hooks of projects and groups.
var headers = map[Trigger]string{
	Push: "Push Hook", TagPush: "Tag Push Hook", Issue: "Issue Hook", ConfidentialIssue: "Confidential Issue Hook", Note: "Note Hook",
	ConfidentialNote: "Confidential Note Hook", MergeRequest: "Merge Request Hook", Job: "Job Hook", Pipeline: "Pipeline Hook",
	WikiPage: "Wiki Page Hook", Deployment: "Deployment Hook", FeatureFlag: "Feature Flag Hook", Release: "Release Hook",
	Milestone: "Milestone Hook", Emoji: "Emoji Hook", ResourceAccessToken: "Resource Access Token Hook", Member: "Member Hook",
	Subgroup: "Subgroup Hook", Project: "Project Hook", RepositoryUpdate: SystemHook, System: SystemHook,
}

// Triggers returns all triggers.
func Triggers() []Trigger { return slices.Sorted(maps.Keys(headers)) }

// The headers of all calls of hooks of the instance, and of integrations.
const (
	SystemHook  = "System Hook"
	ServiceHook = "Service Hook"
)

// Header is what X-Gitlab-Event says of the trigger in hooks of projects and groups.
func (t Trigger) Header() string { return headers[t] }

// Audience says which recipients may want to be notified of an event.
type Audience struct {
	Trigger   Trigger
	Namespace authz.NamespaceID // of the project or group that the event is in; zero for the instance
	Project   project.ID        // zero where it is in no project
}

// Recipient is notified of events. Services that implement it are found at the start.
type Recipient interface {
	// Listening is a query, with its arguments, that has a row where one of its own wants to be notified of an event. It is run in
	// the transaction of a change, with those of other recipients as one statement. An empty text is no query: none wants it.
	Listening(a Audience) (query string, args []any)

	// Receive writes down who is notified of an event, in the transaction that ends the event: it must do no more than
	// write rows and enqueue jobs. It is called again for an event only where that transaction failed.
	Receive(ctx context.Context, m *Message) error
}

// Message is an event as recipients get it.
type Message struct {
	Event   int64 // ascending in the order of events
	Trigger Trigger
	At      time.Time
	By      authz.UserID // who did it; zero for the server itself
	Chain   string       // X-Gitlab-Event-UUID: the same in all calls that one event leads to

	Namespace authz.NamespaceID // of the project or group; zero for the instance
	Project   *project.Project  // nil where the event is in no project, or the project no longer exists

	Ref string // full name of the branch or tag, which hooks select by; "" where the event has none

	Body any    // such as *MergeRequestBody
	JSON []byte // the body as it is sent
}
