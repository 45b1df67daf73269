package rest

import (
	"regexp"
	"strings"
)

// referencesEntity is how an issue or merge request is named from near to far.
type referencesEntity struct {
	Short    string `json:"short"`    // "!1"
	Relative string `json:"relative"` // to the project or group whose list it stands in
	Full     string `json:"full"`     // "group/project!1"
}

// references names a thing of the project fullPath; within is the full path of the
// project or group that was asked, "" for a list of the whole instance.
func references(short, fullPath, within string) referencesEntity {
	relative := short
	if below, ok := strings.CutPrefix(fullPath, within+"/"); ok && within != "" {
		relative = below + short
	}
	return referencesEntity{Short: short, Relative: relative, Full: fullPath + short}
}

// timeStatsEntity is the time planned for a thing and spent on it, in seconds.
type timeStatsEntity struct {
	TimeEstimate        int64   `json:"time_estimate" later:"time tracking"`
	TotalTimeSpent      int64   `json:"total_time_spent" later:"time tracking"`
	HumanTimeEstimate   *string `json:"human_time_estimate" later:"time tracking"`
	HumanTotalTimeSpent *string `json:"human_total_time_spent" later:"time tracking"`
}

// taskStatusEntity counts the tasks of a description.
type taskStatusEntity struct {
	Count          int `json:"count"`
	CompletedCount int `json:"completed_count"`
}

// taskItem is a list item with a check box, at the beginning of a line.
var taskItem = regexp.MustCompile(`(?m)^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX~])\](?:[ \t]|$)`)

// taskStatus counts the check boxes of a Markdown text; those struck out with ~ count
// for nothing.
func taskStatus(text string) taskStatusEntity {
	var out taskStatusEntity
	if !strings.Contains(text, "[") {
		return out
	}
	for _, found := range taskItem.FindAllStringSubmatch(text, -1) {
		switch found[1] {
		case "~":
			continue
		case "x", "X":
			out.CompletedCount++
		}
		out.Count++
	}
	return out
}
