package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenon/internal/app"
	"tenon/internal/base/logging"
)

// admin looks after a server's data, through the server where one runs on it.
func (f *flags) admin() *cobra.Command {
	c := group("admin", "Look after a server's data",
		group("user", "Users", f.userCreate(), f.userPassword(),
			f.userNamed("promote", "Make a user an administrator", app.AdminUserPromote),
			f.userNamed("demote", "Make an administrator an ordinary user; one administrator stays", app.AdminUserDemote),
			f.userNamed("unlock", "Let a user sign on again after too many wrong passwords", app.AdminUserUnlock), f.userList()),
		group("token", "Access tokens", f.tokenCreate()),
		f.checkAll(),
		group("repo", "Repositories", f.checkRepo()),
		group("key", "The key that encrypts stored secrets", f.keyReplace()))
	c.PersistentFlags().BoolVar(&f.json, "json", false, "print the result as JSON")
	c.PersistentFlags().BoolVarP(&f.quiet, "quiet", "q", false, "print no progress")
	return c
}

// ask has a command carried out and prints its result, in JSON or as show does.
func ask[R any](ctx context.Context, f *flags, command string, args any, show func(w io.Writer, r *R) error) (*R, error) {
	config, err := f.load()
	if err != nil {
		return nil, err
	}
	level := max(config.Log.Level, slog.LevelWarn)
	result := new(R)
	order := app.Order{Command: command, Args: args, Result: result, Tell: func(line string) {
		if !f.quiet && !f.json {
			_, _ = fmt.Fprintln(os.Stderr, "tenon: "+line)
		}
	}}
	if err := app.Administer(ctx, config, logging.New(os.Stderr, config.Log.Format, level), build(), order); err != nil {
		return nil, err
	}
	return result, printed(f, result, show)
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

// passwordFlag is how a password is given: never on the command line, where others see it.
type passwordFlag struct{ stdin bool }

func (p *passwordFlag) add(c *cobra.Command) {
	c.Flags().BoolVar(&p.stdin, "password-stdin", false, "read the password from the first line of standard input")
}

func (p *passwordFlag) read() (string, error) {
	if !p.stdin {
		return "", nil
	}
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read password: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("no password on standard input (leave --password-stdin out to have one made)")
	}
	return line, nil
}

func printUser(w io.Writer, u *app.AdminUser) error {
	role := ""
	if u.Admin {
		role = ", administrator"
	}
	if _, err := fmt.Fprintf(w, "%s: id %d, %s%s\n", u.Username, u.ID, state(u), role); err != nil || u.Password == "" {
		return err
	}
	_, err := fmt.Fprintln(w, "password: "+u.Password)
	return err
}

// state says whether a user may sign on.
func state(u *app.AdminUser) string {
	if u.Locked {
		return u.State + ", locked"
	}
	return u.State
}

func (f *flags) userCreate() *cobra.Command {
	var in app.UserInput
	var password passwordFlag
	c := &cobra.Command{
		Use: "create USERNAME", Short: "Make a user, and print the password where none is given", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			in.Username = args[0]
			if in.Password, err = password.read(); err != nil {
				return err
			}
			_, err = ask(c.Context(), f, app.AdminUserCreate, in, printUser)
			return err
		},
	}
	c.Flags().StringVar(&in.Email, "email", "", "e-mail `address`; it counts as confirmed (required)")
	c.Flags().StringVar(&in.Name, "name", "", "name; the username if absent")
	c.Flags().BoolVar(&in.Admin, "admin", false, "make an administrator")
	c.Flags().BoolVar(&in.Auditor, "auditor", false, "make an auditor, who reads everything")
	c.Flags().BoolVar(&in.External, "external", false, "make an external user")
	password.add(c)
	return required(c, "email")
}

// required has a command refuse to run without some of its flags.
func required(c *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // a flag that the command does not have
		}
	}
	return c
}

