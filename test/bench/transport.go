package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// measureGit compares clone and push with git's own server program on a copy of the
// same repository, one after the other in turns.
func measureGit(ctx context.Context, o options, folder string, s *server, w *world, out *report) error {
	rounds := 20
	if o.quick {
		rounds = 3
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	root := filepath.Join(folder, "bare")
	if err := copyRepository(ctx, s.data, filepath.Join(root, "large.git")); err != nil {
		return err
	}
	bare, stop, err := serveBare(ctx, root, w.tokens[0])
	if err != nil {
		return err
	}
	defer stop()
	t := &transport{folder: folder, source: w.source}
	if t.ours, err = signedOn(w.clone, w.tokens[0]); err != nil {
		return err
	}
	if t.bare, err = signedOn(bare+"/large.git", w.tokens[0]); err != nil {
		return err
	}
	out.transportHeader(rounds)
	for _, m := range []struct {
		name string
		most float64
		run  func(ctx context.Context, to string, round int) error
	}{
		{"clone, all branches", 1.15, t.clone},
		{"shallow clone, depth 1", 0, t.shallow},
		{"push of one commit", 1.3, t.push},
		{"push of a new branch", 0, t.branch},
	} {
		a, b, err := t.turns(ctx, rounds, m.run)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		out.transport(m.name, a, b, m.most)
	}
	return nil
}

type transport struct {
	folder, source string
	ours, bare     string
}

// turns runs one thing against both servers by turns and gives the medians.
func (t *transport) turns(ctx context.Context, rounds int, run func(ctx context.Context, to string, round int) error) (ours, bare time.Duration, err error) {
	var all [2][]time.Duration
	for round := range rounds + 1 {
		for side, to := range []string{t.ours, t.bare} {
			began := time.Now()
			if err := run(ctx, to, round); err != nil {
				return 0, 0, err
			}
			if round > 0 { // the first one warms up
				all[side] = append(all[side], time.Since(began))
			}
		}
	}
	return median(all[0]), median(all[1]), nil
}

func (t *transport) clone(ctx context.Context, from string, _ int) error {
	return t.cloned(ctx, "clone", "-q", "--bare", from)
}

func (t *transport) shallow(ctx context.Context, from string, _ int) error {
	return t.cloned(ctx, "clone", "-q", "--bare", "--depth", "1", from)
}

func (t *transport) cloned(ctx context.Context, args ...string) error {
	to := filepath.Join(t.folder, "clone.git")
	_, err := git(ctx, t.folder, append(args, to)...)
	return errors.Join(err, os.RemoveAll(to))
}

// push sends the next of the commits that were made for it, to one branch.
func (t *transport) push(ctx context.Context, to string, round int) error {
	_, err := git(ctx, t.source, "push", "-q", to, fmt.Sprintf("push~%d:refs/heads/pushed", pushes-1-round))
	return err
}

// branch sends one of them as a branch of its own.
func (t *transport) branch(ctx context.Context, to string, round int) error {
	_, err := git(ctx, t.source, "push", "-q", to, fmt.Sprintf("push~%d:refs/heads/new-%d", pushes/2-1-round, round))
	return err
}

// copyRepository copies the one repository of a data folder, with a plain configuration.
func copyRepository(ctx context.Context, data, to string) error {
	found, err := filepath.Glob(filepath.Join(data, "repositories", "@hashed", "*", "*", "*.git"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("there are %d repositories, not one", len(found))
	}
	if err := os.CopyFS(to, os.DirFS(found[0])); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(to, "hooks")), os.Remove(filepath.Join(to, "config"))); err != nil {
		return err
	}
	for _, setting := range []string{
		"core.repositoryformatversion=0", "core.bare=true", "core.fsync=committed", "http.receivepack=true",
		"receive.autogc=false", "gc.auto=0",
	} {
		key, value, _ := strings.Cut(setting, "=")
		if _, err := git(ctx, to, "config", "--file", "config", key, value); err != nil {
			return err
		}
	}
	return nil
}

// serveBare runs git http-backend for every request, behind the same sign-on.
func serveBare(ctx context.Context, root, token string) (address string, stop func(), err error) {
	exec, err := git(ctx, root, "--exec-path")
	if err != nil {
		return "", nil, err
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(exec), "git-http-backend"),
		Dir:  root,
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "REMOTE_USER=bench",
		},
		InheritEnv: []string{"PATH"},
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{ReadHeaderTimeout: longest, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="bench"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})}
	go func() { _ = srv.Serve(l) }() // ends with stop
	return "http://" + l.Addr().String(), func() { _ = srv.Close() }, nil
}
