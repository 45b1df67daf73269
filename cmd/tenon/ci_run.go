package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tenon/internal/core/ciconfig"
)

const runHelp = `Run a job of a configuration in a shell on this computer, in the folder of the configuration as it is.

The job has the variables of the configuration and those of a pipeline of the branch that is checked out, unless flags say otherwise. It gets no image, service, cache or artifact: what other jobs make for it must be there. before_script and script run in one shell, which ends at the first command that fails; after_script runs in another one. Jobs that rules leave out are not run: tenon ci why says which rule does.`

// Bounds of jobs that run here.
const (
	localTimeout = time.Hour       // of jobs that say none
	afterTimeout = 5 * time.Minute // of after_script
	killAfter    = 5 * time.Second // that a job has to end when it is told to
)

func (o *ciFlags) run() *cobra.Command {
	w, file := &whyFlags{}, ""
	c := &cobra.Command{
		Use: "run JOB", Short: "Run a job in a shell on this computer", Args: cobra.ExactArgs(1), Long: runHelp,
		Example: "  tenon ci run test\n  tenon ci run 'test: [go, 1.26]' --var DEPLOY=yes\n  tenon ci run lint --file ci/main.yml --root . --branch feature",
		RunE: func(c *cobra.Command, args []string) error {
			tree, err := openTree(o.root, file)
			if err != nil {
				return err
			}
			defer tree.close()
			l := &localJob{folder: tree.root.Name(), out: c.OutOrStdout(), errors: c.ErrOrStderr()}
			if w.branch == "" && w.tag == "" && w.mr == "" {
				w.branch = l.git(c.Context(), "branch", "--show-current")
			}
			run, err := w.run()
			if err != nil {
				return err
			}
			p, err := tree.evaluate(c.Context(), run.Run)
			if err != nil {
				return err
			}
			if l.job, err = chosen(p, args[0]); err != nil {
				printCIProblems(l.errors, p.Problems)
				return err
			}
			l.predefine(c.Context(), run)
			return l.run(c.Context())
		},
	}
	w.define(c, "the one that is checked out, or main")
	c.Flags().StringVar(&file, "file", ".gitlab-ci.yml", "`path` of the configuration")
	return c
}

// chosen finds the job of a name in a pipeline.
func chosen(p *ciconfig.Pipeline, name string) (*ciconfig.Job, error) {
	var group []string
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if j.Name == name && j.Bridge {
			return nil, fmt.Errorf("%s starts another pipeline: there is nothing to run", name)
		}
		if j.Name == name {
			return j, nil
		}
		if j.Parallel != nil && j.Parallel.Group == name {
			group = append(group, strconv.Quote(j.Name))
		}
	}
	if len(group) > 0 {
		return nil, fmt.Errorf("%s is several jobs: name one of %s", name, strings.Join(group, ", "))
	}
	for _, e := range p.Explanations {
		if e.Job == name {
			return nil, fmt.Errorf("the pipeline has no job %s: %s (tenon ci why says more)", name, e.Reason)
		}
	}
	return nil, fmt.Errorf("there is no job %s", name)
}

// localJob is a job that runs on this computer.
type localJob struct {
	folder      string
	job         *ciconfig.Job
	known       map[string]string // variables that the configuration replaces
	given       map[string]string // those that win over the configuration
	out, errors io.Writer
}