func (f *flags) userPassword() *cobra.Command {
	var password passwordFlag
	c := &cobra.Command{
		Use: "password USER", Short: "Give a user another password, and print it where none is given", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := password.read()
			if err != nil {
				return err
			}
			_, err = ask(c.Context(), f, app.AdminUserPassword, app.PasswordInput{UserRef: app.UserRef{User: args[0]}, Password: text}, printUser)
			return err
		},
	}
	password.add(c)
	return c
}

// userNamed does something to one user, who is named by username or id.
func (f *flags) userNamed(name, short, command string) *cobra.Command {
	return &cobra.Command{Use: name + " USER", Short: short, Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		_, err := ask(c.Context(), f, command, app.UserRef{User: args[0]}, printUser)
		return err
	}}
}

func (f *flags) userList() *cobra.Command {
	var in app.UserListInput
	c := &cobra.Command{Use: "list", Short: "List users", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		_, err := ask(c.Context(), f, app.AdminUserList, in, printUsers)
		return err
	}}
	c.Flags().BoolVar(&in.Admins, "admins", false, "only administrators")
	c.Flags().BoolVar(&in.Blocked, "blocked", false, "only blocked users")
	c.Flags().BoolVar(&in.Bots, "bots", false, "bots too")
	return c
}

func printUsers(w io.Writer, list *[]app.AdminUser) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "ID\tUSERNAME\tSTATE\tROLE\tEMAIL\tNAME")
	for _, u := range *list {
		role := "-"
		switch {
		case u.Admin:
			role = "administrator"
		case u.Auditor:
			role = "auditor"
		}
		_, _ = fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", u.ID, u.Username, state(&u), role, u.Email, u.Name)
	}
	return t.Flush()
}

func (f *flags) tokenCreate() *cobra.Command {
	var in app.TokenInput
	c := &cobra.Command{Use: "create", Short: "Make a personal access token and print it", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		_, err := ask(c.Context(), f, app.AdminTokenCreate, in, func(w io.Writer, made *app.MadeToken) error {
			_, err := fmt.Fprintln(w, made.Token)
			return err
		})
		return err
	}}
	c.Flags().StringVar(&in.User, "user", "", "username or id of the token's owner (required)")
	c.Flags().StringVar(&in.Name, "name", "", "name of the token (required)")
	c.Flags().StringSliceVar(&in.Scopes, "scopes", nil, "scopes, separated by commas (required)")
	c.Flags().StringVar(&in.Expires, "expires", "", "`day` of expiry, YYYY-MM-DD; a year from now if absent")
	return required(c, "user", "name", "scopes")
}

func (f *flags) checkAll() *cobra.Command {
	var in app.CheckInput
	c := &cobra.Command{
		Use: "check", Short: "Look for damage in the database and in all repositories", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return check(c.Context(), f, app.AdminCheck, in) },
	}
	c.Flags().BoolVar(&in.Fsck, "fsck", false, "read every object of every repository, which takes long")
	c.Flags().BoolVar(&in.Repair, "repair", false, "give projects without a default branch the one that their repository has")
	return c
}

func (f *flags) checkRepo() *cobra.Command {
	var in app.CheckInput
	c := &cobra.Command{
		Use: "check [PROJECT]", Short: "Look for damage in one repository or in all", Args: cobra.MaximumNArgs(1),
		Long: "Look for damage in the repository of a project, which is named by its number or full path, or in all.",
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
		for _, text := range found.Rows {
			_, _ = fmt.Fprintln(w, text)
		}
		for _, p := range found.Repositories {
			_, _ = fmt.Fprintf(w, "%s: %s\n", p.Path, p.Text)
		}
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

func printReplaced(w io.Writer, r *app.ReplacedKey) error {
	lines := []string{
		"there is another secret.key; back it up, apart from the database",
		fmt.Sprintf("lost: the user names and passwords of %d imports that wait; they fail, start them again", r.Imports),
		fmt.Sprintf("lost: what Git LFS clients may transfer, for at most %d minutes; they ask again by themselves", r.Minutes),
		fmt.Sprintf("kept: passwords, access tokens and SSH keys of %d users, which do not depend on it", r.Users),
	}
	if r.Kept != "" {
		lines = append(lines, "the old key file is now "+r.Kept)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}
