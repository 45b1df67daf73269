package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"tenon/internal/core/ciconfig"
)

// ciCommand reads CI/CD configurations of a working tree, without a server.
func ciCommand() *cobra.Command {
	o := &ciFlags{}
	c := group("ci", "Check CI/CD configurations, and run their jobs", o.lint(), o.why(), o.run())
	c.Long = "Check CI/CD configurations of a folder and run their jobs, without a server. Files of other projects, remote files and components are not available there."
	c.PersistentFlags().BoolVar(&o.json, "json", false, "print the result as JSON")
	c.PersistentFlags().StringVar(&o.root, "root", "", "`folder` that local includes are read from (default the folder of the file)")
	return c
}

// ciFlags are those of tenon ci.
type ciFlags struct {
	json bool
	root string
}

func (o *ciFlags) lint() *cobra.Command {
	return &cobra.Command{
		Use: "lint FILE", Short: "Check the syntax of a CI/CD configuration", Args: cobra.ExactArgs(1),
		Example: "  tenon ci lint .gitlab-ci.yml\n  tenon ci lint ci/main.yml --root . --json",
		RunE: func(c *cobra.Command, args []string) error {
			tree, err := openTree(o.root, args[0])
			if err != nil {
				return err
			}
			defer tree.close()
			config, err := tree.compose(c.Context(), nil)
			if err != nil {
				return err
			}
			l := config.Lint(nil)
			if err := o.print(c.OutOrStdout(), l, func(w io.Writer) error { return printLint(w, args[0], l) }); err != nil {
				return err
			}
			return failed(l.Problems)
		},
	}
}

// print shows a result, in JSON or as show does.
func (o *ciFlags) print(w io.Writer, result any, show func(w io.Writer) error) error {
	if !o.json {
		return show(w)
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(text))
	return err
}

// failed is the error of a command that found problems.
func failed(problems []ciconfig.Problem) error {
	switch n := len(problems); n {
	case 0:
		return nil
	case 1:
		return errors.New("1 problem found")
	default:
		return fmt.Errorf("%d problems found", n)
	}
}

func printLint(w io.Writer, file string, l ciconfig.Lint) error {
	for _, text := range l.Warnings {
		_, _ = fmt.Fprintln(w, "warning: "+text)
	}
	printCIProblems(w, l.Problems)
	if !l.Valid {
		return nil
	}
	stages := map[string]bool{}
	for _, j := range l.Jobs {
		stages[j.Stage] = true
	}
	_, err := fmt.Fprintf(w, "%s is valid (jobs: %d, stages: %d, included files: %d)\n", file, len(l.Jobs), len(stages), len(l.Includes))
	return err
}

func printCIProblems(w io.Writer, problems []ciconfig.Problem) {
	for _, p := range problems {
		at := p.File
		if p.Line > 0 {
			at += fmt.Sprintf(":%d", p.Line)
		}
		if p.Column > 0 {
			at += fmt.Sprintf(":%d", p.Column)
		}
		if at != "" {
			at += ": "
		}
		_, _ = fmt.Fprintln(w, at+p.Text)
	}
}

// maxTree is how many files of a folder wildcards and exists look at.
const maxTree = 200_000

// workTree is a folder with a configuration in it. It reads no file outside of the folder.
type workTree struct {
	root *os.Root
	file string // path of the configuration in the folder
	list []string
}

// openTree opens the folder of a configuration; root is "" for the one that the file is in.
func openTree(root, file string) (*workTree, error) {
	if root == "" {
		root = filepath.Dir(file)
	}
	full, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	at, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(full, at)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, usageError{fmt.Errorf("%s is not in the folder %s", file, root)}
	}
	r, err := os.OpenRoot(full)
	if err != nil {
		return nil, err
	}
	return &workTree{root: r, file: filepath.ToSlash(inside)}, nil
}

func (t *workTree) close() { _ = t.root.Close() }

// compose reads the configuration of the folder.
func (t *workTree) compose(ctx context.Context, variables ciconfig.Lookup) (*ciconfig.Config, error) {
	text, err := t.read(t.file)
	if errors.Is(err, ciconfig.ErrTooLarge) {
		err = fmt.Errorf("%s has more than %d bytes", t.file, ciconfig.MaxBytes)
	}
	if err != nil {
		return nil, err
	}
	return ciconfig.Compose(ctx, text, ciconfig.Options{Files: t, Location: ciconfig.Location{Path: t.file}, Variables: variables, HelpURL: "https://docs.gitlab.com"})
}

func (t *workTree) read(name string) ([]byte, error) {
	f, err := t.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, ciconfig.MaxBytes+1))
	if err == nil && len(text) > ciconfig.MaxBytes {
		return nil, ciconfig.ErrTooLarge
	}
	return text, err
}

// Read reads local files.
func (t *workTree) Read(_ context.Context, r ciconfig.Reference) (ciconfig.File, error) {
	if r.Kind != ciconfig.Local {
		return ciconfig.File{}, ciconfig.ErrUnavailable
	}
	text, err := t.read(r.Path)
	switch {
	case errors.Is(err, ciconfig.ErrTooLarge):
		return ciconfig.File{}, err
	case err != nil:
		return ciconfig.File{}, ciconfig.ErrNoFile
	}
	return ciconfig.File{Text: text, Location: ciconfig.Location{Path: path.Clean(r.Path)}}, nil
}

// Paths lists the files of the folder, without those of git.
func (t *workTree) Paths(ctx context.Context, _ ciconfig.Location) ([]string, error) {
	if t.list != nil {
		return t.list, nil
	}
	t.list = []string{}
	err := fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.IsDir():
			t.list = append(t.list, name)
		}
		if len(t.list) >= maxTree {
			return fs.SkipAll
		}
		return nil
	})
	return t.list, err
}
