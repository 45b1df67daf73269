package faults

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/test/form"
	"tenon/test/servertest"
)

// admin runs a command for administrators on a data folder and a database, as an operator
// does, and returns what it printed. It is killed where ctx ends.
func admin(ctx context.Context, t *testing.T, data, database string, args ...string) (string, error) {
	t.Helper()
	out, err := adminCommand(ctx, t, data, database, args...).CombinedOutput()
	return string(out), err
}

// printed is what a command that must not fail prints, without the progress that it shows beside.
func printed(t *testing.T, data, database string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := adminCommand(ctx, t, data, database, args...).Output()
	if err != nil {
		t.Fatalf("tenon admin %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func adminCommand(ctx context.Context, t *testing.T, data, database string, args ...string) *exec.Cmd {
	t.Helper()
	args = append(append([]string{"admin"}, args...), "--data", data)
	if database != "" {
		args = append(args, "--database", database)
	}
	cmd := exec.CommandContext(ctx, servertest.Binary(t), args...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// adminDone is admin for a command that must not fail.
func adminDone(t *testing.T, data, database string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := admin(ctx, t, data, database, args...)
	if err != nil {
		t.Fatalf("tenon admin %v: %v\n%s", args, err, out)
	}
	return out
}

// another returns a new empty database of the engine of one.
func another(t *testing.T, database string) string {
	t.Helper()
	if database == "" {
		return ""
	}
	return servertest.Postgres(t)
}

// TestBackup_writers makes a backup while clients write: what was answered before it began
// is in it, and what is restored has no damage.
func TestBackup_writers(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		b := newBacked(t, database)
		stop, done := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		defer clients.Wait()
		defer done()
		var ready sync.WaitGroup // until each client was answered some times
		const some = 3
		for _, write := range b.writers() {
			ready.Add(some)
			clients.Go(func() {
				n := 1
				defer func() {
					for ; n <= some; n++ {
						ready.Done()
					}
				}()
				for ; stop.Err() == nil && write(n); n++ {
					if n <= some {
						ready.Done()
					}
				}
			})
		}
		ready.Wait()
		before := b.answered()
		file := filepath.Join(t.TempDir(), "b.tar.zst")
		adminDone(t, b.s.Data, database, "backup", "create", "--with-secret-key", file)
		after := b.answered()
		done()
		clients.Wait()
		if t.Failed() {
			return
		}
		t.Logf("answered before the backup: %d, until it was made: %d", before.size(), after.size())

		data, other := filepath.Join(t.TempDir(), "restored"), another(t, database)
		adminDone(t, data, other, "backup", "restore", file)
		restored := *b.world
		restored.s = servertest.StartOn(t, data, other)
		restored.url = b.url
		restored.moved()
		if out := adminDone(t, data, other, "check", "--fsck"); !strings.Contains(out, "no problems found") {
			t.Errorf("the check says %s", out)
		}
		before.check(&restored)
	})
}

// written is what clients were told: paths below the project that are there, with a text
// that the answer has; and the commits of branches, pushed in turn.
type written struct {
	there   map[string]string
	forks   []int64
	pushed  []string
	answers int
}

func (m *written) size() int { return m.answers }

func (m *written) check(w *world) {
	for path, text := range m.there {
		if a := w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d%s", w.project, path), ""); !strings.Contains(string(a.body), text) {
			w.t.Errorf("%s was answered with %q, now it is %.300s", path, text, a.body)
		}
	}
	for _, id := range m.forks {
		w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d", id), "")
	}
	refs := w.git(w.t.TempDir(), "ls-remote", w.remote())
	for n, sha := range m.pushed {
		if want := fmt.Sprintf("%s\trefs/heads/pushed-%d", sha, n+1); !strings.Contains(refs+"\n", want+"\n") {
			w.t.Errorf("git does not show %s", want)
		}
	}
}

// backed is a world whose clients remember what they were told.
type backed struct {
	*world
	work string // a clone
	lock sync.Mutex
	told written
}

func newBacked(t *testing.T, database string) *backed {
	t.Helper()
	b := &backed{world: newWorld(t, database), work: t.TempDir(), told: written{there: map[string]string{}}}
	b.git(b.work, "clone", "-q", b.remote(), ".")
	b.want(201, b.ann, "POST", fmt.Sprintf("/projects/%d/issues", b.project), `{"title":"for notes"}`)
	return b
}

// answered is what was answered until now.
func (b *backed) answered() written {
	b.lock.Lock()
	defer b.lock.Unlock()
	out := b.told
	out.there = maps.Clone(out.there)
	return out
}

func (b *backed) remember(fn func(*written)) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	fn(&b.told)
	b.told.answers++
	return true
}

