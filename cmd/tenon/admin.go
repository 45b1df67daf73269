package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/base/logging"
)

// admin looks after a server's data, through the server where one runs on it.
func (f *flags) admin() *cobra.Command {
	c := group("admin", "Look after a server's data",
		f.adminUser(), f.adminToken(), f.adminSetting(), f.adminFeature(), f.checkAll(),
		group("repo", "Repositories", f.checkRepo()),
		group("mail", "Mail", f.mailTest()),
		group("import", "Direct transfers", f.importRetry()),
		group("debian", "Debian distributions", group("key", "Their signing keys", f.debianKeyRotate())),
		f.backup(), f.adminAudit(),
		group("key", "The key that encrypts stored secrets, and the one that signs ID tokens", f.keyReplace(), f.keyRotate()),
		group("config", "The configuration", f.configCheck()), f.doctor())
	c.Long = "Look after a server's data: through the server where one runs on the data folder, else by itself. Each command says on standard " +
		"error where it works. Run it as the user that the server runs as."
	c.PersistentFlags().BoolVar(&f.json, "json", false, "print the result as JSON")
	c.PersistentFlags().BoolVarP(&f.quiet, "quiet", "q", false, "print no progress, and not where the command works")
	f.set(c.PersistentFlags(), place...)
	return c
}

// ask has a command carried out and prints its result, in JSON or as show does.
func ask[R any](ctx context.Context, f *flags, command string, args any, show func(w io.Writer, r *R) error) (*R, error) {
	result, err := order[R](ctx, f, command, args)
	if err != nil {
		return nil, err
	}
	return result, printed(f, result, show)
}

// order has a command carried out.
func order[R any](ctx context.Context, f *flags, command string, args any) (*R, error) {
	config, err := f.load()
	if err != nil {
		return nil, err
	}
	level := max(config.Log.Level, slog.LevelWarn)
	result := new(R)
	err = app.Administer(ctx, config, logging.New(f.progress, config.Log.Format, level), build(), app.Order{Command: command, Args: args, Result: result, Tell: f.tell})
	f.progress.clear()
	if err != nil {
		return nil, err
	}
	return result, nil
}

// printed shows a result, in JSON or as show does.
func printed[R any](f *flags, result *R, show func(w io.Writer, r *R) error) error {
	if !f.json {
		return show(os.Stdout, result)
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(text))
	return err
}

func (f *flags) checkAll() *cobra.Command {
	var in app.CheckInput
	c := &cobra.Command{
		Use: "check", Short: "Look for damage in the database and in all repositories", Args: cobra.NoArgs,
		Example: "  tenon admin check --data /var/lib/tenon\n  tenon admin check --fsck --json > damage.json",
		RunE:    func(c *cobra.Command, _ []string) error { return check(c.Context(), f, app.AdminCheck, in) },
	}
	c.Flags().BoolVar(&in.Fsck, "fsck", false, "read every object of every repository, which takes long")
	c.Flags().BoolVar(&in.Repair, "repair", false, "give projects without a default branch the one that their repository has, and delete reactions and labels of things that are gone")
	return c
}

func (f *flags) checkRepo() *cobra.Command {
	var in app.CheckInput
	c := &cobra.Command{
		Use: "check [PROJECT]", Short: "Look for damage in one repository or in all", Args: cobra.MaximumNArgs(1),
		Long:    "Look for damage in the repository of a project, which is named by its number or full path, or in all.",
		Example: "  tenon admin repo check team/shop --fsck\n  tenon admin repo check",
		RunE: func(c *cobra.Command, args []string) error {
			in.Project = strings.Join(args, "")
			return check(c.Context(), f, app.AdminRepoCheck, in)
		},
	}
	c.Flags().BoolVar(&in.Fsck, "fsck", false, "read every object, which takes long")
	c.Flags().BoolVar(&in.Repair, "repair", false, "give a project without a default branch the one that its repository has")
	return c
}

