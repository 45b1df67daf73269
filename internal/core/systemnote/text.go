// Package systemnote writes the history of things as notes: it reacts to events and
// does nothing else.
package systemnote

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/markdown"
)

// Assigned tells who was assigned and who no longer is, "" for no user.
func Assigned(added, removed []string) string {
	return joined("assigned to ", added, "unassigned ", removed)
}

// Reviewers tells who was asked for a review and who no longer is, "" for no user.
func Reviewers(added, removed []string) string {
	return joined("requested review from ", added, "removed review request for ", removed)
}

func joined(plus string, added []string, minus string, removed []string) string {
	var parts []string
	if len(added) > 0 {
		parts = append(parts, plus+mentions(added))
	}
	if len(removed) > 0 {
		parts = append(parts, minus+mentions(removed))
	}
	return strings.Join(parts, " and ")
}

// mentions makes "@a, @b, and @c".
func mentions(names []string) string {
	at := make([]string, len(names))
	for i, n := range names {
		at[i] = "@" + n
	}
	switch n := len(at); n {
	case 1:
		return at[0]
	case 2:
		return at[0] + " and " + at[1]
	default:
		return strings.Join(at[:n-1], ", ") + ", and " + at[n-1]
	}
}

// Title tells how a title changed, with the part that differs marked.
func Title(from, to string) string {
	start := 0
	for start < len(from) && start < len(to) {
		r, size := utf8.DecodeRuneInString(from[start:])
		other, _ := utf8.DecodeRuneInString(to[start:])
		if r != other {
			break
		}
		start += size
	}
	end := 0
	for end < len(from)-start && end < len(to)-start {
		r, size := utf8.DecodeLastRuneInString(from[:len(from)-end])
		other, _ := utf8.DecodeLastRuneInString(to[:len(to)-end])
		if r != other || size > len(from)-start-end || size > len(to)-start-end {
			break
		}
		end += size
	}
	mark := func(s, open, closing string) string {
		if middle := s[start : len(s)-end]; middle != "" {
			return s[:start] + open + middle + closing + s[len(s)-end:]
		}
		return s
	}
	return "changed title from **" + mark(from, "{-", "-}") + "** to **" + mark(to, "{+", "+}") + "**"
}

// Description tells how a description changed: which items of its checklists were
// ticked, where that is all.
func Description(from, to string) []string {
	before, after := markdown.Tasks(from), markdown.Tasks(to)
	var out []string
	if len(before) == len(after) && unticked(from) == unticked(to) {
		for i := range before {
			if before[i].Done == after[i].Done {
				continue
			}
			state := "incomplete"
			if after[i].Done {
				state = "completed"
			}
			out = append(out, "marked the checklist item **"+after[i].Text+"** as "+state)
		}
	}
	if len(out) == 0 {
		out = []string{"changed the description"}
	}
	return slices.Clip(out)
}

func unticked(text string) string {
	return strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(text)
}

// Locked tells that the discussion of a thing, such as "issue", was locked or unlocked.
func Locked(locked bool, thing string) string {
	if locked {
		return "locked the discussion in this " + thing
	}
	return "unlocked the discussion in this " + thing
}

// Confidential tells who sees an issue from now on.
func Confidential(confidential bool) string {
	if confidential {
		return "made the issue confidential"
	}
	return "made the issue visible to everyone"
}

// DueDate tells the new due date, or which one is gone; days are YYYY-MM-DD.
func DueDate(from, to *string) string {
	switch {
	case to != nil:
		return "changed due date to " + longDay(*to)
	case from != nil:
		return "removed due date " + longDay(*from)
	}
	return "removed due date"
}

func longDay(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.Format("January 2, 2006")
}

// Type tells that an issue became something else.
func Type(from, to string) string {
	return "changed type from " + words(from) + " to " + words(to)
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }
