// Package markdown reads the texts that people write.
package markdown

import (
	"strings"

	"tenon/internal/base/pattern"
)

// Task is one item of a checklist.
type Task struct {
	Text string
	Done bool
}

var (
	taskItem = pattern.New(`^\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+\[([ xX])\]\s+(\S.*)$`)
	fence    = pattern.New("^\\s{0,3}(```+|~~~+)")
)

// Tasks lists the items of checklists in a text but for those in code blocks and those that
// do not apply.
func Tasks(text string) []Task {
	if !strings.Contains(text, "[") {
		return nil
	}
	var out []Task
	closing := ""
	for line := range strings.SplitSeq(text, "\n") {
		if m := fence().FindStringSubmatch(line); m != nil {
			switch {
			case closing == "":
				closing = m[1]
			case strings.HasPrefix(m[1], closing):
				closing = ""
			}
			continue
		}
		if closing != "" {
			continue
		}
		if m := taskItem().FindStringSubmatch(strings.TrimRight(line, "\r")); m != nil {
			out = append(out, Task{Text: strings.TrimSpace(m[2]), Done: m[1] != " "})
		}
	}
	return out
}
