package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/tree"
)

// filler makes the objects of an archive of what the catalogue of a tree says: each attribute has a value of its type that is not the default.
type filler struct {
	t         *testing.T
	all       *tree.Catalogue
	defaults  map[string]map[string]any // of relations of one object
	groups    bool                      // the tree is that of groups
	n         int
	head      string           // a commit of the repository, of branch topic
	base      string           // the one before, of branch main
	reference map[string][]obj // rows of files, by the key by which others name them
}

// The numbers of the users of the source, who are members of what moves.
var movingUsers = []string{"mona", "nils", "olga"}

const (
	firstUser   = 101
	sourceGroup = 956
)

// objects are the rows of a relation: as many as it takes for each value of an attribute that has few.
func (f *filler) objects(rel *tree.Relation, kind string) (out []obj) {
	rows := 2
	if rel.Single {
		rows = 1
	} else {
		for _, a := range rel.Attributes {
			rows = max(rows, len(a.Names))
		}
	}
	if n, ok := movingRows[rel.Name]; ok {
		rows = n
	}
	for k := range rows {
		o := obj{}
		for _, part := range f.parts(rel) {
			for _, a := range part.Attributes {
				o[a.Name] = f.value(part, a, k, kind)
			}
		}
		for _, name := range rel.Children {
			child := f.all.Find(name)
			key := cmp.Or(child.Key, child.Name)
			switch rows := f.reference[name]; {
			case len(rows) > 0:
				o[key] = rows[k%len(rows)]
			case child.Single:
				o[key] = f.objects(child, cmp.Or(rel.Kind, kind))[0]
			default:
				o[key] = f.objects(child, cmp.Or(rel.Kind, kind))
			}
		}
		if fit := movingFits[rel.Name]; fit != nil {
			fit(f, o, k)
		}
		out = append(out, o)
	}
	return out
}

// parts are a relation and those that extend it.
func (f *filler) parts(rel *tree.Relation) []*tree.Relation { return partsOf(f.all, rel) }

func partsOf(all *tree.Catalogue, rel *tree.Relation) []*tree.Relation {
	out := []*tree.Relation{rel}
	for _, other := range all.All() {
		if other.Extends == rel.Name {
			out = append(out, other)
		}
	}
	return out
}

// value is the value of an attribute in row k, nested in something of a kind.
func (f *filler) value(rel *tree.Relation, a tree.Attribute, k int, kind string) any {
	f.n++
	for _, key := range []string{rel.Name + "." + a.Name, a.Name} {
		if fn, ok := movingValues[key]; ok {
			return fn(f, k, kind)
		}
	}
	is, known := f.defaults[cmp.Or(rel.Extends, rel.Name)][a.Name]
	switch a.Type {
	case tree.Text:
		text := fmt.Sprintf("\u00c4 %s %d", strings.ReplaceAll(a.Name, "_", " "), f.n) // has columns with folded text filled
		return text[:min(len(text), cmp.Or(a.Max, len(text)))]
	case tree.Integer:
		return f.n
	case tree.Number:
		return float64(f.n) + 0.5
	case tree.Boolean:
		if known {
			return is != true
		}
		return k%2 == 0
	case tree.Name:
		if name := a.Names[k%len(a.Names)]; !known || len(a.Names) == 1 || name != is {
			return name
		}
		return a.Names[(k+1)%len(a.Names)]
	case tree.Time:
		return time.Date(2021, 2, 3, 4, 5, 6, 789e6, time.UTC).Add(time.Duration(f.n) * time.Hour).Format("2006-01-02T15:04:05.000Z")
	case tree.Date:
		year := 2041
		if strings.HasPrefix(a.Name, "start") {
			year = 2031
		}
		return time.Date(year, 2, 3, 0, 0, 0, 0, time.UTC).AddDate(0, 0, f.n).Format(time.DateOnly)
	case tree.User:
		return firstUser + k%len(movingUsers)
	case tree.Project:
		return 5
	case tree.Group:
		return sourceGroup
	}
	f.t.Errorf("%s.%s: an object needs a line in movingValues", rel.Name, a.Name)
	return nil
}

// movingRows is how many rows relations have for which two, or as many as there are words, are not right.
var movingRows = map[string]int{
	"events": 2, "project_members": 3, "members": 3, "ci_pipelines": 4, "builds": 2, "bridges": 2, "generic_commit_statuses": 2, "stages": 2, "author": 1, "priorities": 1, "approvals": 1,
	"merge_requests": 3, "merge_request_reviewers": 3, "project_badges": 2, "labels": 2, "notes": 2, "merge_request_notes": 2, "commit_notes": 2,
	"push_access_levels": 2,
}

