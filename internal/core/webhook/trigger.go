package webhook

import (
	"slices"

	"tenon/internal/core/payload"
)

// ProjectTriggers are the events that hooks of projects may ask for.
func ProjectTriggers() []payload.Trigger {
	return slices.DeleteFunc(slices.Clone(placeTriggers), func(t payload.Trigger) bool {
		return t == payload.Member || t == payload.Subgroup || t == payload.Project
	})
}

// Triggers are the events that the hook asks for.
func (h *Hook) Triggers() []payload.Trigger {
	var out []payload.Trigger
	for _, of := range []struct {
		trigger payload.Trigger
		on      bool
	}{
		{payload.Push, h.Push},
		{payload.TagPush, h.TagPush},
		{payload.RepositoryUpdate, h.RepositoryUpdate},
		{payload.Issue, h.Issues},
		{payload.ConfidentialIssue, h.ConfidentialIssues},
		{payload.Note, h.Note},
		{payload.ConfidentialNote, h.ConfidentialNote},
		{payload.MergeRequest, h.MergeRequests},
		{payload.Job, h.Job},
		{payload.Pipeline, h.Pipeline},
		{payload.WikiPage, h.WikiPage},
		{payload.Deployment, h.Deployment},
		{payload.FeatureFlag, h.FeatureFlag},
		{payload.Release, h.Releases},
		{payload.Milestone, h.Milestone},
		{payload.Emoji, h.Emoji},
		{payload.ResourceAccessToken, h.ResourceAccessToken},
		{payload.Member, h.Member},
		{payload.Subgroup, h.Subgroup},
		{payload.Project, h.Project},
	} {
		if of.on {
			out = append(out, of.trigger)
		}
	}
	return out
}
