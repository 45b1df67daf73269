package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Worlds that merge requests are reviewed in: more of them, and fewer notes and issues.
var (
	reviewSize      = size{people: 50, labels: 200, issues: 100, requests: 2000, notes: 200, commits: 5000, files: 3000, merges: 240}
	reviewQuickSize = size{people: 10, labels: 20, issues: 20, requests: 200, notes: 40, commits: 500, files: 300, merges: 48}
)

// What is reviewed.
const (
	changedFiles  = 50  // of the request whose changes are read
	shownThreads  = 20  // on it, with positions
	movedThreads  = 500 // on another request, that follow a push
	triedRequests = 200 // into one branch, that are checked again after a push
	readers       = 2   // clients that read meanwhile

	pause = 200 * time.Millisecond // between two looks at all requests into a branch
)

// review is a world with a request of many files and one with many threads.
type review struct {
	*world
	root    *api
	changes int // iid
	threads int // iid
	last    string
}

// measureReview measures what is done with merge requests.
func measureReview(ctx context.Context, o options, l *loader, w *world, out *report) (failed int, err error) {
	r := &review{world: w, root: newAPI(w.url, w.tokens[0])}
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{{"threads", r.makeThreads}, {"into release", r.makeTried}} {
		if err := timed(ctx, step.name, step.run); err != nil {
			return 0, err
		}
	}
	if err := l.server.quiet(ctx); err != nil {
		return 0, err
	}
	if failed, err = l.measureAll(ctx, o, r.operations(), out); err != nil {
		return failed, err
	}
	if o.only.MatchString("merge") {
		if err := r.checkParents(ctx); err != nil {
			return failed, err
		}
	}
	if err := l.server.quiet(ctx); err != nil {
		return failed, err
	}
	if o.only.MatchString("positions") {
		if err := r.measurePositions(ctx, l, out); err != nil {
			return failed, fmt.Errorf("positions: %w", err)
		}
	}
	if o.only.MatchString("mergeability") {
		if err := r.measureTrials(ctx, l, out); err != nil {
			return failed, fmt.Errorf("mergeability: %w", err)
		}
	}
	return failed, nil
}

// commit puts files onto a branch, which begins at from if that is not empty.
func (r *review) commit(ctx context.Context, branch, from, action string, files map[string]string) (sha string, err error) {
	var actions []map[string]any
	for name, text := range files {
		actions = append(actions, map[string]any{"action": action, "file_path": name, "content": text})
	}
	in := map[string]any{"branch": branch, "commit_message": "Change " + branch, "actions": actions}
	if from != "" {
		in["start_branch"] = from
	}
	var out struct{ ID string }
	text, err := r.root.send(ctx, http.MethodPost, r.project+"/repository/commits", in)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out.ID, err
}

// open makes a merge request from a new branch that adds files.
func (r *review) open(ctx context.Context, branch string, files map[string]string) (iid int, err error) {
	if _, err := r.commit(ctx, branch, "main", "create", files); err != nil {
		return 0, err
	}
	m, err := r.root.post(ctx, r.project+"/merge_requests", map[string]any{"title": branch, "source_branch": branch, "target_branch": "main"})
	return m.IID, err
}

// thread begins a discussion on a line that a request adds.
func (r *review) thread(ctx context.Context, iid int, file string, line int) (id string, err error) {
	var m struct {
		Refs struct {
			Base  string `json:"base_sha"`
			Start string `json:"start_sha"`
			Head  string `json:"head_sha"`
		} `json:"diff_refs"`
	}
	on := fmt.Sprintf("%s/merge_requests/%d", r.project, iid)
	text, err := r.root.get(ctx, on)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return "", err
	}
	var out struct{ ID string }
	text, err = r.root.send(ctx, http.MethodPost, on+"/discussions", map[string]any{"body": "Why is that?", "position": map[string]any{
		"base_sha": m.Refs.Base, "start_sha": m.Refs.Start, "head_sha": m.Refs.Head, "position_type": "text", "new_path": file, "old_path": file, "new_line": line,
	}})
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out.ID, err
}

