package ci

import (
	"regexp"
	"strings"
)

// Detail is how a state is shown.
type Detail struct {
	Icon, Favicon      string
	Text, Label, Group string
}

// Detail words a state. Warned is for a success although jobs failed that may, and for such jobs.
func (s State) Detail(warned bool) Detail {
	group := strings.ReplaceAll(string(s), "_", "-")
	words := strings.ReplaceAll(string(s), "_", " ")
	d := Detail{Icon: "status_" + string(s), Favicon: "favicon_status_" + string(s), Text: strings.ToUpper(words[:1]) + words[1:], Label: words, Group: group}
	switch s {
	case Success:
		d.Text, d.Label = "Passed", "passed"
		if warned {
			d.Icon, d.Text, d.Label, d.Group = "status_warning", "Warning", "passed with warnings", "success-with-warnings"
		}
	case Failed:
		if warned {
			d.Icon, d.Label, d.Group = "status_warning", "failed (allowed to fail)", "failed-with-warnings"
		}
	case Manual:
		d.Label = "manual action"
	case WaitingForResource, WaitingForCallback:
		d.Icon, d.Favicon, d.Text = "status_pending", "favicon_status_pending", "Waiting"
	}
	return d
}

// Detail words the state of a job: one that failed and may is shown with a warning.
func (s *Status) Detail() Detail { return s.State.Detail(s.AllowFailure && s.State == Failed) }

// part is the end of the name of one of several jobs that belong together: 1/3, or [values].
var part = regexp.MustCompile(`[\s:]+(\[[^\]]*\]|\d+[\s:/\\]+\d+)\s*$`)

// maxParts is how many of them a name has.
const maxParts = 3

// Group names what the status belongs to with others, see GroupName.
func (s *Status) Group() string { return GroupName(s.Name) }

// GroupName is the name of a job without "1/3" or "[values]".
func GroupName(job string) string {
	name := job
	for range maxParts {
		name = part.ReplaceAllString(name, "")
	}
	if name = strings.TrimSpace(name); name == "" {
		return job
	}
	return name
}
