package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/errgroup"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// crowd is an organisation: many users, one with many groups, and one
// group with many projects.
type crowd struct {
	*filler
	people, groups, perGroup, large int

	member string // token of the user with the many groups
	owner  int    // id of that user
	first  int    // id of the first user of the crowd
	big    int    // id of the group with the many projects
	joined int    // id of a user who belongs to it
}

func newCrowd(w *world, o options) *crowd {
	c := &crowd{
		filler: &filler{world: w, root: newAPI(w.url, rootToken)},
		people: 10_000, groups: 500, perGroup: 4, large: 1000,
	}
	if o.quick {
		c.people, c.groups, c.large = 500, 50, 100
	}
	return c
}

// measurePeople fills the organisation and measures what is asked of it. It comes after
// everything else, so that other figures stay what they were.
func measurePeople(ctx context.Context, o options, l *loader, w *world, out *report) (failed int, err error) {
	c := newCrowd(w, o)
	wanted := func(op operation) bool { return o.only.MatchString(op.name) }
	var chosen []operation
	for _, op := range c.operations() {
		if wanted(op) {
			chosen = append(chosen, op)
		}
	}
	if len(chosen) == 0 && !o.only.MatchString("access") {
		return 0, nil
	}
	if err := c.fill(ctx); err != nil {
		return 0, fmt.Errorf("fill the organisation: %w", err)
	}
	if err := vacuum(ctx, o.database); err != nil {
		return 0, err
	}
	if err := l.server.quiet(ctx); err != nil {
		return 0, err
	}
	if err := l.background(ctx); err != nil {
		return 0, err
	}
	out.line("")
	out.header()
	for _, op := range c.operations() { // again, now that ids and tokens are there
		if !wanted(op) {
			continue
		}
		r, err := l.measure(ctx, op)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", op.name, err)
		}
		failed += r.one.errors + r.eight.errors
		out.row(op, r)
	}
	if o.only.MatchString("access") {
		if err := c.measureAccess(ctx, o, l.server, out); err != nil {
			return failed, fmt.Errorf("access: %w", err)
		}
	}
	return failed, nil
}

// measureAccess asks in this process, over the server's database, for the levels of the
// user with many groups in one project after the other.
func (c *crowd) measureAccess(ctx context.Context, o options, s *server, out *report) (err error) {
	address := o.database
	if address == "" {
		address = "sqlite:" + filepath.Join(s.data, "tenon.db")
	}
	d, err := db.Open(ctx, db.Config{URL: address})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	places, err := db.Select[authz.NamespaceID](ctx, d, "SELECT namespace_id FROM projects ORDER BY id DESC LIMIT 2000")
	if err != nil {
		return err
	}
	policy, me := authz.New(d, time.Now), authz.Actor{UserID: authz.UserID(c.owner)}
	before := d.Statements()
	took := make([]time.Duration, len(places))
	for i, place := range places {
		began := time.Now()
		if _, err := policy.Level(ctx, me, authz.Subject{Namespace: place, IsProject: true}); err != nil {
			return err
		}
		took[i] = time.Since(began)
	}
	each := float64(d.Statements()-before) / float64(len(places))
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	out.line("\n| in the process | p50 / p99 us | SQL | goal |\n|---|--:|--:|---|")
	out.line("| access of one user to one project | %d / %d | %.1f | %s, %s |", p50.Microseconds(), p99.Microseconds(), each,
		met(p50 <= 100*time.Microsecond, "100 us"), met(each <= 1, "1 SQL"))
	return nil
}

func (c *crowd) operations() []operation {
	page := goal{p99: 12 * time.Millisecond, statements: 6, noGit: true}
	as := func(token string, op operation) operation {
		if token == "" {
			return op // the crowd is not there yet
		}
		sends := op.sends
		own := []byte("Private-Token: " + token + "\r\n")
		return operation{name: op.name, goal: op.goal, wants: op.wants, check: op.check, sends: func(i int) []byte {
			return withToken(sends(i), own)
		}}
	}
	return []operation{
		as(rootToken, c.read("users, page of 100", page, rows(100), func(i int) string {
			return fmt.Sprintf("/users?per_page=100&page=%d", i%(c.people/100)+1)
		})),
		as(c.member, c.read("own projects, page of 100", page, rows(100), func(i int) string {
			return fmt.Sprintf("/projects?membership=true&per_page=100&page=%d", i%(c.groups*c.perGroup/100)+1)
		})),
		as(rootToken, c.read("get a user, administrator", goal{rate: 4000, noGit: true}, nil, func(i int) string {
			return fmt.Sprintf("/users/%d", c.first+i*7%c.people)
		})),
		as(rootToken, c.read("get the application settings", goal{rate: 3000, noGit: true}, nil, func(int) string { return "/application/settings" })),
		as(rootToken, c.write("change a member of a group", goal{p99: 300 * time.Millisecond}, http.MethodPut, http.StatusOK,
			func(i int) (string, map[string]any) {
				return fmt.Sprintf("/groups/%d/members/%d", c.big, c.joined), map[string]any{"access_level": 20 + i%2*10}
			})),
	}
}

