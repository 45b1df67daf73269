package faults

import (
	"encoding/json"
	"fmt"
	"testing"
)

// planned is what clients were told about threads, wiki pages, snippets, labels and epics.
type planned struct {
	request  int64             // the merge request that threads stand on
	threads  map[string]bool   // id to whether it is resolved
	pages    map[string]string // slug to content, "" for one that was deleted
	snippets map[int64]string  // id to title
	epics    map[int64]string  // number to title, which is that of its label too
	assigned map[int64]int64   // epic to issue
}

func newPlanned() planned {
	return planned{threads: map[string]bool{}, pages: map[string]string{}, snippets: map[int64]string{}, epics: map[int64]string{}, assigned: map[int64]int64{}}
}

// perRequest is how many threads a merge request gets: it may have 5,000 comments at most.
const perRequest = 1000

// discuss starts a thread, answers it, and resolves every second one.
func (k *killed) discuss(n int) bool {
	if k.planned.request == 0 || n%perRequest == 0 {
		branch := fmt.Sprintf("talk-%d", n)
		if k.post("POST", "/repository/commits", fmt.Sprintf(
			`{"branch":%q,"start_branch":"main","commit_message":"Talk","actions":[{"action":"create","file_path":%q,"content":"x"}]}`, branch, branch), 201) == nil {
			return false
		}
		opened := k.post("POST", "/merge_requests", fmt.Sprintf(`{"source_branch":%q,"target_branch":"main","title":"Talk"}`, branch), 201)
		if opened == nil {
			return false
		}
		k.planned.request = opened.number("iid")
	}
	at := fmt.Sprintf("/merge_requests/%d/discussions", k.planned.request)
	made := k.post("POST", at, fmt.Sprintf(`{"body":"thread %d"}`, n), 201)
	if made == nil {
		return false
	}
	id := made.text("id")
	k.planned.threads[id] = false
	if k.post("POST", at+"/"+id+"/notes", `{"body":"answer"}`, 201) == nil {
		return false
	}
	if n%2 == 0 {
		delete(k.planned.threads, id) // not known until it is answered
		if k.post("PUT", at+"/"+id, `{"resolved":true}`, 200) == nil {
			return false
		}
		k.planned.threads[id] = true
	}
	return true
}

// page writes a wiki page, changes every second one and deletes every fifth.
func (k *killed) page(n int) bool {
	title, content := fmt.Sprintf("page-%d", n), fmt.Sprintf("content %d", n)
	if k.post("POST", "/wikis", fmt.Sprintf(`{"title":%q,"content":%q}`, title, content), 201) == nil {
		return false
	}
	k.planned.pages[title] = content
	if n%2 == 0 {
		delete(k.planned.pages, title)
		if k.post("PUT", "/wikis/"+title, `{"content":"changed"}`, 200) == nil {
			return false
		}
		k.planned.pages[title] = "changed"
	}
	if n%5 == 0 {
		delete(k.planned.pages, title)
		if k.post("DELETE", "/wikis/"+title, "", 204) == nil {
			return false
		}
		k.planned.pages[title] = ""
	}
	return true
}

// organise makes a label, an epic with it and a snippet, and assigns an issue to the epic.
func (k *killed) organise(n int) bool {
	title := fmt.Sprintf("plan %d", n)
	group := fmt.Sprintf("/groups/%d", k.group)
	if k.ask("POST", group+"/labels", fmt.Sprintf(`{"name":%q,"color":"#112233"}`, title), 201) == nil {
		return false
	}
	made := k.ask("POST", group+"/epics", fmt.Sprintf(`{"title":%q,"labels":%q}`, title, title), 201)
	if made == nil {
		return false
	}
	epic := made.number("iid")
	if before, taken := k.planned.epics[epic]; taken {
		k.t.Errorf("epic %d was given out twice: %q and %q", epic, before, title)
	}
	k.planned.epics[epic] = title
	issue := k.post("POST", "/issues", fmt.Sprintf(`{"title":%q}`, title), 201)
	if issue == nil {
		return false
	}
	if k.ask("POST", fmt.Sprintf("%s/epics/%d/issues/%d", group, epic, issue.number("id")), "", 201) == nil {
		return false
	}
	k.planned.assigned[epic] = issue.number("id")
	snippet := k.post("POST", "/snippets", fmt.Sprintf(`{"title":%q,"visibility":"private","files":[{"file_path":"a.txt","content":%q}]}`, title, title), 201)
	if snippet == nil {
		return false
	}
	k.planned.snippets[snippet.number("id")] = title
	return true
}

func (k *killed) checkPlanned(t *testing.T) {
	k.checkThreads(t)
	have := map[string]string{}
	for _, p := range all[struct {
		Slug    string `json:"slug"`
		Content string `json:"content"`
	}](k.world, "/wikis?with_content=true") {
		have[p.Slug] = p.Content
	}
	for slug, content := range k.planned.pages {
		if have[slug] != content {
			t.Errorf("wiki page %s was answered with the content %q, now it is %q", slug, content, have[slug])
		}
	}
	for id, title := range k.planned.snippets {
		path := fmt.Sprintf("/projects/%d/snippets/%d", k.project, id)
		if got := k.want(200, k.ann, "GET", path, "").text("title"); got != title {
			t.Errorf("snippet %d was answered with the title %q, now it is %q", id, title, got)
		}
		if got := string(k.want(200, k.ann, "GET", path+"/raw", "").body); got != title {
			t.Errorf("snippet %d has the text %q, want %q", id, got, title)
		}
	}
	for iid, title := range k.planned.epics {
		path := fmt.Sprintf("/groups/%d/epics/%d", k.group, iid)
		a := k.want(200, k.ann, "GET", path, "")
		if labels := fmt.Sprint(a.field("labels")); a.text("title") != title || labels != "["+title+"]" {
			t.Errorf("epic %d was answered with the title and label %q, now they are %q and %s", iid, title, a.text("title"), labels)
		}
		issue, ok := k.planned.assigned[iid]
		if !ok {
			continue
		}
		var issues []found
		if err := json.Unmarshal(k.want(200, k.ann, "GET", path+"/issues", "").body, &issues); err != nil {
			t.Fatal(err)
		}
		if len(issues) != 1 || issues[0].ID != issue {
			t.Errorf("epic %d has the issues %v, want that with the id %d", iid, issues, issue)
		}
	}
}

// checkThreads makes sure that threads are as they were answered and that merge requests count
// those that are open.
func (k *killed) checkThreads(t *testing.T) {
	resolved := map[string]bool{}
	d := k.open()
	for _, m := range all[found](k.world, "/merge_requests?state=opened&scope=all") {
		open := int64(0)
		for _, thread := range all[struct {
			ID    string `json:"id"`
			Notes []struct {
				Resolvable bool `json:"resolvable"`
				Resolved   bool `json:"resolved"`
			} `json:"notes"`
		}](k.world, fmt.Sprintf("/merge_requests/%d/discussions", m.IID)) {
			if !thread.Notes[0].Resolvable {
				continue
			}
			resolved[thread.ID] = thread.Notes[0].Resolved
			if !thread.Notes[0].Resolved {
				open++
			}
		}
		counted := count(t, d, fmt.Sprintf("SELECT unresolved_discussions_count FROM merge_requests WHERE id = %d", m.ID))
		if counted != open {
			t.Errorf("!%d counts %d open threads and lists %d", m.IID, counted, open)
		}
	}
	for id, want := range k.planned.threads {
		if got, ok := resolved[id]; !ok || got != want {
			t.Errorf("thread %s: there %v, resolved %v, want it to be there with %v", id, ok, got, want)
		}
	}
}