// check prints what a check finds, and fails where that is something.
func check(ctx context.Context, f *flags, command string, in app.CheckInput) error {
	found, err := ask(ctx, f, command, in, func(w io.Writer, found *app.Checked) error {
		printProblems(w, found)
		if len(found.Rows)+len(found.Repositories) > 0 {
			return nil
		}
		_, err := fmt.Fprintf(w, "no problems found (%d repositories)\n", found.Looked)
		return err
	})
	if err != nil {
		return err
	}
	if n := found.Problems(); n > 0 {
		return fmt.Errorf("%d problems found (restore what is damaged from a backup)", n)
	}
	return nil
}

// keyReplace makes another key, while no server runs.
func (f *flags) keyReplace() *cobra.Command {
	return &cobra.Command{
		Use: "replace", Short: "Make another secret.key where the old one is lost, and say what is lost with it", Args: cobra.NoArgs,
		Long: "Make another secret.key, while no server runs. What the old key encrypted or signed is lost: the command says how much " +
			"that is. An old key file is kept under another name.",
		Example: "  systemctl stop tenon && tenon admin key replace --data /var/lib/tenon",
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := f.load()
			if err != nil {
				return err
			}
			replaced, err := app.ReplaceKey(c.Context(), config, logging.New(os.Stderr, config.Log.Format, max(config.Log.Level, slog.LevelWarn)))
			if err != nil {
				return err
			}
			return printed(f, replaced, printReplaced)
		},
	}
}

// keyRotate makes another key that signs the ID tokens of jobs.
func (f *flags) keyRotate() *cobra.Command {
	return &cobra.Command{
		Use: "rotate", Short: "Make another key that signs the ID tokens of jobs, and print its id", Args: cobra.NoArgs,
		Long: "Make another key that signs the ID tokens of jobs, and print its id. Tokens that were signed before stay valid: /oauth/discovery/keys tells the " +
			"public part of the old key for 35 days more.",
		Example: "  tenon admin key rotate --data /var/lib/tenon",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := ask(c.Context(), f, app.AdminKeyRotate, struct{}{}, func(w io.Writer, r *app.RotatedKey) error {
				_, err := fmt.Fprintln(w, r.KeyID)
				return err
			})
			return err
		},
	}
}

func printReplaced(w io.Writer, r *app.ReplacedKey) error {
	lines := []string{
		"there is another secret.key; back it up, apart from the database",
		fmt.Sprintf("lost: the user names and passwords of %d imports that wait; they fail, start them again", r.Imports),
		fmt.Sprintf("lost: the shared secrets of %d external status checks, which are called no more; set them again", r.Checks),
		fmt.Sprintf("lost: the values of %d CI/CD variables and of %d variables of schedules; set them again", r.Variables, r.ScheduleVariables),
		fmt.Sprintf("lost: %d variables that pipelines and jobs have; run those pipelines again from the start", r.PipelineVariables),
		fmt.Sprintf("lost: %d secure files; upload them again", r.SecureFiles),
		fmt.Sprintf("lost: %d runner registration tokens and %d deploy tokens of jobs; reset these and make those again", r.Registrations, r.DeployTokens),
		fmt.Sprintf("lost: %d keys that sign ID tokens of jobs; \"tenon admin key rotate\" makes another one", r.IDTokenKeys),
		fmt.Sprintf("lost: %d keys that sign Debian distributions", r.DebianKeys),
		fmt.Sprintf("lost: what Git LFS clients may transfer, for at most %d minutes; they ask again by themselves", r.Minutes),
		fmt.Sprintf("kept: %d tokens that start pipelines, which are not shown any more", r.Triggers),
		fmt.Sprintf("kept: passwords, access tokens and SSH keys of %d users, which do not depend on it", r.Users),
	}
	if r.Kept != "" {
		lines = append(lines, "the old key file is now "+r.Kept)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}
