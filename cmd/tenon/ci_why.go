package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tenon/internal/core/ciconfig"
)

const whyHelp = `Say for each job of a configuration whether a pipeline would have it, which rule decides, and what the job waits for.

The pipeline is one of a push to the branch main unless flags say otherwise. Rules that ask for changed files hold unless --changed names files; rules that ask for existing files look into the folder.`

// whyFlags say which pipeline is meant.
type whyFlags struct {
	branch, tag, source       string
	mr, target, defaultBranch string
	project                   string
	variables, changed        []string
}

func (o *ciFlags) why() *cobra.Command {
	w := &whyFlags{}
	c := &cobra.Command{
		Use: "why FILE", Short: "Say which jobs a pipeline would have, and why", Args: cobra.ExactArgs(1), Long: whyHelp,
		Example: "  tenon ci why .gitlab-ci.yml --branch feature --changed docs/a.md\n  tenon ci why .gitlab-ci.yml --mr feature --target main --var DEPLOY=yes\n" +
			"  tenon ci why .gitlab-ci.yml --tag v1.0 --json",
		RunE: func(c *cobra.Command, args []string) error {
			run, err := w.run()
			if err != nil {
				return err
			}
			tree, err := openTree(o.root, args[0])
			if err != nil {
				return err
			}
			defer tree.close()
			return o.explain(c, tree, run.Run)
		},
	}
	w.define(c, "main")
	return c
}

// define adds the flags to a command. branch says which one is meant where they name none.
func (w *whyFlags) define(c *cobra.Command, branch string) {
	p := c.Flags()
	p.StringVar(&w.branch, "branch", "", "`name` of the branch (default "+branch+")")
	p.StringVar(&w.tag, "tag", "", "`name` of a tag")
	p.StringVar(&w.mr, "mr", "", "source `branch` of a merge request")
	p.StringVar(&w.target, "target", "", "target `branch` of the merge request (default the default branch)")
	p.StringVar(&w.defaultBranch, "default-branch", "main", "`name` of the default branch")
	p.StringVar(&w.source, "source", "", "`source` of the pipeline, such as schedule or web (default push, or merge_request_event)")
	p.StringVar(&w.project, "project", "group/project", "full `path` of the project")
	p.StringArrayVar(&w.variables, "var", nil, "`KEY=VALUE` of a variable of the project or the pipeline; may be given several times")
	p.StringArrayVar(&w.changed, "changed", nil, "`path` of a file that changed; may be given several times")
	c.MarkFlagsMutuallyExclusive("branch", "tag", "mr")
}

// described is the pipeline that flags describe.
type described struct {
	ciconfig.Run
	known, given map[string]string // what Predefined and Variables look up
}

// run returns the pipeline that the flags describe.
func (w *whyFlags) run() (described, error) {
	known := map[string]string{
		"CI": "true", "GITLAB_CI": "true", "CI_DEFAULT_BRANCH": w.defaultBranch, "CI_PROJECT_PATH": w.project, "CI_PROJECT_NAME": w.project[strings.LastIndex(w.project, "/")+1:],
	}
	r := ciconfig.Run{Source: "push", Ref: w.branch, Project: w.project}
	switch {
	case w.tag != "":
		r.Ref, r.Tag = w.tag, true
		known["CI_COMMIT_TAG"] = w.tag
	case w.mr != "":
		r.Ref, r.MergeRequest, r.Source = w.mr, true, "merge_request_event"
		target := w.target
		if target == "" {
			target = w.defaultBranch
		}
		known["CI_MERGE_REQUEST_ID"], known["CI_MERGE_REQUEST_IID"], known["CI_MERGE_REQUEST_EVENT_TYPE"] = "1", "1", "detached"
		known["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"], known["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"] = w.mr, target
		known["CI_MERGE_REQUEST_PROJECT_PATH"], known["CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"] = w.project, w.project
	default:
		if r.Ref == "" {
			r.Ref = w.defaultBranch
		}
		known["CI_COMMIT_BRANCH"] = r.Ref
	}
	if w.source != "" {
		r.Source = w.source
	}
	known["CI_COMMIT_REF_NAME"], known["CI_PIPELINE_SOURCE"] = r.Ref, r.Source
	given := map[string]string{}
	for _, pair := range w.variables {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return described{}, usageError{fmt.Errorf("--var %s is not KEY=VALUE", pair)}
		}
		given[key] = value
	}
	r.Variables, r.Predefined = ciconfig.OfMap(given), ciconfig.OfMap(known)
	if w.changed != nil {
		r.Changes = func(context.Context, string) ([]string, bool, error) { return w.changed, true, nil }
	}
	return described{r, known, given}, nil
}

// whyResult prints what tenon ci why found.
type whyResult ciconfig.Why

func (o *ciFlags) explain(c *cobra.Command, tree *workTree, run ciconfig.Run) error {
	p, err := tree.evaluate(c.Context(), run)
	if err != nil {
		return err
	}
	result := whyResult(p.Why())
	if err := o.print(c.OutOrStdout(), result, func(w io.Writer) error { return result.print(w) }); err != nil {
		return err
	}
	return failed(p.Problems)
}

// evaluate makes the pipeline of a run.
func (t *workTree) evaluate(ctx context.Context, run ciconfig.Run) (*ciconfig.Pipeline, error) {
	config, err := t.compose(ctx, ciconfig.First(run.Variables, run.Predefined))
	if err != nil {
		return nil, err
	}
	run.Files = func(ctx context.Context, project, _ string) ([]string, error) {
		if project != "" && project != run.Project {
			return nil, ciconfig.ErrNoProject
		}
		return t.Paths(ctx, ciconfig.Location{})
	}
	return config.Evaluate(ctx, run)
}

// print shows the jobs in the order of the configuration, and how their rules decided.
func (r *whyResult) print(w io.Writer) error {
	for _, d := range r.Decided {
		there := "no "
		if d.Present {
			there = "yes"
		}
		_, _ = fmt.Fprintf(w, "%s %s: %s\n", there, d.Job, d.Reason)
		for _, s := range d.Steps {
			_, _ = fmt.Fprintln(w, "      "+s)
		}
		if d.Times > 0 {
			times := ""
			if d.Times > 1 {
				times = fmt.Sprintf(", %d times", d.Times)
			}
			_, _ = fmt.Fprintf(w, "      %s in stage %s%s, %s\n", d.When, d.Stage, times, d.Waits)
		}
	}
	printCIProblems(w, r.Problems)
	return nil
}