// numbered returns a text of so many lines.
func numbered(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "line %d of the text\n", i+1)
	}
	return out.String()
}

func (r *review) makeThreads(ctx context.Context) (int, error) {
	files := map[string]string{}
	for i := range changedFiles {
		files[fmt.Sprintf("review/file%02d.txt", i)] = numbered(40)
	}
	var err error
	if r.changes, err = r.open(ctx, "review/files", files); err != nil {
		return 0, err
	}
	for i := range shownThreads {
		if _, err := r.thread(ctx, r.changes, fmt.Sprintf("review/file%02d.txt", i), 1+i); err != nil {
			return 0, err
		}
	}
	if r.threads, err = r.open(ctx, "review/threads", map[string]string{"threads.txt": numbered(movedThreads)}); err != nil {
		return 0, err
	}
	for i := range movedThreads {
		if r.last, err = r.thread(ctx, r.threads, "threads.txt", 1+i); err != nil {
			return 0, err
		}
	}
	return shownThreads + movedThreads, nil
}

// makeTried opens the requests into the branch release.
func (r *review) makeTried(ctx context.Context) (int, error) {
	if _, err := r.commit(ctx, "release", "main", "create", map[string]string{"release.txt": "0\n"}); err != nil {
		return 0, err
	}
	return each(ctx, triedRequests, func(ctx context.Context, i int) error {
		_, err := r.root.as(r.token(i)).post(ctx, r.project+"/merge_requests", map[string]any{
			"title": "Into release", "source_branch": featureBranch(i), "target_branch": "release",
		})
		return err
	})
}

func (r *review) operations() []operation {
	const ms = time.Millisecond
	at := func(format string, args ...any) string { return r.project + fmt.Sprintf(format, args...) }
	approve := r.write("approve", goal{rate: 500}, http.MethodPost, http.StatusCreated, nil)
	approve.sends = func(i int) []byte {
		n, by := i/8, i%8
		if n%r.people == by {
			by = 8 // who made it does not approve it
		}
		return request(r.url, r.tokens[by], http.MethodPost, at("/merge_requests/%d/approve", r.opened[n%len(r.opened)]), []byte("{}"))
	}
	approve.most = min(8*len(r.opened)/3, 4000)
	merge := r.merge(at)
	merge.goal = goal{rate: 40}
	return []operation{
		r.read("list 20, label details", goal{rate: 1500, busy: 15 * ms, statements: 10, noGit: true}, rows(20), func(int) string {
			return at("/merge_requests?state=opened&with_labels_details=true&per_page=20")
		}),
		r.read("get one", goal{rate: 2500, noGit: true}, nil, func(i int) string { return at("/merge_requests/%d", r.opened[i%len(r.opened)]) }),
		r.read("changes of 50 files, warm", goal{rate: 400, noGit: true}, nil, func(int) string { return at("/merge_requests/%d/changes", r.changes) }),
		r.read("discussions, 20 with positions", goal{rate: 800, noGit: true}, rows(shownThreads), func(int) string {
			return at("/merge_requests/%d/discussions?per_page=20", r.changes)
		}),
		r.write("create", goal{rate: 40}, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
			n := len(r.opened)
			return at("/merge_requests"), map[string]any{
				"title": "Made under load", "description": text(i), "source_branch": featureBranch(i % n), "target_branch": loadBranch(i / n % 8),
				"labels": label(i % r.labels), "assignee_id": r.users[i%r.people],
			}
		}),
		approve, merge,
	}
}

