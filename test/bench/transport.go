package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// measureGit compares clone, push and archive with git's own programs on a copy of the
// same repository, one after the other in turns. A clone of a real one takes its client
// half a minute, so fewer have to do.
func measureGit(ctx context.Context, o options, folder string, s *server, w *world, out *report) error {
	rounds := 20
	if o.quick || w.real {
		rounds = 3
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	root := filepath.Join(folder, "bare-"+filepath.Base(w.clone))
	copied := filepath.Join(root, "copy.git")
	if err := copyRepository(ctx, w.onDisk(s.data), copied); err != nil {
		return err
	}
	bare, err := startBare(ctx, root, w.tokens[0])
	if err != nil {
		return err
	}
	defer bare.stop()
	t := &transport{folder: folder, source: w.source, server: s, bareServer: bare, copied: copied, world: w}
	if t.ours, err = signedOn(w.clone, w.tokens[0]); err != nil {
		return err
	}
	if t.bare, err = signedOn(bare.url+"/copy.git", w.tokens[0]); err != nil {
		return err
	}
	out.transportHeader(rounds)
	for _, m := range []comparison{
		{name: "clone, all branches, first time", wall: 1.15, before: s.forgetPacks, run: t.clone},
		{name: "clone, all branches, again", wall: 0.5, cpu: 0.2, run: t.clone},
		{name: "clone, read and thrown away, first time", before: s.forgetPacks, run: t.drain},
		{name: "clone, read and thrown away, again", run: t.drain},
		{name: "shallow clone, depth 1, first time", before: s.forgetPacks, run: t.shallow},
		{name: "shallow clone, depth 1, again", run: t.shallow},
		{name: "push of one commit", wall: 1.3, run: t.push},
		{name: "push of a new branch", run: t.branch},
		{name: "archive tar.gz, first time", wall: 1.2, run: t.archive},
	} {
		if !o.only.MatchString("git " + m.name) {
			continue
		}
		c, err := t.turns(ctx, rounds, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		out.transport(m, c)
	}
	if o.only.MatchString("git clone, indexed alone") {
		took, size, err := t.indexing(ctx, rounds)
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		out.indexing(took, size)
	}
	if !o.only.MatchString("git clone, identical") {
		return nil
	}
	return t.storms(ctx, o, out)
}

// comparison is one thing that both servers do.
type comparison struct {
	name      string
	wall, cpu float64 // at most, over git's own; zero is no goal
	before    func() error
	run       func(ctx context.Context, to string, round int) error
}

// compared is what it cost: medians of wall time, and means of the servers' CPU time.
type compared struct{ ours, bare, oursCPU, bareCPU time.Duration }

type transport struct {
	folder, source string
	ours, bare     string // addresses
	copied         string // the repository of bare
	server         *server
	bareServer     *bareServer
	world          *world
}

// turns runs one thing against both servers by turns.
func (t *transport) turns(ctx context.Context, rounds int, m comparison) (compared, error) {
	var wall, cpu [2][]time.Duration
	for round := range rounds + 1 {
		for side, to := range []string{t.ours, t.bare} {
			if m.before != nil {
				if err := m.before(); err != nil {
					return compared{}, err
				}
			}
			used, err := t.used(ctx, side)
			if err != nil {
				return compared{}, err
			}
			began := time.Now()
			if err := m.run(ctx, to, round); err != nil {
				return compared{}, err
			}
			took := time.Since(began)
			after, err := t.used(ctx, side)
			if err != nil {
				return compared{}, err
			}
			if round > 0 { // the first one warms up
				wall[side], cpu[side] = append(wall[side], took), append(cpu[side], after-used)
			}
		}
	}
	return compared{median(wall[0]), median(wall[1]), mean(cpu[0]), mean(cpu[1])}, nil
}

// used is the CPU time that one side has used so far, with its git processes.
func (t *transport) used(ctx context.Context, side int) (time.Duration, error) {
	if side == 1 {
		return t.bareServer.used()
	}
	u, err := t.server.usage(ctx)
	return u.own + u.git, err
}

func mean(all []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all))
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

// archive asks for an archive of a commit that no user has asked for yet; on the other side
// git makes it.
func (t *transport) archive(ctx context.Context, to string, round int) error {
	commit := t.world.archived[len(t.world.archived)-1-round]
	if to == t.bare {
		_, err := git(ctx, t.copied, "archive", "--format=tar.gz", "--output="+filepath.Join(t.folder, "archive.tar.gz"), commit)
		return err
	}
	_, err := newAPI(t.world.url, t.world.tokens[0]).get(ctx, t.world.project+"/repository/archive.tar.gz?sha="+commit)
	return err
}

// copyRepository copies a repository, with a plain configuration.
func copyRepository(ctx context.Context, from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
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
