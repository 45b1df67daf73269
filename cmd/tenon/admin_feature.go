package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenon/internal/app"
)

// adminFeature are the commands about features.
func (f *flags) adminFeature() *cobra.Command {
	return group("features", "Features", f.featureList(), f.featureSet())
}

func (f *flags) featureList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the features of this release and those that were set", Args: cobra.NoArgs,
		Example: "  tenon admin features list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := ask(c.Context(), f, app.AdminFeatureList, struct{}{}, func(w io.Writer, list *[]app.AdminFeature) error { return printFeatures(w, *list...) })
			return err
		},
	}
}

func printFeatures(w io.Writer, list ...app.AdminFeature) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NAME\tSTATE\tFOR\tNOTE")
	for _, one := range list {
		note := ""
		switch {
		case !one.Known:
			note = "this release does not ask for it"
		case one.Default:
			note = "the default"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", one.Name, one.State, strings.Join(one.Gates, ", "), note)
	}
	return t.Flush()
}

func (f *flags) featureSet() *cobra.Command {
	var in app.FeatureInput
	c := &cobra.Command{
		Use: "set NAME VALUE", Short: "Enable or disable a feature", Args: cobra.ExactArgs(2),
		Long: "Enable or disable a feature: true, false, a percentage from 0 to 100, or default, which takes all that was set away. With a user, " +
			"group or project, only for these.",
		Example: "  tenon admin features set changelog_commits_limitation false\n" +
			"  tenon admin features set changelog_commits_limitation false --project team/app\n" +
			"  tenon admin features set changelog_commits_limitation default",
		RunE: func(c *cobra.Command, args []string) error {
			in.Name, in.Value = args[0], args[1]
			_, err := ask(c.Context(), f, app.AdminFeatureSet, in, func(w io.Writer, one *app.AdminFeature) error { return printFeatures(w, *one) })
			return err
		},
	}
	c.Flags().BoolVar(&in.OfActors, "of-actors", false, "a percentage is one of actors, always the same ones, instead of time")
	c.Flags().StringSliceVar(&in.Users, "user", nil, "for this `username`; may be repeated")
	c.Flags().StringSliceVar(&in.Groups, "group", nil, "for this `path` of a group; may be repeated")
	c.Flags().StringSliceVar(&in.Projects, "project", nil, "for this `path` of a project; may be repeated")
	return c
}

// mailTest sends a mail.
func (f *flags) mailTest() *cobra.Command {
	return &cobra.Command{
		Use: "test ADDRESS", Short: "Send a test mail", Args: cobra.ExactArgs(1),
		Example: "  tenon admin mail test ann@example.com",
		RunE: func(c *cobra.Command, args []string) error {
			_, err := ask(c.Context(), f, app.AdminMailTest, app.MailTestInput{To: args[0]}, func(w io.Writer, m *app.MailTest) error {
				_, err := fmt.Fprintf(w, "%s took a mail from %s to %s\n", m.Server, m.From, m.To)
				return err
			})
			return err
		},
	}
}
