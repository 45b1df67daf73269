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

	"tenon/internal/app"
	"tenon/internal/base/logging"
)

// adminCommand looks after a server's data, through the server where one runs on it.
type adminCommand struct {
	JSON  bool `help:"Print the result as JSON."`
	Quiet bool `short:"q" help:"Print no progress."`

	User struct {
		Create   userCreateCommand   `cmd:"" help:"Make a user, and print the password where none is given."`
		Password userPasswordCommand `cmd:"" help:"Give a user another password, and print it where none is given."`
		Promote  userPromoteCommand  `cmd:"" help:"Make a user an administrator."`
		Demote   userDemoteCommand   `cmd:"" help:"Make an administrator an ordinary user; one administrator stays."`
		List     userListCommand     `cmd:"" help:"List users."`
	} `cmd:"" help:"Users."`
	Token struct {
		Create tokenCreateCommand `cmd:"" help:"Make a personal access token and print it."`
	} `cmd:"" help:"Access tokens."`
	Check checkCommand `cmd:"" help:"Look for damage in the database and in all repositories."`
	Repo  struct {
		Check repoCheckCommand `cmd:"" help:"Look for damage in one repository or in all."`
	} `cmd:"" help:"Repositories."`
}

// ask has a command carried out and prints its result, in JSON or as show does.
func ask[R any](ctx context.Context, f *flags, c *commands, command string, args any, show func(w io.Writer, r *R) error) (*R, error) {
	config, err := f.load()
	if err != nil {
		return nil, err
	}
	level := max(config.Log.Level, slog.LevelWarn)
	result := new(R)
	order := app.Order{Command: command, Args: args, Result: result, Tell: func(line string) {
		if !c.Admin.Quiet && !c.Admin.JSON {
			_, _ = fmt.Fprintln(os.Stderr, "tenon: "+line)
		}
	}}
	if err := app.Administer(ctx, config, logging.New(os.Stderr, config.Log.Format, level), build(), order); err != nil {
		return nil, err //nolint:wrapcheck // it says what is wrong
	}
	if !c.Admin.JSON {
		return result, show(os.Stdout, result)
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return nil, err //nolint:wrapcheck // nothing to add
	}
	_, err = fmt.Println(string(text))
	return result, err //nolint:wrapcheck // nothing to add
}

// passwordFlag is how a password is given: never on the command line, where others see it.
type passwordFlag struct {
	PasswordStdin bool `help:"Read the password from the first line of standard input."`
}

func (p passwordFlag) read() (string, error) {
	if !p.PasswordStdin {
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
	if _, err := fmt.Fprintf(w, "%s: id %d, %s%s\n", u.Username, u.ID, u.State, role); err != nil || u.Password == "" {
		return err //nolint:wrapcheck // nothing to add
	}
	_, err := fmt.Fprintln(w, "password: "+u.Password)
	return err //nolint:wrapcheck // nothing to add
}

type userCreateCommand struct {
	Username string `arg:"" help:"Username."`
	Email    string `required:"" help:"E-mail address; it counts as confirmed."`
	Name     string `help:"Name; the username if absent."`
	Admin    bool   `help:"Make an administrator."`
	Auditor  bool   `help:"Make an auditor, who reads everything."`
	External bool   `help:"Make an external user."`
	passwordFlag
}

// Run makes the user.
func (u userCreateCommand) Run(ctx context.Context, f *flags, c *commands) error {
	password, err := u.read()
	if err != nil {
		return err
	}
	_, err = ask(ctx, f, c, app.AdminUserCreate, app.UserInput{
		Username: u.Username, Email: u.Email, Name: u.Name, Password: password, Admin: u.Admin, Auditor: u.Auditor, External: u.External,
	}, printUser)
	return err
}

type userPasswordCommand struct {
	User string `arg:"" help:"Username or id."`
	passwordFlag
}

// Run sets the password.
func (u userPasswordCommand) Run(ctx context.Context, f *flags, c *commands) error {
	password, err := u.read()
	if err != nil {
		return err
	}
	_, err = ask(ctx, f, c, app.AdminUserPassword, app.PasswordInput{UserRef: app.UserRef{User: u.User}, Password: password}, printUser)
	return err
}

type userPromoteCommand struct {
	User string `arg:"" help:"Username or id."`
}

// Run makes an administrator.
func (u userPromoteCommand) Run(ctx context.Context, f *flags, c *commands) error {
	_, err := ask(ctx, f, c, app.AdminUserPromote, app.UserRef{User: u.User}, printUser)
	return err
}

type userDemoteCommand struct {
	User string `arg:"" help:"Username or id."`
}

// Run makes an ordinary user.
func (u userDemoteCommand) Run(ctx context.Context, f *flags, c *commands) error {
	_, err := ask(ctx, f, c, app.AdminUserDemote, app.UserRef{User: u.User}, printUser)
	return err
}

type userListCommand struct {
	Admins  bool `help:"Only administrators."`
	Blocked bool `help:"Only blocked users."`
	Bots    bool `help:"Bots too."`
}

// Run lists users.
func (u userListCommand) Run(ctx context.Context, f *flags, c *commands) error {
	_, err := ask(ctx, f, c, app.AdminUserList, app.UserListInput{Admins: u.Admins, Blocked: u.Blocked, Bots: u.Bots},
		func(w io.Writer, list *[]app.AdminUser) error {
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
				_, _ = fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", u.ID, u.Username, u.State, role, u.Email, u.Name)
			}
			return t.Flush() //nolint:wrapcheck // nothing to add
		})
	return err
}