func asText(format string) func(f *filler, k int, kind string) any {
	return func(f *filler, k int, _ string) any {
		if strings.Contains(format, "%d") {
			return fmt.Sprintf(format, k)
		}
		return format
	}
}

func asUnique(format string) func(f *filler, k int, kind string) any {
	return func(f *filler, _ int, _ string) any { return fmt.Sprintf(format, f.n) }
}

func asOneOf[T any](values ...T) func(f *filler, k int, kind string) any {
	return func(_ *filler, k int, _ string) any { return values[k%len(values)] }
}

func asNumber(f *filler, _ int, _ string) any { return f.n }
func asHead(f *filler, _ int, _ string) any   { return f.head }
func asBase(f *filler, _ int, _ string) any   { return f.base }
func asKind(_ *filler, _ int, kind string) any {
	return kind
}

func asPosition(f *filler, _ int, _ string) any {
	return obj{"base_sha": f.base, "start_sha": f.base, "head_sha": f.head, "old_path": "a", "new_path": "a", "position_type": "text", "new_line": f.n, "old_line": nil}
}

// movingValues are values of attributes that take no other ones than some: by relation and attribute, or by the attribute alone.
var movingValues = map[string]func(f *filler, k int, kind string) any{
	"sha": asHead, "before_sha": asBase, "source_sha": asHead, "target_sha": asBase, "base_commit_sha": asBase, "start_commit_sha": asBase, "head_commit_sha": asHead,
	"merge_commit_sha": asHead, "squash_commit_sha": asBase, "rebase_commit_sha": asHead, "diff_head_sha": asHead, "source_branch_sha": asHead, "target_branch_sha": asBase,
	"source_commit": asHead, "suggestions.commit_id": asHead, "notes.commit_id": asHead, "merge_request_notes.commit_id": asHead, "commit_notes.commit_id": asHead,
	"snippet_notes.commit_id": asHead,
	"noteable_type":           asKind, "awardable_type": asKind, "target_type": asKind, "commit_notes.noteable_type": asText("Commit"),
	"iid": func(_ *filler, k int, _ string) any { return k + 7 }, "relative_position": func(f *filler, k int, _ string) any { return 1000 * (k + 1) },
	"relative_order": func(_ *filler, k int, _ string) any { return k }, "lists.position": func(_ *filler, k int, _ string) any { return k },
	"stages.position": func(_ *filler, k int, _ string) any { return k }, "stages.name": asOneOf("build", "test"), "ci_stage": asText(""), "stage_idx": asOneOf(0),
	"color": asUnique("#%06x"), "cron": asText("5 4 * * %d"), "cron_timezone": asText("Europe/Berlin"), "discussion_id": asUnique("%040x"), "line_code": asUnique("code_1_%d"),
	"award_emoji.name": asOneOf("tada", "rocket"), "image_url": asUnique("https://example.com/%d.svg"), "link_url": asUnique("https://example.com/%d"),
	"url": asUnique("https://example.com/%d"), "target_url": asUnique("https://example.com/%d"), "filepath": asUnique("/bin/%d"),
	"position": asPosition, "original_position": asPosition, "change_position": asPosition,
	"merge_params": func(_ *filler, k int, _ string) any {
		return obj{"force_remove_source_branch": fmt.Sprint((k + 1) % 2)}
	},
	"issue_type": asOneOf("issue", "incident", "test_case", "task"), "work_item_type": func(_ *filler, k int, _ string) any {
		return obj{"base_type": []string{"issue", "incident", "test_case", "task"}[k%4]}
	},
	"source_branch": asText("topic-%d"), "merge_requests.state": asOneOf("opened", "closed", "merged"), "approvals_before_merge": asOneOf(3), "default_git_depth": asOneOf(7),
	"iterations.iid": asNumber, "builds.type": asText("Ci::Build"), "bridges.type": asText("Ci::Bridge"), "generic_commit_statuses.type": asText("GenericCommitStatus"), "key": asUnique("key_%d"), "target_branch": asText("main"), "ref": asText("main"), "default_branch": asText("topic"), "lock_version": asOneOf(1), "draft": func(_ *filler, k int, _ string) any { return k%2 == 0 },
	"ci_pipelines.status": asOneOf("success", "failed", "canceled", "skipped"), "status": asOneOf("success", "failed"), "source": asOneOf("push", "web", "schedule", "external"),
	"failure_reason": asText("script_failure"), "access_level": asOneOf(30, 40, 20), "members.source_type": asText("Namespace"), "project_members.source_type": asText("Project"), "notification_level": asOneOf(3), "visibility_level": asOneOf(20),
	"rule_type": asOneOf("regular", "any_approver"), "report_type": asText("code_coverage"), "approvals_required": func(_ *filler, k int, _ string) any { return k + 2 },
	"branch_name": asText("guarded-%d"), "protected_branches.name": asText("guarded-%d"), "protected_tags.name": asText("v%d-*"), "tag": func(_ *filler, k int, _ string) any { return k%2 == 0 },
	"releases.tag": asText("v1.%d"), "topics": func(*filler, int, string) any { return []string{"chess", "go"} }, "trailers": func(*filler, int, string) any { return obj{} },
	"commit_author": func(*filler, int, string) any { return obj{"name": "m", "email": "m@example.com"} }, "committer": func(*filler, int, string) any { return obj{"name": "m", "email": "m@example.com"} },
	"real_size": asText("1"), "commits_count": asOneOf(1), "files_count": asOneOf(1), "build_coverage_regex": asText(`(\d+)%`), "name_regex": asText("old.*"), "name_regex_keep": asText("v.*"),
	"older_than": asText("14d"), "keep_n": asOneOf(10), "commit_message_regex": asText("^Fix"), "author_email_regex": asText("example"), "file_name_regex": asText("exe$"), "branch_name_regex": asText("."),
	"commit_message_negative_regex": asText("wip"), "build_timeout": asOneOf(1234), "ci_config_path": asText("ci/main.yml"), "snippets.visibility_level": asOneOf(0, 10),
	"squash_option": asText("always"), "deploy_strategy": asText("manual"), "cadence": asText("7d"), "project_creation_level": asOneOf(1), "subgroup_creation_level": asOneOf(0),
	"default_branch_protection": asOneOf(1), "two_factor_grace_period": asOneOf(7), "group.path": asText("moving"), "group.name": asText("Moving"), "group.parent_id": asOneOf[any](nil),
	"pending_delete": asOneOf(false), "runner_token_expiration_interval": asOneOf(86400), "coverage": asOneOf(12.5, 50.25),
	"max_file_size": asOneOf(12), "suggestion_commit_message": asText("Apply %{suggestions_count}"), "merge_commit_template": asText("Merge %{title}"), "squash_commit_template": asText("Squash %{title}"),
}

