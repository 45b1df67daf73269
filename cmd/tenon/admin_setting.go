package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenon/internal/app"
)

// adminSetting are the commands about application settings.
func (f *flags) adminSetting() *cobra.Command {
	return group("settings", "Application settings", f.settingList(), f.settingGet(), f.settingSet())
}

func (f *flags) settingList() *cobra.Command {
	var in app.SettingListInput
	c := &cobra.Command{
		Use: "list", Short: "List the application settings, and where each is in force", Args: cobra.NoArgs,
		Example: "  tenon admin settings list --changed\n  tenon admin settings list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := ask(c.Context(), f, app.AdminSettingList, in, printSettings)
			return err
		},
	}
	c.Flags().BoolVar(&in.Changed, "changed", false, "only those with another value than their default")
	return c
}

func printSettings(w io.Writer, list *[]app.AdminSetting) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NAME\tVALUE\tIN FORCE")
	for _, s := range *list {
		force := s.InForce
		switch {
		case s.Broken != "":
			force = "the stored value is not: it " + s.Broken
		case force == "":
			force = "no: " + s.Stored
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, s.Value, force)
	}
	return t.Flush()
}

func (f *flags) settingGet() *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Print the value of a setting, as JSON", Args: cobra.ExactArgs(1),
		Example: "  tenon admin settings get maintenance_mode",
		RunE: func(c *cobra.Command, args []string) error {
			_, err := ask(c.Context(), f, app.AdminSettingList, app.SettingListInput{Name: args[0]}, func(w io.Writer, list *[]app.AdminSetting) error {
				_, err := fmt.Fprintf(w, "%s\n", (*list)[0].Value)
				return err
			})
			return err
		},
	}
}

func (f *flags) settingSet() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME VALUE", Short: "Give a setting another value", Args: cobra.ExactArgs(2),
		Long: "Give a setting another value: a text as it is, a list with commas, everything else as JSON. null is null.",
		Example: "  tenon admin settings set maintenance_mode true\n" +
			"  tenon admin settings set maintenance_mode_message 'Back at noon'",
		RunE: func(c *cobra.Command, args []string) error {
			_, err := ask(c.Context(), f, app.AdminSettingSet, app.SettingInput{Name: args[0], Value: args[1]}, func(w io.Writer, s *app.AdminSetting) error {
				_, err := fmt.Fprintf(w, "%s\n", s.Value)
				return err
			})
			return err
		},
	}
}
