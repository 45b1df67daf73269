package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"tenon/test/servertest"
)

// killFor is how long the server is killed again and again: TENON_FAULT_MINUTES on each
// engine, else so long that the tests as a whole stay short.
func killFor(t *testing.T, short time.Duration) time.Duration {
	t.Helper()
	given := os.Getenv("TENON_FAULT_MINUTES")
	if given == "" {
		return short
	}
	minutes, err := strconv.ParseFloat(given, 64)
	if err != nil {
		t.Fatalf("TENON_FAULT_MINUTES: %v", err)
	}
	return time.Duration(minutes * float64(time.Minute))
}

// TestKill kills the server at random moments while clients write through every door,
// starts it again, and then holds what clients were told against what is there.
func TestKill(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		length := killFor(t, 25*time.Second)
		if database != "" {
			length = killFor(t, 12*time.Second)
		}
		k := newKilled(newWorld(t, database))
		stop, done := context.WithCancel(context.Background())
		defer done()
		var writers sync.WaitGroup
		for _, write := range k.writers() {
			writers.Go(func() {
				for n := 1; stop.Err() == nil; n++ {
					if !write(n) {
						k.awaitServer(stop)
					}
				}
			})
		}
		rounds := k.killAndRestart(length)
		done()
		writers.Wait()
		t.Logf("killed %d times; answered: %d issues, %d notes, %d commits, %d pushes, %d merges, %d threads, %d wiki pages, %d epics, %d snippets, %d published drafts",
			rounds, len(k.issues), len(k.notes), len(k.commits), len(k.pushes), len(k.merges),
			len(k.planned.threads), len(k.planned.pages), len(k.planned.epics), len(k.planned.snippets), len(k.reviews.published))
		k.check(t)
	})
}

// noted is how many issues get notes: one may have 5,000 at most.
const noted = 20

// killed is a world whose clients remember what they were told.
type killed struct {
	*world

	up     chan struct{} // closed while the server runs
	upLock sync.Mutex

	lock    sync.Mutex // of all that follows
	issues  map[int64]string
	notes   map[int64]string
	commits []string
	pushes  []string
	merges  map[int64]string // number to commit on main

	planned planned // each part of it is written by one client
	reviews reviews // written by one client
}

func newKilled(w *world) *killed {
	k := &killed{world: w, up: make(chan struct{}), issues: map[int64]string{}, notes: map[int64]string{}, merges: map[int64]string{}, planned: newPlanned(), reviews: newReviews()}
	close(k.up)
	w.http.Timeout = 20 * time.Second
	// From the first restart on, every push may lead to packing everything again.
	if _, err := w.open().Exec(context.Background(), "INSERT INTO settings (name, value, updated_at) VALUES (?, ?, ?)",
		"housekeeping_optimize_repository_period", "1", time.Now()); err != nil {
		w.t.Fatal(err)
	}
	for range noted {
		w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/issues", w.project), `{"title":"issue for notes"}`)
	}
	for _, branch := range []string{"api", "pushed"} {
		w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/repository/branches", w.project), fmt.Sprintf(`{"branch":%q,"ref":"main"}`, branch))
	}
	return k
}

// awaitServer waits until the server runs or the test ends.
func (k *killed) awaitServer(ctx context.Context) {
	k.upLock.Lock()
	up := k.up
	k.upLock.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
	}
}

// killAndRestart does so for a while and says how often. At the end the server runs.
func (k *killed) killAndRestart(length time.Duration) int {
	seed := uint64(time.Now().UnixNano())
	k.t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	end := time.Now().Add(length)
	for round := 1; ; round++ {
		timer := time.NewTimer(time.Duration(100+random.IntN(1900)) * time.Millisecond)
		<-timer.C
		k.upLock.Lock()
		k.up = make(chan struct{})
		k.upLock.Unlock()
		k.s.Kill()
		k.s.Restart()
		k.moved()
		close(k.up)
		if time.Now().After(end) {
			return round
		}
	}
}

