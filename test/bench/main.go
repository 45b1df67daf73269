// Command bench measures the built server as its clients would see it: it starts the
// binary on a fresh data folder, fills it over the interface and over git, and prints
// what the operations cost. A slow figure never makes it fail, a refused request does.
//
//	make bench ARGS="-quick"
//	TENON_BIN=$PWD/bin/tenon go run ./test/bench -only 'list|note' -seconds 5
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary   string
	only     *regexp.Regexp
	length   time.Duration // of each measurement
	rest     time.Duration // before idle memory is read
	database string
	data     string // a folder that a run with keep left behind, to measure again
	repo     string // a repository to measure as well
	quick    bool
	scale    bool
	keep     bool
	backup   bool
	planning bool
	review   bool
	ci       bool
	moving   bool
	packages bool
	delivery bool
}

func main() {
	if root := os.Getenv(bareRoot); root != "" {
		fmt.Fprintln(os.Stderr, "bench:", serveBare(context.Background(), root, os.Getenv(bareToken)))
		os.Exit(1)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func flags() (options, error) {
	o := options{binary: os.Getenv("TENON_BIN")}
	only := flag.String("only", "", "run the operations whose name matches this pattern")
	seconds := flag.Float64("seconds", 5, "length of each measurement")
	flag.StringVar(&o.database, "database", "", "postgres:// address of an empty database; SQLite if absent")
	flag.StringVar(&o.data, "data", "", "with -scale or -planning, measure the folder that a run with -keep left behind (and its -database)")
	flag.StringVar(&o.repo, "repo", "", "folder of a real repository to measure as well, such as a mirror of git's own")
	flag.BoolVar(&o.quick, "quick", false, "a tenth of the data and a second per measurement, to see that it works")
	flag.BoolVar(&o.scale, "scale", false, "measure lists alone, on 100,000 projects and 1,000,000 issues")
	flag.BoolVar(&o.backup, "backup", false, "measure alone how much reads slow down during a backup")
	flag.BoolVar(&o.planning, "planning", false, "measure issues and notes alone, on 100,000 issues and 500,000 notes in one project")
	flag.BoolVar(&o.review, "review", false, "measure merge requests alone: 2,000 open ones, with diffs, threads, approvals and merges")
	flag.BoolVar(&o.ci, "ci", false, "measure pipelines alone: lists, jobs given to 100 runners, logs, 1,000 runners that wait")
	flag.BoolVar(&o.moving, "moving", false, "measure exports, imports and transfers alone; -only large, uploads, beside or transfer measures one part beside them")
	flag.BoolVar(&o.packages, "packages", false, "measure the package registry alone; -only publication, reads or large measures one part")
	flag.BoolVar(&o.delivery, "delivery", false, "measure environments, deployments, releases and feature flags alone; -only links or upgrade measures one part")
	flag.BoolVar(&o.keep, "keep", false, "keep the data folder and print where it is")
	flag.Parse()
	if o.binary == "" {
		return o, errors.New("TENON_BIN does not name the server's binary; use make bench")
	}
	o.length, o.rest = time.Duration(*seconds*float64(time.Second)), 30*time.Second
	if o.quick {
		o.length, o.rest = time.Second, 3*time.Second
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	return o, nil
}

func run() (err error) {
	o, err := flags()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := os.MkdirTemp("", "tenon-bench-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("folder:", folder)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	out := &report{to: os.Stdout}
	out.machine(o)
	if o.scale {
		return measureScale(ctx, o, cmp.Or(o.data, folder), out)
	}
	if o.planning {
		return measurePlanning(ctx, o, cmp.Or(o.data, folder), out)
	}
	if o.packages {
		return measurePackages(ctx, o, folder, out)
	}
	s, err := measureStart(ctx, o, folder, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if o.ci {
		return measureCI(ctx, o, s, out)
	}
	if o.delivery {
		return measureDelivery(ctx, o, folder, s, out)
	}
	if o.moving {
		return measureMoving(ctx, o, folder, s, out)
	}
	return measure(ctx, o, folder, s, out)
}

// measure runs everything against a server that is up and empty. A real repository comes
// last, so that what housekeeping does with it is harmless.
func measure(ctx context.Context, o options, folder string, s *server, out *report) error {
	w, err := fill(ctx, o, s, filepath.Join(folder, "seed.git"))
	if err != nil {
		return fmt.Errorf("fill the server: %w", err)
	}
	l := &loader{server: s, length: o.length}
	if err := l.background(ctx); err != nil {
		return err
	}
	if o.backup {
		failed, err := measureBackup(ctx, o, folder, l, w, out)
		if err == nil && failed > 0 {
			err = fmt.Errorf("%d requests failed", failed)
		}
		return err
	}
	if o.review {
		failed, err := measureReview(ctx, o, l, w, out)
		if err == nil && failed > 0 {
			err = fmt.Errorf("%d requests failed", failed)
		}
		return err
	}
	failed, err := l.measureWorld(ctx, o, folder, w, operations(w, o), out)
	if err != nil {
		return err
	}
	if o.only.MatchString("ssh") {
		if err := measureSSH(ctx, folder, s, w, out); err != nil {
			return fmt.Errorf("ssh: %w", err)
		}
	}
	if o.only.MatchString("memory") {
		if err := measureMemory(ctx, o, s, out); err != nil {
			return err
		}
	}
	more, err := measurePeople(ctx, o, l, w, out)
	if err != nil {
		return err
	}
	failed += more
	if o.repo != "" {
		if more, err = l.measureReal(ctx, o, folder, w, out); err != nil {
			return err
		}
		failed += more
	}
	if failed > 0 {
		return fmt.Errorf("%d requests failed", failed)
	}
	return nil
}

// measureWorld measures operations on a repository and what git does with it. It returns
// the requests that failed.
func (l *loader) measureWorld(ctx context.Context, o options, folder string, w *world, ops []operation, out *report) (failed int, err error) {
	if failed, err = l.measureAll(ctx, o, ops, out); err != nil {
		return failed, err
	}
	if o.only.MatchString("git clone") || o.only.MatchString("git push") || o.only.MatchString("git archive") {
		if err := measureGit(ctx, o, folder, l.server, w, out); err != nil {
			return failed, fmt.Errorf("git: %w", err)
		}
	}
	return failed, nil
}

// measureAll measures operations one after the other and returns the requests that failed.
func (l *loader) measureAll(ctx context.Context, o options, ops []operation, out *report) (failed int, err error) {
	out.header()
	for _, op := range ops {
		if !o.only.MatchString(op.name) {
			continue
		}
		r, err := l.measure(ctx, op)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", op.name, err)
		}
		failed += r.one.errors + r.eight.errors
		out.row(op, r)
	}
	return failed, nil
}

// measureReal pushes a real repository and measures it like the one that was made.
func (l *loader) measureReal(ctx context.Context, o options, folder string, w *world, out *report) (failed int, err error) {
	public, err := w.push(ctx, o.repo, filepath.Join(folder, "real.git"))
	if err != nil {
		return 0, fmt.Errorf("push %s: %w", o.repo, err)
	}
	if err := public.packed(ctx, l.server); err != nil {
		return 0, err
	}
	out.line("\nRepository %s: %d commits.\n", o.repo, public.commits)
	if o.only.MatchString("first time") {
		if err := l.measureFirsts(ctx, public, out); err != nil {
			return 0, err
		}
	}
	ops, err := public.readsOfReal(ctx, o)
	if err != nil {
		return 0, err
	}
	return l.measureWorld(ctx, o, folder, public, ops, out)
}

// wait ends after d or with ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