// writers are eight clients. Each writes once and reports whether it may go on.
func (b *backed) writers() []func(n int) bool {
	project := fmt.Sprintf("/projects/%d", b.project)
	post := func(token, path, body string) *answer {
		a, err := b.call(context.Background(), token, "POST", path, body)
		if err != nil || a.status != http.StatusCreated {
			b.t.Errorf("POST %s %s: %v %+v", path, body, err, a)
			return nil
		}
		return a
	}
	// made posts below the project and remembers where the result is.
	made := func(path, body, at, text string) bool {
		a := post(b.ann, project+path, body)
		if a == nil {
			return false
		}
		if strings.Contains(at, "%d") {
			id := a.number("iid")
			if id == 0 || strings.Contains(at, "/notes/") {
				id = a.number("id")
			}
			at = fmt.Sprintf(at, id)
		}
		return b.remember(func(m *written) { m.there[at] = text })
	}
	return []func(n int) bool{
		b.push,
		b.upload,
		func(n int) bool {
			return made("/issues", fmt.Sprintf(`{"title":"issue %d"}`, n), "/issues/%d", fmt.Sprintf(`"issue %d"`, n))
		},
		func(n int) bool {
			return made("/issues/1/notes", fmt.Sprintf(`{"body":"note %d"}`, n), "/issues/1/notes/%d", fmt.Sprintf(`"note %d"`, n))
		},
		func(n int) bool {
			name := fmt.Sprintf("branch-%d", n)
			return made("/repository/branches", fmt.Sprintf(`{"branch":%q,"ref":"main"}`, name), "/repository/branches/"+name, name)
		},
		func(n int) bool {
			name := fmt.Sprintf("file-%d", n)
			return made("/repository/files/"+name, fmt.Sprintf(`{"branch":"main","commit_message":"Add","content":%q}`, name), "/repository/files/"+name+"?ref=main", name)
		},
		func(n int) bool {
			name := fmt.Sprintf("member%d", n)
			user := post(servertest.RootToken, "/users", fmt.Sprintf(
				`{"username":%q,"name":"M","email":"%s@example.com","password":"correct horse m","skip_confirmation":true}`, name, name))
			return user != nil && made("/members", fmt.Sprintf(`{"user_id":%d,"access_level":20}`, user.number("id")),
				fmt.Sprintf("/members/%d", user.number("id")), name)
		},
		func(n int) bool {
			const forks = 3 // each is one more repository to restore and to check
			if n > forks {
				return made("/labels", fmt.Sprintf(`{"name":"label-%d","color":"#112233"}`, n), fmt.Sprintf("/labels/label-%d", n), "#112233")
			}
			a := post(b.ann, project+"/fork", fmt.Sprintf(`{"name":"fork%d","path":"fork%d","namespace_path":"ann"}`, n, n))
			return a != nil && b.remember(func(m *written) { m.forks = append(m.forks, a.number("id")) })
		},
	}
}

// push pushes a commit to a branch of its own.
func (b *backed) push(n int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"commit", "-q", "--allow-empty", "-m", fmt.Sprintf("Push %d", n)},
		{"push", "-q", b.remote(), fmt.Sprintf("HEAD:refs/heads/pushed-%d", n)},
	} {
		if _, err := git(ctx, b.work, args...); err != nil {
			b.t.Error(err)
			return false
		}
	}
	sha, err := git(ctx, b.work, "rev-parse", "HEAD")
	if err != nil {
		b.t.Error(err)
		return false
	}
	return b.remember(func(m *written) { m.pushed = append(m.pushed, sha) })
}

func (b *backed) upload(n int) bool {
	text := fmt.Sprintf("upload %d", n)
	path, ok := b.world.upload([]byte(text))
	return ok && b.remember(func(m *written) { m.there[path] = text })
}

// upload uploads a file to the project and returns the path below it.
func (w *world) upload(content []byte) (string, bool) {
	body, kind := form.File(w.t, "file", "a.txt", content)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, fmt.Sprintf("%s/api/v4/projects/%d/uploads", *w.url.Load(), w.project), bytes.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return "", false
	}
	req.Header.Set("Private-Token", w.ann)
	req.Header.Set("Content-Type", kind)
	a, err := w.send(req)
	if err != nil || a.status != http.StatusCreated {
		w.t.Errorf("upload: %v %+v", err, a)
		return "", false
	}
	return a.text("url"), true
}

// fileOf reads a file whole.
func fileOf(t *testing.T, name string) []byte {
	t.Helper()
	out, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
