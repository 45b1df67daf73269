package note

import "strings"

// icons are the icons beside what the server writes, by how its lines begin; the first one that fits counts.
var icons = []struct{ begins, icon string }{
	{"assigned to ", "user"},
	{"unassigned ", "user"},
	{"requested review from ", "user"},
	{"removed review request ", "user"},
	{"changed title ", "pencil"},
	{"changed the description", "pencil"},
	{"changed type ", "pencil"},
	{"changed this line ", "pencil"},
	{"marked the checklist item ", "task-done"},
	{"marked this merge request as **draft**", "pencil"},
	{"marked this merge request as **ready**", "pencil"},
	{"locked the discussion ", "lock"},
	{"unlocked the discussion ", "lock-open"},
	{"made the issue confidential", "eye-slash"},
	{"made the epic confidential", "eye-slash"},
	{"made the issue visible ", "eye"},
	{"made the epic visible ", "eye"},
	{"added time estimate ", "timer"},
	{"changed time estimate ", "timer"},
	{"removed time estimate ", "timer"},
	{"removed time spent", "timer"},
	{"subtracted ", "timer"},
	{"deleted source branch ", "fork"},
	{"restored source branch ", "fork"},
	{"changed target branch ", "fork"},
	{"created branch ", "fork"},
	{"changed due date ", "calendar"},
	{"removed due date", "calendar"},
	{"changed start date ", "calendar"},
	{"removed start date", "calendar"},
	{"mentioned in ", "comment-dots"},
	{"created merge request ", "merge-request"},
	{"marked this issue as a duplicate ", "duplicate"},
	{"marked this issue as ", "link"},
	{"marked this epic as ", "link"},
	{"removed the relation ", "link"},
	{"moved to ", "arrow-right"},
	{"moved from ", "arrow-right"},
	{"cloned to ", "documents"},
	{"cloned from ", "documents"},
	{"approved this ", "check"},
	{"unapproved this ", "unapproval"},
	{"enabled an automatic ", "merge"},
	{"enabled automatic ", "merge"},
	{"canceled the automatic ", "merge"},
	{"canceled automatic ", "merge"},
	{"aborted the automatic ", "merge"},
	{"aborted automatic ", "merge"},
	{"started a merge train", "merge"},
	{"added this merge request to the merge train", "merge"},
	{"removed this merge request from the merge train", "merge"},
	{"resolved all threads", "comment"},
	{"added issue ", "issues"},
	{"removed issue ", "issues"},
	{"added to epic ", "epic"},
	{"removed from epic ", "epic"},
	{"added epic ", "epic"},
	{"added parent epic ", "epic"},
	{"removed child epic ", "epic"},
	{"removed parent epic ", "epic"},
	{"promoted ", "epic"},
}

// Icon names the icon beside a note that the server wrote, by what its line is about; "" for comments, and for lines of other servers.
func (n *Note) Icon() string {
	if !n.System {
		return ""
	}
	for _, i := range icons {
		if strings.HasPrefix(n.Body, i.begins) {
			return i.icon
		}
	}
	head, _, _ := strings.Cut(n.Body, "\n")
	switch {
	case strings.Contains(head, " of time spent "), strings.Contains(head, " of spent time "):
		return "timer"
	case strings.HasPrefix(head, "added ") && (strings.HasSuffix(head, " commit") || strings.HasSuffix(head, " commits")):
		return "commit"
	case strings.HasPrefix(head, "marked ") && strings.HasSuffix(head, " as a duplicate of this issue"):
		return "duplicate"
	}
	return ""
}
