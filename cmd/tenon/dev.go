package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/base/logging"
	"tenon/internal/base/parent"
)

const devHelp = `Run a server for tests in a temporary folder, on free ports of 127.0.0.1.

When it answers, it prints these lines on standard output, ready for a shell, and all else on standard error:

  URL='http://127.0.0.1:41001'
  SSH='ssh://git@127.0.0.1:41002'
  TOKEN='glpat-...'               of the administrator root, with every scope
  PASSWORD='...'                  of root
  DATA='/tmp/tenon-dev-.../data'  its data folder, for tenon admin --data
  TOKEN_MARY='glpat-...'          for each user of the seed, with PASSWORD_MARY

With a command after two hyphens it runs that command with these lines in its environment, prints nothing itself, and ends with the status of the command.

The server ends, and its folder is removed, when the process that started it ends, however that happens, on SIGINT, SIGTERM and SIGHUP, and after the command. What a killed server left is removed by the next one. Settings of the environment and of configuration files do not count.`

const devExample = `  tenon dev -- ./test.sh
  tenon dev --seed seed.toml >server.env &
  tenon dev --json`

// devFlags are those of tenon dev.
type devFlags struct {
	seed   string
	json   bool
	parent int
	level  string
	format string
}

// dev runs a server for tests.
func dev() *cobra.Command {
	d := &devFlags{}
	c := &cobra.Command{
		Use: "dev [flags] [-- COMMAND [ARGUMENT]...]", Short: "Run a server for tests that leaves nothing behind", Long: devHelp, Example: devExample,
		RunE: func(c *cobra.Command, args []string) error {
			if at := c.ArgsLenAtDash(); at > 0 || at < 0 && len(args) > 0 {
				return fmt.Errorf("unknown argument %q (write -- before a command)", args[0])
			}
			level, err := logging.ParseLevel(d.level)
			if err != nil {
				return err
			}
			format, err := logging.ParseFormat(d.format)
			if err != nil {
				return err
			}
			return d.run(c.Context(), logging.New(os.Stderr, format, level), args)
		},
	}
	c.Flags().StringVar(&d.seed, "seed", "", "TOML `file` with users, groups and projects to begin with")
	c.Flags().BoolVar(&d.json, "json", false, "print one JSON object instead of lines")
	c.Flags().IntVar(&d.parent, "parent", os.Getppid(), "`process` that the server ends with; 0 is none (default the one that started it)")
	c.Flag("parent").DefValue = "0" // which the help leaves out
	c.Flags().StringVar(&d.level, "log-level", "warn", usage("log-level"))
	c.Flags().StringVar(&d.format, "log-format", "text", usage("log-format"))
	return c
}

// run serves until the parent or the command ends, or a signal comes.
func (d *devFlags) run(ctx context.Context, log *slog.Logger, command []string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Who reads the log may go first; the folder is to be removed all the same.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	if d.parent > 1 { // 0 and 1 outlive every other process
		watched, done, err := parent.Watch(ctx, d.parent)
		if err != nil {
			return err
		}
		defer done()
		ctx = watched
	}
	in := app.DevInput{Build: build()}
	if d.seed != "" {
		text, err := os.ReadFile(d.seed)
		if err != nil {
			return fmt.Errorf("read seed: %w", err)
		}
		in.Seed = text
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	ran := make(chan error, 1)
	started := false
	err := app.Dev(ctx, in, log, func(s app.DevServer) error {
		lines, err := devLines(s)
		switch {
		case err != nil:
			return err
		case len(command) == 0 && d.json:
			return json.NewEncoder(os.Stdout).Encode(s)
		case len(command) == 0:
			_, err := io.WriteString(os.Stdout, shellLines(lines))
			return err
		}
		started = true
		go func() {
			ran <- runCommand(ctx, command, lines)
			end()
		}()
		return nil
	})
	end() // a command whose server failed ends too
	if started {
		err = errors.Join(<-ran, err)
	}
	return err
}

// runCommand runs a command beside the server, with its standard streams. When ctx ends
// the command is asked to end, and killed after 5 seconds.
func runCommand(ctx context.Context, command, lines []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), lines...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &statusError{exit}
	}
	return err
}

// statusError is how a command ended. The program ends with the same status.
type statusError struct{ exit *exec.ExitError }

// Error says how the command ended.
func (e *statusError) Error() string { return "the command ended: " + e.exit.Error() }

// status is that of the command, or as shells have it 128 and the number of the signal.
func (e *statusError) status() int {
	if s, ok := e.exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return e.exit.ExitCode()
}

// devLines returns the variables that say where a server is, in the order of the help.
func devLines(s app.DevServer) ([]string, error) {
	lines := []string{"URL=" + s.URL, "SSH=" + s.SSH, "TOKEN=" + s.Token, "PASSWORD=" + s.Password, "DATA=" + s.Data}
	seen := map[string]string{}
	other := regexp.MustCompile(`[^A-Z0-9]`)
	for _, u := range s.Users {
		name := other.ReplaceAllString(strings.ToUpper(u.Username), "_")
		if before, ok := seen[name]; ok {
			return nil, fmt.Errorf("seed: the users %q and %q have the same variable TOKEN_%s (rename one, or use --json)", before, u.Username, name)
		}
		seen[name] = u.Username
		lines = append(lines, "TOKEN_"+name+"="+u.Token, "PASSWORD_"+name+"="+u.Password)
	}
	return lines, nil
}

// shellLines quotes the values for a shell.
func shellLines(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		fmt.Fprintf(&b, "%s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return b.String()
}