// git asks git about the folder, "" where it is no working tree.
func (l *localJob) git(ctx context.Context, args ...string) string {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = l.folder
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// predefine collects the variables that a runner and the server would give.
func (l *localJob) predefine(ctx context.Context, run described) {
	sha := l.git(ctx, "rev-parse", "HEAD")
	l.known, l.given = run.known, run.given
	maps.Copy(l.known, map[string]string{
		"CI_PROJECT_DIR": l.folder, "CI_JOB_NAME": l.job.Name, "CI_JOB_STAGE": l.job.Stage, "CI_NODE_TOTAL": "1",
		"CI_COMMIT_SHA": sha, "CI_COMMIT_SHORT_SHA": sha[:min(8, len(sha))], "CI_COMMIT_TITLE": l.git(ctx, "log", "-1", "--format=%s"),
		"GITLAB_USER_NAME": l.git(ctx, "config", "user.name"), "GITLAB_USER_EMAIL": l.git(ctx, "config", "user.email"),
	})
	if p := l.job.Parallel; p != nil {
		l.known["CI_NODE_INDEX"], l.known["CI_NODE_TOTAL"] = strconv.Itoa(p.Index), strconv.Itoa(p.Total)
	}
}

// maxNested is how deep variables may refer to each other.
const maxNested = 10

// environ is the environment of the job: that of this program, and its variables, with the values of others in them.
func (l *localJob) environ() []string {
	values, raw := map[string]string{}, map[string]bool{}
	for key, value := range l.known {
		values[key], raw[key] = value, true
	}
	for _, v := range l.job.Variables {
		values[v.Key], raw[v.Key] = v.Value, v.Raw
	}
	for key, value := range l.given {
		values[key], raw[key] = value, false
	}
	for range maxNested {
		changed := false
		for key, value := range values {
			if raw[key] {
				continue
			}
			if now := ciconfig.Expand(value, ciconfig.OfMap(values)); now != value {
				values[key], changed = now, true
			}
		}
		if !changed {
			break
		}
	}
	out := os.Environ()
	for key, value := range values {
		out = append(out, key+"="+value)
	}
	return out
}

// run runs the scripts.
func (l *localJob) run(ctx context.Context) error {
	for _, what := range []struct {
		has  bool
		name string
	}{{l.job.Image != nil, "image"}, {len(l.job.Services) > 0, "services"}, {len(l.job.Cache) > 0, "cache"}, {l.job.Release != nil, "release"}} {
		if what.has {
			_, _ = fmt.Fprintf(l.errors, "%s: %s is left out here\n", l.job.Name, what.name)
		}
	}
	timeout := l.job.Timeout
	if timeout == 0 {
		timeout = localTimeout
	}
	began := time.Now()
	err := l.script(ctx, timeout, "", slices.Concat(l.job.BeforeScript, l.job.Script))
	status := "success"
	if err != nil {
		status = "failed"
	}
	if len(l.job.AfterScript) > 0 && ctx.Err() == nil {
		if late := l.script(ctx, afterTimeout, status, l.job.AfterScript); late != nil {
			_, _ = fmt.Fprintf(l.errors, "%s: after_script: %v\n", l.job.Name, late) // which fails no job
		}
	}
	took := time.Since(began).Round(10 * time.Millisecond)
	var code *exec.ExitError
	switch {
	case err == nil:
		_, _ = fmt.Fprintf(l.errors, "%s succeeded in %s\n", l.job.Name, took)
		return nil
	case errors.As(err, &code) && l.allowed(code.ExitCode()):
		_, _ = fmt.Fprintf(l.errors, "%s failed with exit code %d in %s, which its configuration allows\n", l.job.Name, code.ExitCode(), took)
		return nil
	case errors.As(err, &code):
		return fmt.Errorf("%s failed with exit code %d in %s", l.job.Name, code.ExitCode(), took)
	}
	return fmt.Errorf("%s failed: %w", l.job.Name, err)
}

// allowed reports whether the job may end with an exit code.
func (l *localJob) allowed(code int) bool {
	return l.job.AllowFailure || slices.Contains(l.job.AllowExitCodes, code)
}

// script runs commands in one shell, showing each before it runs. status is how the job ended, "" while it runs.
func (l *localJob) script(ctx context.Context, timeout time.Duration, status string, lines []string) (err error) {
	shell, head := "bash", "set -eo pipefail\n"
	if _, err := exec.LookPath(shell); err != nil {
		shell, head = "sh", "set -e\n"
	}
	dir, err := os.MkdirTemp("", "tenon-ci-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	text := head
	for _, line := range lines {
		text += "printf '%s\\n' " + quoted("$ "+line) + "\n" + line + "\n"
	}
	name := filepath.Join(dir, "script")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(within, shell, name)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = l.folder, l.out, l.errors, l.environ()
	if status != "" {
		cmd.Env = append(cmd.Env, "CI_JOB_STATUS="+status)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that all that it started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return errors.New("it was interrupted")
	case within.Err() != nil:
		return fmt.Errorf("it took longer than %s", timeout)
	}
	return err
}

// quoted is a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
