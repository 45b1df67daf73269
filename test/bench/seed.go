package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tenon/internal/base/db"
)

// size says how much there is of everything.
type size struct {
	people, labels, issues, requests, notes int
	commits, files                          int
	merges                                  int // requests that the measurement of merging uses up
}

var (
	fullSize  = size{people: 50, labels: 200, issues: 1000, requests: 200, notes: 5000, commits: 5000, files: 3000, merges: 120}
	quickSize = size{people: 10, labels: 20, issues: 200, requests: 40, notes: 1200, commits: 500, files: 300, merges: 24}
)

// world is what was made.
type world struct {
	size
	url     string
	project string // path below /api/v4
	clone   string // URL without credentials
	tokens  []string
	users   []int // ids
	issues  []int // iids; the first ones have 20 notes and more
	opened  []int // iids of merge requests
	merging []int // iids of those to merge
	shas    []string
	source  string // the repository that was pushed
	id      int
	real    bool   // a repository that was given, not made
	branch  string // of a real repository

	archived []string // commits of about 3 MB as tar.gz; the last ones are asked for once
}

// busy is how many of the first issues have more than a page of notes.
func (w *world) busy() int { return min(100, w.size.issues/10) }

type filler struct {
	*world
	root *api
}

// fill makes a project with everything in it, over the interface and over git.
func fill(ctx context.Context, o options, s *server, source string) (*world, error) {
	f := &filler{world: &world{size: fullSize, url: s.url, source: source}, root: newAPI(s.url, rootToken)}
	switch {
	case o.review && o.quick:
		f.size = reviewQuickSize
	case o.review:
		f.size = reviewSize
	case o.quick:
		f.size = quickSize
	}
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{
		{"repository made", f.makeRepository},
		{"users", f.makeUsers},
		{"project", f.makeProject},
		{"labels", f.makeLabels},
		{"commits pushed", f.pushAll},
		{"issues", f.makeIssues},
		{"merge requests", f.makeRequests},
		{"notes", f.makeNotes},
	} {
		if err := timed(ctx, step.name, step.run); err != nil {
			return nil, err
		}
	}
	return f.world, vacuum(ctx, o.database)
}

// vacuum does at once what PostgreSQL's autovacuum does a minute after so many rows: it
// takes statistics, without which plans are guesses.
func vacuum(ctx context.Context, address string) (err error) {
	if address == "" {
		return nil
	}
	d, err := db.Open(ctx, db.Config{URL: address})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	_, err = d.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}

