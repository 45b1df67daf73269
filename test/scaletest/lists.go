package scaletest

import "fmt"

// List is a list that is measured. Those with a word are searches.
type List struct{ Name, Path string }

// Lists are those that a large instance is asked for.
func Lists() []List {
	large := fmt.Sprintf("/projects/%d", FirstProject)
	group := fmt.Sprintf("/groups/%d", FirstGroup)
	return []List{
		{"issues everywhere", "/issues?scope=all"},
		{"open ones by update", "/issues?scope=all&state=opened&order_by=updated_at"},
		{"assigned to me", "/issues?scope=assigned_to_me"},
		{"of a large project", large + "/issues"},
		{"open ones by update, there", large + "/issues?state=opened&order_by=updated_at"},
		{"with a label", large + "/issues?labels=label-7"},
		{"with two labels", large + "/issues?labels=label-1,label-7"},
		{"without a label", large + "/issues?not[labels]=label-7"},
		{"of an assignee", large + fmt.Sprintf("/issues?assignee_id=%d", FirstUser+7)},
		{"of an author", large + fmt.Sprintf("/issues?author_id=%d", FirstUser+31)},
		{"page 100", large + "/issues?page=100"},
		{"statistics", large + "/issues_statistics"},
		{"of a group", group + "/issues"},
		{"search of a rare word", large + "/issues?search=zanzibar"},
		{"search of a word", large + "/issues?search=kumquat"},
		{"search of a common word", large + "/issues?search=service"},
		{"search of no word", large + "/issues?search=xylophone"},
		{"search everywhere", "/issues?scope=all&search=zanzibar"},
		{"search of issues by rank", large + "/search?scope=issues&search=kumquat"},
		{"search of issues everywhere", "/search?scope=issues&search=service"},
		{"search of notes", large + "/search?scope=notes&search=kumquat"},
		{"search of notes everywhere", "/search?scope=notes&search=service"},
		{"search of milestones", "/search?scope=milestones&search=kumquat"},
		{"merge requests everywhere", "/merge_requests?scope=all"},
		{"merge requests of a large project", large + "/merge_requests"},
		{"open ones by update", large + "/merge_requests?state=opened&order_by=updated_at"},
		{"merge requests of a group", group + "/merge_requests"},
		{"search of merge requests", large + "/merge_requests?search=kumquat"},
		{"projects", "/projects"},
		{"projects by activity", "/projects?order_by=last_activity_at"},
		{"own projects", "/projects?membership=true"},
		{"search of projects", "/projects?search=project7777"},
		{"projects of a group", group + "/projects"},
		{"groups", "/groups"},
		{"users", "/users"},
		{"search of users", "/users?search=person77"},
		{"members of a group", group + "/members"},
		{"all members of a project", large + "/members/all"},
		{"labels", large + "/labels"},
		{"notes of an issue", large + "/issues/3/notes"},
		{"notes of a long issue", large + "/issues/1/notes"},
		{"one issue", large + "/issues/3"},
		{"one project", large},
	}
}