// movingFits make a row right in itself, where the format wants some of its attributes to agree.
var movingFits = map[string]func(f *filler, o obj, k int){
	"project_members": asMember, "members": asMember,
	"labels": asOwned, "label": asOwned, "milestones": asOwned, "boards": asOwned,
	"notes": asNote, "snippet_notes": asNote,
	"merge_request_notes": asThread, "commit_notes": asThread,
	"events":   func(f *filler, o obj, k int) { asOwned(f, o, k); o["updated_at"] = o["created_at"] },
	"timelogs": func(_ *filler, o obj, _ int) { o["updated_at"] = o["created_at"] },
	"issues": func(f *filler, o obj, k int) {
		asClosed(f, o, k)
		o["confidential"] = k < 2
	},
	"epics": func(f *filler, o obj, k int) {
		asClosed(f, o, k)
		o["id"], o["parent_id"], o["parent"] = 900+k, nil, nil
		if k > 0 {
			above := maps.Clone(f.reference["epic"][0])
			for _, key := range []string{"id", "parent_id", "parent", "award_emoji", "events", "label_links", "notes", "resource_state_events", "start_date", "end_date"} {
				delete(above, key)
			}
			o["parent_id"], o["parent"] = 900, above
		}
		o["start_date"], o["end_date"] = nil, nil
		if o["start_date_is_fixed"] == true {
			o["start_date"] = o["start_date_fixed"]
		}
		if o["due_date_is_fixed"] == true {
			o["end_date"] = o["due_date_fixed"]
		}
		if k == 0 {
			f.reference["epic"] = []obj{o}
		}
	},
	"iterations": func(f *filler, o obj, _ int) { // they do not overlap
		first := time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 40*f.n)
		o["start_date"], o["due_date"] = first.Format(time.DateOnly), first.AddDate(0, 0, 20).Format(time.DateOnly)
	},
	"lists": func(_ *filler, o obj, k int) {
		for i, key := range []string{"label", "milestone", "user_id", "iteration"} {
			if i != k {
				o[key] = nil
			}
		}
	},
	"protected_environments": func(_ *filler, o obj, _ int) { o["group_id"] = nil },
	"project_feature": func(f *filler, o obj, _ int) {
		for name := range o {
			if strings.HasSuffix(name, "_access_level") {
				o[name] = map[bool]int{false: 10, true: 20}[f.defaults["project_feature"][name] == 10.0]
			}
		}
	},
	"merge_requests": func(f *filler, o obj, k int) {
		metrics := o["metrics"].(obj)
		metrics["created_at"], metrics["updated_at"] = o["created_at"], o["updated_at"]
		o["merge_user_id"] = metrics["merged_by_id"]
		if o["state"] != "merged" {
			o["merge_user_id"], o["merge_commit_sha"], o["squash_commit_sha"], metrics["merged_by_id"], metrics["merged_at"] = nil, nil, nil, nil, nil
		}
		if o["state"] != "closed" {
			metrics["latest_closed_by_id"], metrics["latest_closed_at"] = nil, nil
		}
		for _, one := range o["merge_request_assignees"].([]obj) {
			one["created_at"] = o["created_at"]
		}
		for i, one := range o["merge_request_reviewers"].([]obj) {
			one["state"] = strings.Fields("unreviewed reviewed requested_changes approved unapproved review_started")[(i+3*k)%6]
		}
		diff := o["merge_request_diff"].(obj)
		diff["updated_at"] = diff["created_at"]
	},
	"merge_access_levels": asLevel, "push_access_levels": asLevel, "unprotect_access_levels": asLevel, "create_access_levels": asLevel, "deploy_access_levels": asLevel,
	"ci_pipelines": func(_ *filler, o obj, _ int) {
		o["duration"] = 3600
		for _, stage := range o["stages"].([]obj) {
			for _, kind := range []string{"builds", "bridges", "generic_commit_statuses"} {
				for _, one := range stage[kind].([]obj) {
					one["stage_idx"], one["ci_stage"], one["tag"], one["protected"] = stage["position"], stage["name"], o["tag"], o["protected"]
				}
			}
		}
	},
}