// timed does one step and says how many it made and how long that took.
func timed(ctx context.Context, name string, run func(ctx context.Context) (int, error)) error {
	began := time.Now()
	n, err := run(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(began)
	fmt.Fprintf(os.Stderr, "  %-16s %6d in %6.2f s, %7.0f/s\n", name, n, took.Seconds(), float64(n)/took.Seconds())
	return nil
}

// each runs a task for 0 to n-1, eight at a time, and shows how far it is.
func each(ctx context.Context, n int, task func(ctx context.Context, i int) error) (int, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	var done atomic.Int64
	for i := range n {
		group.Go(func() error {
			if err := task(ctx, i); err != nil {
				return err
			}
			if d := done.Add(1); d%max(1, int64(n)/20) == 0 {
				fmt.Fprintf(os.Stderr, "  %d/%d\r", d, n)
			}
			return nil
		})
	}
	return n, group.Wait()
}

func (f *filler) makeUsers(ctx context.Context) (int, error) {
	f.tokens, f.users = make([]string, f.people), make([]int, f.people)
	return each(ctx, f.people, func(ctx context.Context, i int) error {
		name := username(i)
		u, err := f.root.post(ctx, "/users", map[string]any{
			"username": name, "name": "User " + name, "email": name + "@example.com", "force_random_password": true, "skip_confirmation": true,
		})
		if err != nil {
			return err
		}
		t, err := f.root.post(ctx, fmt.Sprintf("/users/%d/personal_access_tokens", u.ID), map[string]any{"name": "bench", "scopes": []string{"api"}})
		f.users[i], f.tokens[i] = u.ID, t.Token
		return err
	})
}

func username(i int) string { return fmt.Sprintf("user%02d", i+1) }

// makeProject puts the project into a group, whose members its users are: the first
// eight as maintainers, the others as developers.
func (f *filler) makeProject(ctx context.Context) (int, error) {
	g, err := f.root.post(ctx, "/groups", map[string]any{"name": "Bench", "path": "bench"})
	if err != nil {
		return 0, err
	}
	for i := range f.tokens {
		level := 30
		if i < 8 {
			level = 40
		}
		if _, err := f.root.post(ctx, fmt.Sprintf("/groups/%d/members", g.ID), map[string]any{"user_id": f.users[i], "access_level": level}); err != nil {
			return 0, err
		}
	}
	p, err := f.root.post(ctx, "/projects", map[string]any{"name": "Large", "path": "large", "namespace_id": g.ID, "visibility": "private"})
	if err != nil {
		return 0, err
	}
	f.id, f.project = p.ID, fmt.Sprintf("/projects/%d", p.ID)
	f.clone = f.url + "/bench/large.git"
	return 1, nil
}

func (f *filler) makeLabels(ctx context.Context) (int, error) {
	return each(ctx, f.labels, func(ctx context.Context, i int) error {
		_, err := f.root.post(ctx, f.project+"/labels", map[string]any{"name": label(i), "color": fmt.Sprintf("#%06x", i*7919%0xffffff)})
		return err
	})
}

func label(i int) string { return fmt.Sprintf("label-%03d", i) }

// text is a description of the usual length.
func text(i int) string {
	return fmt.Sprintf("Paragraph %d.\n\n%s\n", i, strings.Repeat("Some words about what was seen, what was expected and how to see it again. ", 4))
}

func (f *filler) author(i int) *api { return f.root.as(f.tokens[i%len(f.tokens)]) }

func (f *filler) makeIssues(ctx context.Context) (int, error) {
	f.issues = make([]int, f.size.issues)
	return each(ctx, f.size.issues, func(ctx context.Context, i int) error {
		issue, err := f.author(i).post(ctx, f.project+"/issues", map[string]any{
			"title": fmt.Sprintf("Issue %d of the measured project", i), "description": text(i),
			"labels":       strings.Join([]string{label(i % f.labels), label(i * 7 % f.labels), label(i * 13 % f.labels)}, ","),
			"assignee_ids": []int{f.users[i%f.people]},
		})
		f.issues[i] = issue.IID
		return err
	})
}

func (f *filler) makeRequests(ctx context.Context) (int, error) {
	f.opened, f.merging = make([]int, f.requests), make([]int, f.merges)
	return each(ctx, f.requests+f.merges, func(ctx context.Context, i int) error {
		branch, place := featureBranch(i), &f.opened
		n := i
		if i >= f.requests {
			n = i - f.requests
			branch, place = mergeBranch(n), &f.merging
		}
		r, err := f.author(i).post(ctx, f.project+"/merge_requests", map[string]any{
			"title": "Merge " + branch, "description": text(i), "source_branch": branch, "target_branch": "main",
			"labels":      strings.Join([]string{label(i % f.labels), label(i * 7 % f.labels)}, ","),
			"assignee_id": f.users[i%f.people],
		})
		(*place)[n] = r.IID
		return err
	})
}

// makeNotes returns the busy issues most of the notes, every merge request five and the
// rest to the other issues.
func (f *filler) makeNotes(ctx context.Context) (int, error) {
	busy := f.notes * 6 / 10
	onRequests := min(f.requests*5, f.notes/5)
	return each(ctx, f.notes, func(ctx context.Context, i int) error {
		on := fmt.Sprintf("/issues/%d", f.issues[f.busy()+i%(len(f.issues)-f.busy())])
		switch {
		case i < busy:
			on = fmt.Sprintf("/issues/%d", f.issues[i%f.busy()])
		case i < busy+onRequests:
			on = fmt.Sprintf("/merge_requests/%d", f.opened[i%len(f.opened)])
		}
		_, err := f.author(i).post(ctx, f.project+on+"/notes", map[string]any{"body": text(i)})
		return err
	})
}

// push sends the default branch first, then the others.
func (f *filler) pushAll(ctx context.Context) (int, error) {
	to, err := signedOn(f.clone, f.tokens[0])
	if err != nil {
		return 0, err
	}
	for _, refs := range []string{"refs/heads/main:refs/heads/main", "refs/heads/*:refs/heads/*"} {
		if _, err := git(ctx, f.source, "push", "-q", to, refs); err != nil {
			return 0, err
		}
	}
	list, err := git(ctx, f.source, "rev-list", "--max-count=200", "main")
	if err != nil {
		return 0, err
	}
	f.shas = strings.Fields(list)
	// Every commit adds a file of about 3.5 kB once it is packed, until there are all.
	list, err = git(ctx, f.source, "rev-list", "--max-count=50", fmt.Sprintf("main~%d", f.commits-min(f.commits/2, 900)))
	f.archived = strings.Fields(list)
	return f.commits, err
}

// signedOn puts a token into a URL.
func signedOn(address, token string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword("bench", token)
	return u.String(), nil
}

// onDisk is the folder of the repository.
func (w *world) onDisk(data string) string {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(w.id))))
	return filepath.Join(data, "repositories", "@hashed", sum[:2], sum[2:4], sum+".git")
}
