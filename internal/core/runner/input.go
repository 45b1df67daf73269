package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/errs"
)

// Changes are the attributes of a runner that a call sets; nil leaves one alone.
type Changes struct {
	Description     *string
	MaintenanceNote *string
	Paused          *bool
	Locked          *bool
	RunUntagged     *bool
	Protected       *bool
	Tags            *[]string
	Timeout         *Timeout
}

// Timeout is the most seconds that jobs run; nil leaves it to the project.
type Timeout struct{ Seconds *int64 }

const (
	maxTags    = 50
	maxTag     = 255 // characters
	maxText    = 1024
	minTimeout = 600 // seconds
)

// apply sets what the changes hold and says what is wrong with the result.
func (c *Changes) apply(r *Runner) error {
	set(&r.Paused, c.Paused)
	set(&r.Locked, c.Locked)
	set(&r.RunUntagged, c.RunUntagged)
	set(&r.Protected, c.Protected)
	if c.Description != nil {
		r.Description = c.Description
	}
	if c.MaintenanceNote != nil {
		r.MaintenanceNote = c.MaintenanceNote
	}
	if c.Timeout != nil {
		r.MaximumTimeout = c.Timeout.Seconds
	}
	if c.Tags != nil {
		tags := cleanTags(*c.Tags)
		if len(tags) > 0 || len(r.Tags()) > 0 {
			text, err := json.Marshal(tags)
			if err != nil {
				return err
			}
			r.TagsJSON = string(text)
		}
	}
	return r.check()
}

func set(to, value *bool) {
	if value != nil {
		*to = *value
	}
}

// cleanTags drops what is blank or said before.
func cleanTags(tags []string) []string {
	out := make([]string, 0, len(tags))
	seen := map[string]bool{}
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" && !seen[tag] {
			seen[tag] = true
			out = append(out, tag)
		}
	}
	return out
}

func (r *Runner) check() error {
	var f errs.Fields
	tags := r.Tags()
	f.Length("description", r.Description, maxText)
	f.Length("maintenance_note", r.MaintenanceNote, maxText)
	f.Check(r.MaximumTimeout == nil || *r.MaximumTimeout >= minTimeout, "maximum_timeout", "needs to be at least 10 minutes")
	f.Check(r.MaximumTimeout == nil || *r.MaximumTimeout <= maxTimeout, "maximum_timeout", "is too long")
	f.Check(r.RunUntagged || len(tags) > 0, "tags_list", "can not be empty when runner is not allowed to pick untagged jobs")
	f.Check(len(tags) <= maxTags, "tags_list", fmt.Sprintf("Too many tags specified. Please limit the number of tags to %d", maxTags))
	f.Check(!slices.ContainsFunc(tags, func(tag string) bool { return utf8.RuneCountInString(tag) > maxTag }), "tags_list",
		fmt.Sprintf("has a tag that is too long (maximum is %d characters)", maxTag))
	return f.Err()
}

const maxTimeout = 1 << 31 // seconds; as long as the column of any client

// sentence returns the messages of fields as one text.
func sentence(fields []errs.Field) string {
	var parts []string
	for _, f := range fields {
		name := strings.ReplaceAll(f.Name, "_", " ")
		for _, m := range f.Messages {
			parts = append(parts, strings.ToUpper(name[:1])+name[1:]+" "+m)
		}
	}
	return strings.Join(parts, " and ")
}
