package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"tenon/test/servertest"
)

// together sends the same number of requests at once and returns their answers.
func (w *world) together(n int, request func(i int) (token, method, path, body string)) []*answer {
	w.t.Helper()
	answers, failures := make([]*answer, n), make([]error, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			token, method, path, body := request(i)
			<-start
			answers[i], failures[i] = w.call(context.Background(), token, method, path, body)
		})
	}
	close(start)
	wg.Wait()
	for i, err := range failures {
		if err != nil {
			w.t.Fatalf("request %d: %v", i, err)
		}
	}
	return answers
}

// statuses says how often each status was answered.
func statuses(answers []*answer) map[int]int {
	out := map[int]int{}
	for _, a := range answers {
		out[a.status]++
	}
	return out
}

// TestParallel has many people want the same thing at the same moment.
func TestParallel(t *testing.T) {
	servertest.Each(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		t.Run("issues", func(t *testing.T) { w.in(t).parallelIssues(t) })
		t.Run("merge", func(t *testing.T) { w.in(t).parallelMerge(t) })
		t.Run("people", func(t *testing.T) { w.in(t).parallelPeople(t) })
		t.Run("branches", func(t *testing.T) { w.in(t).parallelBranches(t) })
		t.Run("commits", func(t *testing.T) { w.in(t).parallelCommits(t) })
	})
}

func (w *world) parallelIssues(t *testing.T) {
	const n = 64
	answers := w.together(n, func(i int) (string, string, string, string) {
		return w.ben, "POST", fmt.Sprintf("/projects/%d/issues", w.project), fmt.Sprintf(`{"title":"issue %d"}`, i)
	})
	var got []int64
	for i, a := range answers {
		if a.status != 201 || a.text("title") != fmt.Sprintf("issue %d", i) {
			t.Errorf("issue %d: got %d %.200s", i, a.status, a.body)
		}
		got = append(got, a.number("iid"))
	}
	slices.Sort(got)
	for i, iid := range got {
		if iid != int64(i+1) {
			t.Fatalf("numbers of %d issues made at once: got %v, want 1 to %d", n, got, n)
		}
	}
}

// request makes a branch with one new file and a merge request for it.
func (w *world) request(t *testing.T, branch string) int64 {
	t.Helper()
	w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/repository/commits", w.project), fmt.Sprintf(
		`{"branch":%q,"start_branch":"main","commit_message":"Add %s","actions":[{"action":"create","file_path":"%s.txt","content":"x"}]}`, branch, branch, branch))
	return w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/merge_requests", w.project), fmt.Sprintf(
		`{"source_branch":%q,"target_branch":"main","title":"Add %s"}`, branch, branch)).number("iid")
}

func (w *world) parallelMerge(t *testing.T) {
	for round := range 3 {
		iid := w.request(t, fmt.Sprintf("race-%d", round))
		path := fmt.Sprintf("/projects/%d/merge_requests/%d", w.project, iid)
		answers := w.together(4, func(int) (string, string, string, string) { return w.ann, "PUT", path + "/merge", `{}` })
		if got := statuses(answers); got[200] != 1 || got[405] != 3 {
			t.Errorf("four merges of one request at once: got %v, want one 200 and three 405: %.300s", got, answers[0].body)
		}
		if got := w.want(200, w.ann, "GET", path, "").text("state"); got != "merged" {
			t.Errorf("state: got %q, want merged", got)
		}
		merges := w.git(w.repository(), "log", "--merges", "--format=%H", fmt.Sprintf("--grep=team/app!%d$", iid), "main")
		if len(merges) != 40 {
			t.Errorf("merge commits of !%d on main: got %q, want one", iid, merges)
		}
	}

	// Two requests into one branch at once: both are merged, each with a commit of its own.
	one, two := w.request(t, "left"), w.request(t, "right")
	answers := w.together(2, func(i int) (string, string, string, string) {
		return w.ann, "PUT", fmt.Sprintf("/projects/%d/merge_requests/%d/merge", w.project, []int64{one, two}[i]), `{}`
	})
	for i, a := range answers {
		if a.status != 200 {
			t.Fatalf("merge %d: got %d %.300s, want 200", i, a.status, a.body)
		}
		w.git(w.repository(), "merge-base", "--is-ancestor", a.text("merge_commit_sha"), "main")
	}
}

func (w *world) parallelBranches(t *testing.T) {
	const n = 6
	answers := w.together(n, func(int) (string, string, string, string) {
		return w.ann, "POST", fmt.Sprintf("/projects/%d/repository/branches", w.project), `{"branch":"topic","ref":"main"}`
	})
	if got := statuses(answers); got[201] != 1 || got[400] != n-1 {
		t.Errorf("one branch made %d times at once: got %v, want one 201 and 400 otherwise: %.200s", n, got, answers[0].body)
	}
}

// parallelCommits lets commits race for one branch. Some may be refused, but those that
// were answered are all there.
func (w *world) parallelCommits(t *testing.T) {
	const n = 8
	w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/repository/branches", w.project), `{"branch":"busy","ref":"main"}`)
	answers := w.together(n, func(i int) (string, string, string, string) {
		return w.ann, "POST", fmt.Sprintf("/projects/%d/repository/commits", w.project), fmt.Sprintf(
			`{"branch":"busy","commit_message":"Add %d","actions":[{"action":"create","file_path":"busy/%d","content":"x"}]}`, i, i)
	})
	made := 0
	for i, a := range answers {
		switch a.status {
		case 201:
			made++
			w.git(w.repository(), "merge-base", "--is-ancestor", a.text("id"), "busy")
			w.git(w.repository(), "cat-file", "-e", fmt.Sprintf("busy:busy/%d", i))
		case 400, 409:
		default:
			t.Errorf("commit %d: got %d %.300s, want 201, 400 or 409", i, a.status, a.body)
		}
	}
	if made == 0 {
		t.Errorf("none of %d commits was made: %.300s", n, answers[0].body)
	}
}
