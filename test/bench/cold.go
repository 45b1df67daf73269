package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// firsts is one kind of question, asked of things that no user has asked about yet.
type firsts struct {
	name  string
	paths []string
}

// firstCost is what such questions cost one client who asks them one after the other.
type firstCost struct {
	figures
	cpu, git  time.Duration // per request
	processes float64       // per request
}

// measureFirst asks each of them once.
func (l *loader) measureFirst(ctx context.Context, w *world, f firsts) (firstCost, error) {
	op := operation{name: f.name, wants: http.StatusOK, most: len(f.paths), sends: func(i int) []byte {
		return request(w.url, w.token(i), http.MethodGet, f.paths[i], nil)
	}}
	before, err := l.server.usage(ctx)
	if err != nil {
		return firstCost{}, err
	}
	c := firstCost{figures: l.run(ctx, op, new(atomic.Int64), 1, l.length)}
	after, err := l.server.usage(ctx)
	if err != nil {
		return firstCost{}, err
	}
	if c.done != len(f.paths) {
		return c, fmt.Errorf("%d of %d answered: %s", c.done, len(f.paths), c.sample)
	}
	used, n := after.minus(before), time.Duration(c.done)
	c.cpu, c.git, c.processes = used.own/n, used.git/n, used.processes/float64(n)
	return c, nil
}

// measureFirsts asks them all of a real repository, before anything else does.
func (l *loader) measureFirsts(ctx context.Context, w *world, out *report) error {
	all, err := w.firstsOfReal(ctx)
	if err != nil {
		return err
	}
	out.firstHeader()
	for _, f := range all {
		c, err := l.measureFirst(ctx, w, f)
		if err != nil {
			return fmt.Errorf("%s for the first time: %w", f.name, err)
		}
		out.first(f, c)
	}
	return nil
}

// firstsOfReal are questions about a real repository with empty caches.
func (w *world) firstsOfReal(ctx context.Context) ([]firsts, error) {
	list, err := git(ctx, w.source, "ls-tree", "-r", "--name-only", "HEAD")
	if err != nil {
		return nil, err
	}
	files := strings.Split(strings.TrimSpace(list), "\n")
	list, err = git(ctx, w.source, "for-each-ref", "--count=40", "--sort=-creatordate", "--format=%(refname:short)", "refs/tags")
	if err != nil {
		return nil, err
	}
	tags := strings.Fields(list)
	if list, err = git(ctx, w.source, "rev-list", "HEAD"); err != nil {
		return nil, err
	}
	shas := strings.Fields(list)
	if len(files) < 200 || len(tags) < 40 || len(shas) < 2000 {
		return nil, fmt.Errorf("%s is too small", w.source)
	}
	all := func(name string, n int, ask func(i int) string) firsts {
		f := firsts{name: name}
		for i := range n {
			f.paths = append(f.paths, w.project+"/repository"+ask(i))
		}
		return f
	}
	file := func(i int) string { return files[len(files)*(2*i+1)/41] }
	sha := func(i int) string { return shas[len(shas)*(2*i+1)/41] }
	return []firsts{
		all("commits of a file, page of 20", 20, func(i int) string { return "/commits?path=" + url.QueryEscape(file(i)) }),
		all("commits of a folder, page of 20", 8, func(i int) string { return "/commits?path=" + url.QueryEscape(path.Dir(file(2*i))) }),
		all("commits, page 500", 5, func(i int) string { return fmt.Sprintf("/commits?per_page=%d&page=500", 20+i) }),
		all("blame", 10, func(i int) string { return "/files/" + url.PathEscape(file(2*i)) + "/blame?ref=HEAD" }),
		all("file with its last commit", 20, func(i int) string { return "/files/" + url.PathEscape(file(i)) + "?ref=HEAD" }),
		all("compare of two releases", 10, func(i int) string {
			return "/compare?from=" + url.QueryEscape(tags[i+1]) + "&to=" + url.QueryEscape(tags[i])
		}),
		all("difference of a commit", 20, func(i int) string { return "/commits/" + sha(i) + "/diff" }),
		all("merge base of two commits", 10, func(i int) string { return "/merge_base?refs[]=" + sha(i) + "&refs[]=" + tags[i] }),
		all("branches and tags of a commit", 20, func(i int) string { return "/commits/" + sha(i) + "/refs" }),
		all("tree of a tag, page of 100", 20, func(i int) string { return "/tree?per_page=100&ref=" + url.QueryEscape(tags[i]) }),
		all("raw file", 20, func(i int) string { return "/files/" + url.PathEscape(file(i)) + "/raw?ref=HEAD" }),
		all("archive tar.gz of a tag", 5, func(i int) string { return "/archive.tar.gz?sha=" + url.QueryEscape(tags[20+i]) }),
		all("contributors", 1, func(int) string { return "/contributors" }),
	}, nil
}

func (r *report) firstHeader() {
	r.line("| %-31s | asked | p50 ms | longest ms | CPU/request server + git | git |", "for the first time, one client")
	r.line("|%s|--:|--:|--:|--:|--:|", strings.Repeat("-", 33))
}

func (r *report) first(f firsts, c firstCost) {
	r.line("| %-31s | %d | %.1f | %.1f | %.1f + %.1f ms | %.2f |", f.name, c.done, c.p50.Seconds()*1000, c.longest.Seconds()*1000,
		c.cpu.Seconds()*1000, c.git.Seconds()*1000, c.processes)
}