type tokenCreateCommand struct {
	User    string   `required:"" help:"Username or id of the token's owner."`
	Name    string   `required:"" help:"Name of the token."`
	Scopes  []string `required:"" help:"Scopes, separated by commas."`
	Expires string   `help:"Day of expiry, YYYY-MM-DD; a year from now if absent."`
}

// Run makes the token.
func (t tokenCreateCommand) Run(ctx context.Context, f *flags, c *commands) error {
	_, err := ask(ctx, f, c, app.AdminTokenCreate, app.TokenInput{User: t.User, Name: t.Name, Scopes: t.Scopes, Expires: t.Expires},
		func(w io.Writer, made *app.MadeToken) error {
			_, err := fmt.Fprintln(w, made.Token)
			return err //nolint:wrapcheck // nothing to add
		})
	return err
}

type checkCommand struct {
	Fsck bool `help:"Read every object of every repository, which takes long."`
}

// Run checks rows and repositories.
func (k checkCommand) Run(ctx context.Context, f *flags, c *commands) error {
	return check(ctx, f, c, app.AdminCheck, app.CheckInput{Fsck: k.Fsck})
}

type repoCheckCommand struct {
	Project string `arg:"" optional:"" help:"Number or full path of the project; all projects if absent."`
	Fsck    bool   `help:"Read every object, which takes long."`
}

// Run checks repositories.
func (k repoCheckCommand) Run(ctx context.Context, f *flags, c *commands) error {
	return check(ctx, f, c, app.AdminRepoCheck, app.CheckInput{Project: k.Project, Fsck: k.Fsck})
}

// check prints what a check finds, and fails where that is something.
func check(ctx context.Context, f *flags, c *commands, command string, in app.CheckInput) error {
	found, err := ask(ctx, f, c, command, in, func(w io.Writer, found *app.Checked) error {
		for _, text := range found.Rows {
			_, _ = fmt.Fprintln(w, text)
		}
		for _, p := range found.Repositories {
			_, _ = fmt.Fprintf(w, "%s: %s\n", p.Path, p.Text)
		}
		if found.Problems() > 0 {
			return nil
		}
		_, err := fmt.Fprintf(w, "no problems found (%d repositories)\n", found.Looked)
		return err //nolint:wrapcheck // nothing to add
	})
	if err != nil {
		return err
	}
	if n := found.Problems(); n > 0 {
		return fmt.Errorf("%d problems found (restore what is damaged from a backup)", n)
	}
	return nil
}
