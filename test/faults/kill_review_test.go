package faults

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// reviews is what a reviewer was told about drafts and approvals.
type reviews struct {
	request   int64           // the merge request that is reviewed
	requests  []int64         // all of them
	drafted   map[string]bool // texts of drafts that were answered
	published map[string]bool // those among them whose publication was answered
	approved  map[int64]bool  // by merge request, where the last answer came
}

func newReviews() reviews {
	return reviews{drafted: map[string]bool{}, published: map[string]bool{}, approved: map[int64]bool{}}
}

// review writes two drafts, publishes them by two requests at once, and approves the merge request
// or takes the approval back.
func (k *killed) review(n int) bool {
	r := &k.reviews
	if r.request == 0 || n%perRequest == 0 {
		branch := fmt.Sprintf("review-%d", n)
		if k.post("POST", "/repository/commits", fmt.Sprintf(
			`{"branch":%q,"start_branch":"main","commit_message":"Review","actions":[{"action":"create","file_path":%q,"content":"x"}]}`, branch, branch), 201) == nil {
			return false
		}
		opened := k.post("POST", "/merge_requests", fmt.Sprintf(`{"source_branch":%q,"target_branch":"main","title":"Review"}`, branch), 201)
		if opened == nil {
			return false
		}
		r.request = opened.number("iid")
		r.requests = append(r.requests, r.request)
	}
	at := fmt.Sprintf("/projects/%d/merge_requests/%d", k.project, r.request)
	var texts []string
	var ids []int64
	for i := range 2 {
		text := fmt.Sprintf("review %d.%d", n, i)
		made := k.askAs(k.ben, "POST", at+"/draft_notes", fmt.Sprintf(`{"note":%q}`, text), 201)
		if made == nil {
			return false
		}
		r.drafted[text] = true
		texts, ids = append(texts, text), append(ids, made.number("id"))
	}
	published := true
	if n%3 > 0 {
		published = k.twice(func() bool { return k.askAs(k.ben, "POST", at+"/draft_notes/bulk_publish", "", 204) != nil })
	} else { // one by one; the request that comes second finds no draft
		for _, id := range ids {
			published = k.twice(func() bool {
				return k.askAs(k.ben, "PUT", fmt.Sprintf("%s/draft_notes/%d/publish", at, id), "", 204, 404) != nil
			}) && published
		}
	}
	if !published {
		return false
	}
	for _, text := range texts {
		r.published[text] = true
	}
	delete(r.approved, r.request) // not known until it is answered
	verb, allowed := "approve", []int{201, 401}
	if n%2 == 0 {
		verb, allowed = "unapprove", []int{201, 404}
	}
	if k.askAs(k.ben, "POST", at+"/"+verb, "", allowed...) == nil {
		return false
	}
	r.approved[r.request] = n%2 == 1
	return true
}

// twice does the same twice at once and reports whether either was answered.
func (k *killed) twice(do func() bool) bool {
	var answered atomic.Bool
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if do() {
				answered.Store(true)
			}
		})
	}
	both.Wait()
	return answered.Load()
}

// checkReviews makes sure that each draft is there once, as a draft or as a note, that what was
// published is a note, and that approvals are as they were answered.
func (k *killed) checkReviews(t *testing.T) {
	r := &k.reviews
	notes, drafts := map[string]int{}, map[string]int{}
	for _, iid := range r.requests {
		at := fmt.Sprintf("/merge_requests/%d", iid)
		for _, n := range all[struct {
			Body string `json:"body"`
		}](k.world, at+"/notes") {
			if strings.HasPrefix(n.Body, "review ") {
				notes[n.Body]++
			}
		}
		var list []struct {
			Note string `json:"note"`
		}
		if err := json.Unmarshal(k.want(200, k.ben, "GET", fmt.Sprintf("/projects/%d%s/draft_notes", k.project, at), "").body, &list); err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			drafts[d.Note]++
		}
		by, _ := k.want(200, k.ann, "GET", fmt.Sprintf("/projects/%d%s/approvals", k.project, at), "").field("approved_by").([]any)
		if want, known := r.approved[iid]; known && (len(by) == 1) != want || len(by) > 1 {
			t.Errorf("!%d is approved by %v, want an approval: %t", iid, by, want)
		}
	}
	for text, n := range notes {
		if n != 1 || drafts[text] != 0 {
			t.Errorf("%q was published %d times, and is a draft %d times", text, n, drafts[text])
		}
	}
	for text := range r.drafted {
		if notes[text]+drafts[text] != 1 {
			t.Errorf("%q is %d notes and %d drafts, want one of either", text, notes[text], drafts[text])
		}
	}
	for text := range r.published {
		if notes[text] != 1 {
			t.Errorf("%q was published and is %d notes", text, notes[text])
		}
	}
}
