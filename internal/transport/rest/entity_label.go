package rest

import (
	"html"

	"tenon/internal/core/authz"
	"tenon/internal/core/label"
)

// labelBasic is a label inside other answers.
type labelBasic struct {
	ID              label.ID `json:"id"`
	Name            string   `json:"name"`
	Description     *string  `json:"description"`
	DescriptionHTML string   `json:"description_html"`
	TextColor       string   `json:"text_color"`
	Color           string   `json:"color"`
}

// labelEntity is a label of a project or group.
type labelEntity struct {
	labelBasic
	*labelCounts
	Archived   bool `json:"archived"`
	Subscribed bool `json:"subscribed"`
	*projectLabel
}

// labelCounts is how often a label is used, where that was asked for.
type labelCounts struct {
	OpenIssues   int64 `json:"open_issues_count"`
	ClosedIssues int64 `json:"closed_issues_count"`
	OpenRequests int64 `json:"open_merge_requests_count"`
}

// projectLabel is what only lists of projects say.
type projectLabel struct {
	Priority       *int64 `json:"priority"`
	IsProjectLabel bool   `json:"is_project_label"`
}

func newLabelBasic(l *label.Label) labelBasic {
	e := labelBasic{ID: l.ID, Name: l.Title, Description: l.Description, TextColor: l.TextColor(), Color: l.Color}
	if l.Description != nil {
		e.DescriptionHTML = html.EscapeString(*l.Description)
	}
	return e
}

func newLabelEntity(at authz.Place, l *label.Label) labelEntity {
	e := labelEntity{labelBasic: newLabelBasic(l), Archived: l.Archived}
	if at.IsProject() {
		e.projectLabel = &projectLabel{Priority: l.Priority, IsProjectLabel: l.NamespaceID == at.Namespace}
	}
	return e
}

// labelForm is the labels of something: titles, or labels where with_labels_details asks for them.
type labelForm interface {
	OneOf(titles labelTitles, details labelDetails)
}

type (
	labelTitles  []string
	labelDetails []labelBasic
)

// OneOf names the forms of labels.
func (labelTitles) OneOf(labelTitles, labelDetails) {}

// OneOf names the forms of labels.
func (labelDetails) OneOf(labelTitles, labelDetails) {}

// labelList returns the titles of labels, or the labels themselves.
func labelList(labels []label.Label, details bool) labelForm {
	if !details {
		return labelTitles(label.Titles(labels))
	}
	out := make(labelDetails, len(labels))
	for i := range labels {
		out[i] = newLabelBasic(&labels[i])
	}
	return out
}
