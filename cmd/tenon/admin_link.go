package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenon/internal/app"
)

// userLink makes a link with which a user chooses a password once. It is the way to a
// password where no mail is sent.
func (f *flags) userLink() *cobra.Command {
	return &cobra.Command{
		Use: "link USER", Short: "Make a link with which a user chooses a password once", Args: cobra.ExactArgs(1),
		Example: "  tenon admin user link mary",
		RunE: func(c *cobra.Command, args []string) error {
			_, err := ask(c.Context(), f, app.AdminUserLink, app.UserRef{User: args[0]}, printLink)
			return err
		},
	}
}

func printLink(w io.Writer, l *app.AdminLink) error {
	_, err := fmt.Fprintf(w, "%s\nHand this link to %s: it sets a password once, until %s.\n", l.URL, l.Username, l.ExpiresAt.Format("2006-01-02 15:04 UTC"))
	return err
}