// writers are the clients. Each does one thing and reports whether it was answered as it
// should be; where it was not, it waits for the server. A refusal fails the test unless
// it is one that an interrupted attempt of its own explains.
func (k *killed) writers() []func(n int) bool {
	writers := []func(n int) bool{k.commit, k.push(k.clone()), k.merge, k.discuss, k.page, k.organise, k.review}
	for i := range 2 {
		writers = append(writers,
			func(n int) bool { return k.issue(fmt.Sprintf("issue %d of writer %d", n, i)) },
			func(n int) bool { return k.note(1+n%noted, fmt.Sprintf("note %d of writer %d", n, i)) })
	}
	return writers
}

// post sends one request and returns its answer, or nil where the server was gone. Any
// answer other than the allowed ones is an error of the server.
func (k *killed) post(method, path, body string, allowed ...int) *answer {
	return k.ask(method, fmt.Sprintf("/projects/%d%s", k.project, path), body, allowed...)
}

// ask is post for a path that is not below the project's.
func (k *killed) ask(method, path, body string, allowed ...int) *answer {
	return k.askAs(k.ann, method, path, body, allowed...)
}

// askAs is ask as another user.
func (k *killed) askAs(token, method, path, body string, allowed ...int) *answer {
	a, err := k.call(context.Background(), token, method, path, body)
	if err != nil {
		return nil
	}
	for _, status := range allowed {
		if a.status == status {
			return a
		}
	}
	k.t.Errorf("%s %s %.100s: got %d %.300s, want %v", method, path, body, a.status, a.body, allowed)
	return nil
}

func (k *killed) issue(title string) bool {
	a := k.post("POST", "/issues", fmt.Sprintf(`{"title":%q}`, title), 201)
	if a == nil {
		return false
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	iid := a.number("iid")
	if before, taken := k.issues[iid]; taken {
		k.t.Errorf("issue %d was given out twice: %q and %q", iid, before, title)
	}
	k.issues[iid] = title
	return true
}

func (k *killed) note(iid int, body string) bool {
	a := k.post("POST", fmt.Sprintf("/issues/%d/notes", iid), fmt.Sprintf(`{"body":%q}`, body), 201)
	if a == nil {
		return false
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.notes[a.number("id")] = body
	return true
}

func (k *killed) commit(n int) bool {
	a := k.post("POST", "/repository/commits", fmt.Sprintf(
		`{"branch":"api","commit_message":"Add %d","actions":[{"action":"create","file_path":"api/%d","content":"x"}]}`, n, n), 201)
	if a == nil {
		return false
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.commits = append(k.commits, a.text("id"))
	return true
}

// clone returns a working copy of the branch that is pushed.
func (k *killed) clone() string {
	dir, err := os.MkdirTemp(k.s.Data, "work-")
	if err != nil {
		k.t.Fatal(err)
	}
	k.git(dir, "clone", "-q", "--branch", "pushed", k.remote(), ".")
	return dir
}

// push pushes a commit more with every call; one that was interrupted comes with the next.
func (k *killed) push(dir string) func(n int) bool {
	return func(n int) bool {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if out, err := git(ctx, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("Push %d", n)); err != nil {
			k.t.Errorf("commit: %v %s", err, out)
			return false
		}
		sha, err := git(ctx, dir, "rev-parse", "HEAD")
		if err != nil {
			k.t.Error(err)
			return false
		}
		if _, err := git(ctx, dir, "push", "-q", k.remote(), "pushed"); err != nil {
			return false
		}
		k.lock.Lock()
		defer k.lock.Unlock()
		k.pushes = append(k.pushes, sha)
		return true
	}
}

// merge makes a branch, opens a request and merges it, every second one squashed.
func (k *killed) merge(n int) bool {
	branch := fmt.Sprintf("topic-%d", n)
	made := k.post("POST", "/repository/commits", fmt.Sprintf(
		`{"branch":%q,"start_branch":"main","commit_message":"Add %s","actions":[{"action":"create","file_path":%q,"content":"x"}]}`, branch, branch, branch), 201)
	if made == nil {
		return false
	}
	opened := k.post("POST", "/merge_requests", fmt.Sprintf(
		`{"source_branch":%q,"target_branch":"main","title":"Merge %s","squash":%t}`, branch, branch, n%2 == 0), 201)
	if opened == nil {
		return false
	}
	iid := opened.number("iid")
	merged := k.post("PUT", fmt.Sprintf("/merge_requests/%d/merge", iid), `{"should_remove_source_branch":true}`, 200)
	if merged == nil {
		return false
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.merges[iid] = merged.text("merge_commit_sha")
	return true
}
