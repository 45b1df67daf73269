package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenon/internal/app"
)

// adminUser are the commands about users.
func (f *flags) adminUser() *cobra.Command {
	return group("user", "Users", f.userCreate(), f.userPassword(), f.userLink(),
		f.userNamed("promote", "Make a user an administrator", app.AdminUserPromote),
		f.userNamed("demote", "Make an administrator an ordinary user; one administrator stays", app.AdminUserDemote),
		f.userNamed("block", "Keep a user out; what the user made stays", app.AdminUserBlock),
		f.userNamed("unblock", "Let a blocked user in again", app.AdminUserUnblock),
		f.userNamed("unlock", "Let a user sign on again after too many wrong passwords", app.AdminUserUnlock),
		f.userDelete(), f.userList())
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
	line, err := firstLine("password")
	if err == nil && line == "" {
		return "", errors.New("no password on standard input (leave --password-stdin out to have one made)")
	}
	return line, err
}

// maxSecretLine bounds a secret on standard input, in bytes: more than any of them may have.
const maxSecretLine = 4096

// firstLine reads a secret from the first line of standard input, "" where there is none.
func firstLine(what string) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(os.Stdin, maxSecretLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func printUser(w io.Writer, u *app.AdminUser) error {
	role := ""
	if u.Admin {
		role = ", administrator"
	}
	lines := []string{fmt.Sprintf("%s: id %d, %s%s", u.Username, u.ID, state(u), role)}
	if u.Password != "" {
		lines = append(lines, "password: "+u.Password)
	}
	if u.Token != "" {
		lines = append(lines, "token: "+u.Token)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// state says whether a user may sign on.
func state(u *app.AdminUser) string {
	text := u.State
	if u.Locked {
		text += ", locked"
	}
	if u.NoPassword {
		text += ", no password"
	}
	return text
}

func (f *flags) userCreate() *cobra.Command {
	var in app.UserInput
	var password passwordFlag
	c := &cobra.Command{
		Use: "create USERNAME", Short: "Make a user, and print the password where none is given", Args: cobra.ExactArgs(1),
		Example: "  tenon admin user create mary --email mary@example.com --name 'Mary Major'\n" +
			"  tenon admin user create bot --email bot@example.com --token --scopes read_api,read_repository\n" +
			"  pass show mary | tenon admin user create mary --email mary@example.com --password-stdin",
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
	c.Flags().BoolVar(&in.Token, "token", false, "make an access token too, and print it")
	c.Flags().StringSliceVar(&in.Scopes, "scopes", []string{"api"}, "`scopes` of that token; see tenon admin token create --help")
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
		Example: "  tenon admin user password mary\n  pass show mary | tenon admin user password mary --password-stdin",
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
	return &cobra.Command{
		Use: name + " USER", Short: short, Args: cobra.ExactArgs(1), Example: "  tenon admin user " + name + " mary\n  tenon admin user " + name + " 42",
		RunE: func(c *cobra.Command, args []string) error {
			_, err := ask(c.Context(), f, command, app.UserRef{User: args[0]}, printUser)
			return err
		},
	}
}

// userDelete removes a user, which cannot be undone.
func (f *flags) userDelete() *cobra.Command {
	var in app.DeleteInput
	var sure bool
	c := &cobra.Command{
		Use: "delete USER", Short: "Delete a user", Args: cobra.ExactArgs(1),
		Long: "Delete a user, which cannot be undone. The user is kept out at once, and a job of the server removes the account. Issues, comments and " +
			"the like stay, as those of the ghost user; the user's own projects go. With --hard all that the user made goes, and the groups " +
			"that have no other owner.",
		Example: "  tenon admin user delete mary --yes\n  tenon admin user delete spammer --hard --yes",
		RunE: func(c *cobra.Command, args []string) error {
			if !sure {
				return usageError{fmt.Errorf("a deleted user does not come back: add --yes to delete %q (tenon admin user block keeps a user out)", args[0])}
			}
			in.User = args[0]
			_, err := ask(c.Context(), f, app.AdminUserDelete, in, func(w io.Writer, u *app.AdminUser) error {
				_, err := fmt.Fprintf(w, "%s: id %d, being deleted\n", u.Username, u.ID)
				return err
			})
			return err
		},
	}
	c.Flags().BoolVar(&in.Hard, "hard", false, "delete what the user made too")
	c.Flags().BoolVar(&sure, "yes", false, "delete without asking (required)")
	return c
}

func (f *flags) userList() *cobra.Command {
	var in app.UserListInput
	c := &cobra.Command{
		Use: "list", Short: "List users", Args: cobra.NoArgs, Example: "  tenon admin user list\n  tenon admin user list --admins --json",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := ask(c.Context(), f, app.AdminUserList, in, printUsers)
			return err
		},
	}
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