func asMember(_ *filler, o obj, k int) {
	o["user"] = obj{"id": firstUser + k, "username": movingUsers[k], "public_email": movingUsers[k] + "@example.com"}
}

// asOwned are rows of the project or of the group.
func asOwned(f *filler, o obj, _ int) {
	if f.groups {
		if _, ok := o["priorities"]; ok {
			o["priorities"] = []obj{}
		}
		if _, ok := o["project_id"]; ok {
			o["project_id"] = nil
		}
		if _, ok := o["type"]; ok {
			o["type"] = "GroupLabel"
		}
		return
	}
	if _, ok := o["group_id"]; ok {
		o["group_id"] = nil
	}
	if _, ok := o["type"]; ok {
		o["type"] = "ProjectLabel"
	}
}

// asNote is a comment on something without a diff.
func asNote(f *filler, o obj, k int) {
	asOwned(f, o, k)
	o["author"] = obj{"name": movingUsers[k]}
	o["system"], o["confidential"], o["type"] = k == 0, k == 1, "DiscussionNote"
	o["position"], o["original_position"], o["change_position"], o["line_code"], o["commit_id"] = nil, nil, nil, nil, nil
}

// asThread are a comment and one on a diff.
func asThread(_ *filler, o obj, k int) {
	o["author"] = obj{"name": movingUsers[k]}
	o["system"], o["confidential"] = k == 0, k == 1
	if k == 1 {
		o["resolved_at"], o["resolved_by_id"] = nil, nil
	}
	if o["type"] != "DiffNote" {
		o["position"], o["original_position"], o["change_position"], o["line_code"] = nil, nil, nil, nil
	}
}

func asClosed(_ *filler, o obj, _ int) {
	if o["state"] != "closed" {
		o["closed_at"], o["closed_by_id"] = nil, nil
	}
}

// asLevel are a role and a user.
func asLevel(_ *filler, o obj, k int) {
	o["group_id"] = nil
	if k == 0 {
		o["user_id"] = nil
	}
}

// movingRepository makes a bundle of two branches.
func movingRepository(t *testing.T) (bundle, base, head string) {
	t.Helper()
	w := newRepository(t)
	base = w.commit("One", map[string]string{"a": "One\n"})
	w.git("", "checkout", "-q", "-b", "topic")
	head = w.commit("Two", map[string]string{"a": "Two\n"})
	return w.bundle(), base, head
}

// file is the text of a file of rows.
func (f *filler) file(rows []obj, single bool) string {
	var out strings.Builder
	for _, one := range rows {
		line, err := json.Marshal(one)
		if err != nil {
			f.t.Fatal(err)
		}
		out.Write(line)
		if !single {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
