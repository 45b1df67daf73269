package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"tenon/internal/app"
	"tenon/internal/base/logging"
)

// backup makes, checks and restores backups.
func (f *flags) backup() *cobra.Command {
	return group("backup", "Backups of the database, the repositories and all files", f.backupCreate(), f.backupVerify(), f.backupRestore(), backupList(f))
}

// tell prints a line of progress.
func (f *flags) tell(line string) {
	if !f.quiet && !f.json {
		f.progress.tell(line)
	}
}

func (f *flags) backupCreate() *cobra.Command {
	var to app.BackupTarget
	c := &cobra.Command{
		Use: "create FILE|-", Short: "Make a backup while the server runs, into a file or to standard output", Args: cobra.ExactArgs(1),
		Example: "  tenon admin backup create /var/backups/tenon.tar.zst --data /var/lib/tenon\n  tenon admin backup create - | ssh backup@example.com 'cat > tenon.tar.zst'",
		RunE: func(c *cobra.Command, args []string) error {
			config, err := f.load()
			if err != nil {
				return err
			}
			modest()
			to.File, to.Out = args[0], os.Stdout
			log := logging.New(f.progress, config.Log.Format, max(config.Log.Level, slog.LevelWarn))
			made, err := app.CreateBackup(c.Context(), config, log, build(), to, f.tell)
			f.progress.clear()
			if err != nil {
				return err
			}
			for _, note := range made.Notes {
				_, _ = fmt.Fprintln(os.Stderr, "tenon: note: "+note)
			}
			if !to.SecretKey && !f.quiet {
				_, _ = fmt.Fprintln(os.Stderr, "tenon: the backup does not have secret.key and the SSH host keys (ssh_host_*); keep copies of them apart from the backups, or use --with-secret-key")
			}
			if to.File == "-" {
				return nil // standard output is the backup
			}
			return printed(f, made, func(w io.Writer, made *app.BackupMade) error {
				_, err := fmt.Fprintf(w, "%s: %d bytes, %d before compression\n", made.File, made.Size, made.Bytes)
				return err
			})
		},
	}
	c.Flags().BoolVar(&to.SecretKey, "with-secret-key", false, "put secret.key and the SSH host keys into the backup, which must then be kept as secret as these")
	return c
}

// modest lets the server and everything else have the processor first.
func modest() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	const nice = 10
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, nice) // without it the backup is made as well
		}
	}
}

func (f *flags) backupVerify() *cobra.Command {
	var scratch string
	c := &cobra.Command{
		Use: "verify FILE", Short: "Restore a backup into a temporary folder and look for damage", Args: cobra.ExactArgs(1),
		Example: "  tenon admin backup verify /var/backups/tenon.tar.zst --scratch /var/tmp",
		RunE: func(c *cobra.Command, args []string) error {
			log := logging.New(f.progress, logging.Text, slog.LevelWarn)
			done, err := app.VerifyBackup(c.Context(), log, build(), args[0], scratch, f.tell)
			f.progress.clear()
			if err != nil {
				return err
			}
			return f.restored(done, "the backup is whole")
		},
	}
	c.Flags().StringVar(&scratch, "scratch", "", "`folder` for the temporary one, with room for everything that the backup holds (default the system's)")
	return c
}

func (f *flags) backupRestore() *cobra.Command {
	var in app.RestoreInput
	c := &cobra.Command{
		Use: "restore FILE", Short: "Restore a backup into an empty data folder and an empty database", Args: cobra.ExactArgs(1),
		Long: "Restore a backup into an empty data folder, named by --data, and an empty database, named by --database: SQLite in that folder " +
			"where it is not given. The backup may be of either engine.",
		Example: "  tenon admin backup restore /var/backups/tenon.tar.zst --data /var/lib/tenon\n" +
			"  tenon admin backup restore tenon.tar.zst --data /var/lib/tenon --database 'postgres:///tenon'",
		RunE: func(c *cobra.Command, args []string) error {
			config, err := f.load()
			if err != nil {
				return err
			}
			in.File = args[0]
			log := logging.New(f.progress, config.Log.Format, max(config.Log.Level, slog.LevelWarn))
			done, err := app.Restore(c.Context(), config, log, build(), in, f.tell)
			f.progress.clear()
			if err != nil {
				return err
			}
			if !done.Key {
				_, _ = fmt.Fprintf(os.Stderr, "tenon: the backup does not have secret.key: put the instance's key into %s (mode 0600) before the server starts, "+
					"or run \"tenon admin key replace\" where it is lost\n", config.Data)
			}
			if done.HostKeys == 0 && config.SSH != "" {
				_, _ = fmt.Fprintf(os.Stderr, "tenon: the backup does not have SSH host keys: put those of the instance (ssh_host_*, mode 0600) into %s before the server starts, "+
					"or it makes others, about which git clients warn\n", config.Data)
			}
			return f.restored(done, "restored into "+config.Data)
		},
	}
	c.Flags().BoolVar(&in.Fsck, "fsck", false, "read every object of every repository in the end, which takes long")
	return c
}

// restored prints what was restored, and fails where something is wrong with it.
func (f *flags) restored(done *app.Restored, what string) error {
	err := printed(f, done, func(w io.Writer, r *app.Restored) error {
		for _, note := range r.Notes {
			_, _ = fmt.Fprintln(w, "note: "+note)
		}
		printProblems(w, &r.Checked)
		_, err := fmt.Fprintf(w, "%s: %d rows, %d repositories, %d objects of %s, Tenon %s\n", what, r.Rows, r.Repositories, r.Objects, r.CreatedAt, r.Version)
		return err
	})
	if n := done.Checked.Problems(); err == nil && n > 0 {
		err = fmt.Errorf("%d problems found", n)
	}
	return err
}

func printProblems(w io.Writer, found *app.Checked) {
	for _, text := range found.Rows {
		_, _ = fmt.Fprintln(w, text)
	}
	for _, p := range found.Repositories {
		_, _ = fmt.Fprintf(w, "%s: %s\n", p.Path, p.Text)
	}
}

func backupList(f *flags) *cobra.Command {
	return &cobra.Command{Use: "list DIR", Short: "List the backups in a folder", Args: cobra.ExactArgs(1), Example: "  tenon admin backup list /var/backups", RunE: func(_ *cobra.Command, args []string) error {
		list, err := app.ListBackups(args[0])
		if err != nil {
			return err
		}
		return printed(f, &list, func(w io.Writer, list *[]app.ListedBackup) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(t, "FILE\tCREATED\tBYTES\tVERSION\tDATABASE\tKEY\tCOMPLETE")
			for _, b := range *list {
				_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", b.File, b.CreatedAt.Format(time.RFC3339), b.Size, b.Version, b.Engine, yes(b.SecretKey), yes(b.Complete))
			}
			return t.Flush()
		})
	}}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