// checkParents sees that each merge is on the one before it.
func (r *review) checkParents(ctx context.Context) error {
	text, err := r.root.get(ctx, r.project+"/repository/commits?ref_name=main&first_parent=true&per_page=100")
	if err != nil {
		return err
	}
	var line []struct {
		ID      string
		Title   string
		Parents []string `json:"parent_ids"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, c := range line[:min(len(line)-1, r.merges/2)] {
		if len(c.Parents) != 2 || c.Parents[0] != line[i+1].ID || seen[c.Parents[1]] {
			return fmt.Errorf("commit %s, %q, has the parents %q, not %s and a head of its own", c.ID, c.Title, c.Parents, line[i+1].ID)
		}
		seen[c.Parents[1]] = true
	}
	return nil
}

// until asks again and again whether something is done, for a minute at most.
func until(ctx context.Context, every time.Duration, done func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if yes, err := done(ctx); err != nil || yes {
			return err
		}
		if err := wait(ctx, every); err != nil {
			return errors.New("it is not done after a minute")
		}
	}
}

// measurePositions pushes to a request with many threads until the last of them has moved.
func (r *review) measurePositions(ctx context.Context, l *loader, out *report) error {
	before, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	head, err := r.commit(ctx, "review/threads", "", "update", map[string]string{"threads.txt": "top\n" + numbered(movedThreads)})
	if err != nil {
		return err
	}
	one := fmt.Sprintf("%s/merge_requests/%d/discussions/%s", r.project, r.threads, r.last)
	if err := until(ctx, 20*time.Millisecond, func(ctx context.Context) (bool, error) {
		text, err := r.root.get(ctx, one)
		return strings.Contains(string(text), head), err
	}); err != nil {
		return err
	}
	return l.spent(ctx, out, before, time.Since(began), 2*time.Second, fmt.Sprintf("positions of %d threads after a push", movedThreads), "")
}

// measureTrials pushes to a target branch until all of its requests were checked again, while
// others read.
func (r *review) measureTrials(ctx context.Context, l *loader, out *report) error {
	op := r.read("get one", goal{}, nil, func(i int) string { return fmt.Sprintf("%s/merge_requests/%d", r.project, r.opened[i%len(r.opened)]) })
	var next atomic.Int64
	alone := l.run(ctx, op, &next, readers, 3*time.Second)
	if err := r.push(ctx, "1"); err != nil {
		return err
	}
	var beside figures
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beside = l.run(ctx, op, &next, readers, 3*time.Second)
	}()
	err := until(ctx, pause, r.tried)
	<-ended
	if err != nil {
		return err
	}
	before, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.push(ctx, "2"); err != nil {
		return err
	}
	if err := until(ctx, pause, r.tried); err != nil {
		return err
	}
	slower := 1 - beside.rate/max(alone.rate, 1)
	return l.spent(ctx, out, before, time.Since(began), 5*time.Second, fmt.Sprintf("mergeability of %d after a push to the target", triedRequests),
		fmt.Sprintf("; reads beside it %.0f/s instead of %.0f/s: %s", beside.rate, alone.rate, met(slower < 0.2, "20 % fewer at most")))
}

func (r *review) push(ctx context.Context, text string) error {
	_, err := r.commit(ctx, "release", "", "update", map[string]string{"release.txt": text + "\n"})
	return err
}

// tried says whether lists show a result for all requests into release.
func (r *review) tried(ctx context.Context) (bool, error) {
	for page := 1; page <= triedRequests/100; page++ {
		text, err := r.root.get(ctx, fmt.Sprintf("%s/merge_requests?state=opened&target_branch=%s&per_page=100&page=%d", r.project, url.QueryEscape("release"), page))
		if err != nil {
			return false, err
		}
		if strings.Contains(string(text), `"merge_status":"unchecked"`) || strings.Contains(string(text), `"merge_status":"cannot_be_merged_recheck"`) {
			return false, nil
		}
	}
	return true, nil
}

// spent prints what something cost since before.
func (l *loader) spent(ctx context.Context, out *report, before usage, took, most time.Duration, what, more string) error {
	after, err := l.server.usage(ctx)
	if err != nil {
		return err
	}
	used := after.minus(before)
	out.line("\n%s: %.2f s (%s), %d + %d ms of processor time in server and git, %.0f statements and %.0f processes, polling included%s.", what, took.Seconds(),
		met(took <= most, fmt.Sprintf("%.0f s", most.Seconds())), used.own.Milliseconds(), used.git.Milliseconds(), used.statements, used.processes, more)
	return nil
}
