package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// goal is what an operation should reach; zero values ask for nothing.
type goal struct {
	rate       float64       // requests a second at 8 clients
	p99        time.Duration // at one client
	busy       time.Duration // p99 at 8 clients
	statements float64       // SQL statements at most
	noGit      bool          // no process started
}

// operations lists what is measured: reading first, since writing changes what is read.
func operations(w *world, o options) []operation {
	list := goal{rate: 1500, p99: 8 * time.Millisecond, statements: 8, noGit: true}
	note := goal{rate: 1000}
	if o.database != "" {
		list.rate, list.p99, note = 1000, 0, goal{}
	}
	requests := list
	requests.statements = 10
	warm := goal{rate: 2500, p99: 5 * time.Millisecond, noGit: true}
	at := func(format string, args ...any) string { return w.project + fmt.Sprintf(format, args...) }
	ref := func(name string) string { return url.PathEscape(name) }
	return slices.Concat([]operation{
		w.read("list 20 issues", list, rows(20), func(int) string { return at("/issues?per_page=20") }),
		w.read("list 20 merge requests", requests, rows(20), func(int) string { return at("/merge_requests?per_page=20") }),
		w.read("list 20 notes of an issue", list, rows(20), func(i int) string {
			return at("/issues/%d/notes?per_page=20", w.issues[i%w.busy()])
		}),
		w.read("get one issue", goal{noGit: true}, nil, func(i int) string { return at("/issues/%d", w.issues[i%len(w.issues)]) }),
		w.read("get one merge request", goal{noGit: true}, nil, func(i int) string {
			return at("/merge_requests/%d", w.opened[i%len(w.opened)])
		}),
		w.read("get the current user", goal{noGit: true}, nil, func(int) string { return "/user" }),
		w.read("list projects", goal{noGit: true}, rows(1), func(int) string { return "/projects?per_page=20" }),
		w.read("tree, page of 100", warm, rows(perFolder), func(i int) string {
			return at("/repository/tree?per_page=100&path=src%%2Fpart%02d", i%(w.files/perFolder))
		}),
		w.read("raw file, 10 kB", warm, length(10_000), func(i int) string {
			return at("/repository/files/%s/raw?ref=main", url.PathEscape(filePath(i*10%w.files)))
		}),
		w.read("get one commit", warm, nil, func(i int) string { return at("/repository/commits/%s", w.shas[i%len(w.shas)]) }),
		w.read("get one branch", warm, nil, func(i int) string {
			return at("/repository/branches/%s", ref(featureBranch(i%20)))
		}),
		w.read("compare, 10 commits, 20 files", goal{rate: 800, noGit: true}, nil, func(int) string {
			return at("/repository/compare?from=compare%%2Fbase&to=compare%%2Fhead")
		}),
		w.read("commits, page of 20", goal{}, rows(20), func(int) string { return at("/repository/commits?per_page=20") }),
		w.read("commits of a path, page of 20", goal{rate: 300}, rows(20), func(i int) string {
			return at("/repository/commits?per_page=20&path=src%%2Fpart%02d", i%min(20, w.files/perFolder))
		}),
		w.read("archive tar.gz, again", goal{rate: 100}, nil, func(i int) string {
			return at("/repository/archive.tar.gz?sha=%s", w.archived[0])
		}),
	}, w.graphqlOperations(), w.writes(at, note))
}

func (w *world) writes(at func(format string, args ...any) string, note goal) []operation {
	return []operation{
		w.write("create a note", note, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
			return at("/issues/%d/notes", w.issues[i%min(200, len(w.issues))]), map[string]any{"body": text(i)}
		}),
		w.write("create an issue", goal{}, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
			return at("/issues"), map[string]any{"title": fmt.Sprintf("Made under load, %d", i), "description": text(i), "labels": label(i % w.labels)}
		}),
		w.write("file commit", goal{}, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
			return at("/repository/files/%s", url.PathEscape(fmt.Sprintf("load/file%06d.txt", i))), map[string]any{
				"branch": loadBranch(i % 8), "commit_message": "Add a file", "content": text(i),
			}
		}),
		w.write("file commit, one branch", goal{rate: 60}, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
			return at("/repository/files/%s", url.PathEscape(fmt.Sprintf("single/file%06d.txt", i))), map[string]any{
				"branch": loadBranch(0), "commit_message": "Add a file", "content": text(i),
			}
		}),
		w.merge(at),
	}
}

func (w *world) merge(at func(format string, args ...any) string) operation {
	op := w.write("merge", goal{}, http.MethodPut, http.StatusOK, func(i int) (string, map[string]any) {
		return at("/merge_requests/%d/merge", w.merging[i]), map[string]any{}
	})
	op.most = w.merges / 2
	return op
}

// token spreads the requests over the eight maintainers.
func (w *world) token(i int) string { return w.tokens[i%8] }

// read is an operation whose requests are built before they are needed.
func (w *world) read(name string, g goal, check func([]byte) error, path func(i int) string) operation {
	ready := make([][]byte, 1<<10)
	for i := range ready {
		ready[i] = request(w.url, w.token(i), http.MethodGet, path(i), nil)
	}
	return operation{name: name, goal: g, wants: http.StatusOK, check: check, sends: func(i int) []byte { return ready[i%len(ready)] }}
}

func (w *world) write(name string, g goal, method string, status int, call func(i int) (string, map[string]any)) operation {
	return operation{name: name, goal: g, wants: status, sends: func(i int) []byte {
		path, in := call(i)
		body, err := json.Marshal(in)
		if err != nil {
			panic(err) // maps of texts can be written
		}
		return request(w.url, w.token(i), method, path, body)
	}}
}

// rows checks that a list is as long as its name says.
func rows(n int) func([]byte) error {
	return func(body []byte) error {
		var list []json.RawMessage
		if err := json.Unmarshal(body, &list); err != nil {
			return err
		}
		if len(list) != n {
			return fmt.Errorf("the list has %d rows, not %d", len(list), n)
		}
		return nil
	}
}

// length checks that a file has about the size that its name says.
func length(n int) func([]byte) error {
	return func(body []byte) error {
		if len(body) < n || len(body) > n*11/10 {
			return fmt.Errorf("the file has %d bytes, not about %d", len(body), n)
		}
		return nil
	}
}
