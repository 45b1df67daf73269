package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenon/internal/app"
)

// adminToken are the commands about access tokens.
func (f *flags) adminToken() *cobra.Command {
	return group("token", "Access tokens", f.tokenCreate(), f.tokenList(), f.tokenRevoke())
}

func (f *flags) tokenCreate() *cobra.Command {
	var in app.TokenInput
	var scopes strings.Builder
	for _, s := range app.Scopes() {
		_, _ = fmt.Fprintf(&scopes, "  %-18s %s\n", s.Name, s.Permits)
	}
	c := &cobra.Command{
		Use: "create", Short: "Make a personal access token and print it", Args: cobra.NoArgs,
		Long: "Make a personal access token and print it; it is shown this once.\n\nScopes:\n" + strings.TrimRight(scopes.String(), "\n"),
		Example: "  tenon admin token create --user mary --name ci --scopes api\n" +
			"  TOKEN=$(tenon admin token create --user bot --name mirror --scopes read_api,read_repository --expires 2031-12-31)",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := ask(c.Context(), f, app.AdminTokenCreate, in, func(w io.Writer, made *app.MadeToken) error {
				_, err := fmt.Fprintln(w, made.Token)
				return err
			})
			return err
		},
	}
	c.Flags().StringVar(&in.User, "user", "", "username or id of the token's owner (required)")
	c.Flags().StringVar(&in.Name, "name", "", "name of the token (required)")
	c.Flags().StringSliceVar(&in.Scopes, "scopes", nil, "`scopes`, separated by commas (required)")
	c.Flags().StringVar(&in.Expires, "expires", "", "`day` of expiry, YYYY-MM-DD; a year from now if absent")
	names := make([]string, 0, len(app.Scopes()))
	for _, s := range app.Scopes() {
		names = append(names, s.Name)
	}
	if err := c.RegisterFlagCompletionFunc("scopes", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag that the command does not have
	}
	return required(c, "user", "name", "scopes")
}

func (f *flags) tokenList() *cobra.Command {
	var in app.TokenListInput
	c := &cobra.Command{
		Use: "list", Short: "List access tokens, without their secrets", Args: cobra.NoArgs,
		Example: "  tenon admin token list --user mary\n  tenon admin token list --all --json",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := ask(c.Context(), f, app.AdminTokenList, in, printTokens)
			return err
		},
	}
	c.Flags().StringVar(&in.User, "user", "", "only tokens of the user with this username or id")
	c.Flags().BoolVar(&in.All, "all", false, "revoked and expired ones too")
	return c
}

func printTokens(w io.Writer, list *[]app.AdminToken) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "ID\tUSER\tSTATE\tEXPIRES\tLAST USED\tSCOPES\tNAME")
	for _, k := range *list {
		_, _ = fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Username, k.State, or(k.ExpiresAt, "never"), or(k.LastUsedAt, "never"),
			strings.Join(k.Scopes, ","), k.Name)
	}
	return t.Flush()
}

func or(v *string, otherwise string) string {
	if v == nil {
		return otherwise
	}
	return *v
}

func (f *flags) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Make an access token useless at once", Args: cobra.ExactArgs(1),
		Long:    "Make the access token of an id useless at once; tenon admin token list shows the ids.",
		Example: "  tenon admin token revoke 17",
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usageError{fmt.Errorf("%q is not the id of a token (tenon admin token list shows the ids)", args[0])}
			}
			_, err = ask(c.Context(), f, app.AdminTokenRevoke, app.TokenRef{ID: id}, func(w io.Writer, k *app.AdminToken) error {
				_, err := fmt.Fprintf(w, "token %d (%s) of %s: revoked\n", k.ID, k.Name, k.Username)
				return err
			})
			return err
		},
	}
}