// withToken replaces the line that signs on.
func withToken(request, line []byte) []byte {
	head, rest, _ := strings.Cut(string(request), "Private-Token: ")
	_, rest, _ = strings.Cut(rest, "\r\n")
	return []byte(head + string(line) + rest)
}

func (c *crowd) fill(ctx context.Context) error {
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{
		{"crowd", c.makePeople},
		{"groups", c.makeGroups},
		{"large group", c.makeLarge},
	} {
		if err := timed(ctx, step.name, step.run); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) makePeople(ctx context.Context) (int, error) {
	ids := make([]int, c.people)
	n, err := each(ctx, c.people, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("crowd%05d", i)
		u, err := c.root.post(ctx, "/users", map[string]any{
			"username": name, "name": "Member " + name, "email": name + "@example.com", "force_random_password": true, "skip_confirmation": true,
		})
		ids[i] = u.ID
		return err
	})
	if err != nil {
		return n, err
	}
	c.first, c.owner, c.joined = ids[0], ids[0], ids[1]
	for _, id := range ids {
		c.first = min(c.first, id)
	}
	token, err := c.root.post(ctx, fmt.Sprintf("/users/%d/personal_access_tokens", ids[0]), map[string]any{"name": "bench", "scopes": []string{"api"}})
	c.member = token.Token
	return n, err
}

// makeGroups returns one user many groups with projects in them, each group its own.
func (c *crowd) makeGroups(ctx context.Context) (int, error) {
	return each(ctx, c.groups, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("unit%03d", i)
		g, err := c.root.post(ctx, "/groups", map[string]any{"name": name, "path": name})
		if err != nil {
			return err
		}
		if _, err := c.root.post(ctx, fmt.Sprintf("/groups/%d/members", g.ID), map[string]any{"user_id": c.owner, "access_level": 30}); err != nil {
			return err
		}
		for k := range c.perGroup {
			if err := c.project(ctx, g.ID, fmt.Sprintf("part%d", k)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *crowd) project(ctx context.Context, group int, name string) error {
	_, err := c.root.post(ctx, "/projects", map[string]any{"name": name, "path": name, "namespace_id": group})
	return err
}

func (c *crowd) makeLarge(ctx context.Context) (int, error) {
	g, err := c.root.post(ctx, "/groups", map[string]any{"name": "Big", "path": "big"})
	if err != nil {
		return 0, err
	}
	c.big = g.ID
	if _, err := c.root.post(ctx, fmt.Sprintf("/groups/%d/members", g.ID), map[string]any{"user_id": c.joined, "access_level": 30}); err != nil {
		return 0, err
	}
	return each(ctx, c.large, func(ctx context.Context, i int) error { return c.project(ctx, g.ID, fmt.Sprintf("part%04d", i)) })
}

// measureSSH fetches by many clients at once; the server may turn none away.
func measureSSH(ctx context.Context, folder string, s *server, w *world, out *report) error {
	const clients = 50
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return err
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return err
	}
	key := filepath.Join(folder, "id_ed25519")
	if err := os.WriteFile(key, pem.EncodeToMemory(block), 0o600); err != nil {
		return err
	}
	me := newAPI(w.url, w.tokens[0])
	if _, err := me.post(ctx, "/user/keys", map[string]any{"title": "bench", "key": string(ssh.MarshalAuthorizedKey(line))}); err != nil {
		return err
	}
	text, err := me.get(ctx, w.project)
	if err != nil {
		return err
	}
	var project struct {
		SSH string `json:"ssh_url_to_repo"`
	}
	if err := json.Unmarshal(text, &project); err != nil {
		return err
	}
	before, err := s.usage(ctx)
	if err != nil {
		return err
	}
	theirs := childrenTime()
	began := time.Now()
	failures := make([]error, clients)
	var group errgroup.Group
	for i := range clients {
		group.Go(func() error {
			_, failures[i] = git(ctx, folder, "-c", "core.sshCommand=ssh -F none -i "+key+
				" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
				"clone", "-q", "--bare", "--depth", "1", project.SSH, fmt.Sprintf("ssh%02d.git", i))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	took := time.Since(began)
	theirs = childrenTime() - theirs
	after, err := s.usage(ctx)
	if err != nil {
		return err
	}
	refused := 0
	for _, err := range failures {
		if err != nil {
			refused++
		}
	}
	used := after.minus(before)
	out.line("\n| SSH | fetches | took | CPU of the server + git | CPU of the clients | failed | goal |\n|---|--:|--:|--:|--:|--:|---|")
	out.line("| shallow clones at once | %d | %.1f s | %.1f + %.1f s | %.1f s | %d | %s |", clients, took.Seconds(), used.own.Seconds(),
		used.git.Seconds(), theirs.Seconds(), refused, met(refused == 0, "none fails"))
	if refused > 0 {
		return fmt.Errorf("%d of %d fetches over SSH failed: %w", refused, clients, errors.Join(failures...))
	}
	return nil
}
