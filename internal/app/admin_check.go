package app

import (
	"context"
	"fmt"

	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

// CheckInput says what is checked.
type CheckInput struct {
	Project string `json:"project"` // number or full path; "" is all
	Fsck    bool   `json:"fsck"`    // read every object
	Repair  bool   `json:"repair"`  // give projects without a default branch the one that their repository has, and delete rows of things that are gone
}

// Checked is what a check found.
type Checked struct {
	Rows         []string       `json:"rows"` // problems in the database
	Repositories []repo.Problem `json:"repositories"`
	Looked       int            `json:"repositories_checked"`
}

// Problems counts what was found and is still wrong.
func (c *Checked) Problems() int {
	n := len(c.Rows)
	for _, p := range c.Repositories {
		if !p.Repaired {
			n++
		}
	}
	return n
}

// adminCheck looks at rows and repositories.
func (a *App) adminCheck(ctx context.Context, in CheckInput, tell func(string)) (Checked, error) {
	tell("checking the database")
	if in.Repair {
		if err := a.core.Clean(ctx); err != nil {
			return Checked{}, err
		}
	}
	rows, err := a.db.Check(ctx)
	if err != nil {
		return Checked{}, err
	}
	more, err := a.core.Check(ctx)
	if err != nil {
		return Checked{}, err
	}
	in.Project = ""
	out, err := a.adminRepoCheck(ctx, in, tell)
	out.Rows = append(append(out.Rows, rows...), more...)
	return out, err
}

// adminRepoCheck looks at one repository or at all.
func (a *App) adminRepoCheck(ctx context.Context, in CheckInput, tell func(string)) (Checked, error) {
	out := Checked{Rows: []string{}, Repositories: []repo.Problem{}}
	options := repo.CheckOptions{Fsck: in.Fsck, Repair: in.Repair}
	if in.Project != "" {
		p, err := a.core.Projects.Find(ctx, authz.System(), in.Project)
		if err != nil {
			return out, fmt.Errorf("find project %q: %w", in.Project, err)
		}
		options.Project = p.ID
	}
	found, err := a.core.Repos.Check(ctx, options, func(done, all int, path string) {
		out.Looked = done
		if in.Fsck || done%100 == 0 || done == all {
			tell(share(int64(done), int64(all)) + fmt.Sprintf("repositories: %d of %d (%s)", done, all, path))
		}
	})
	if err != nil {
		return out, fmt.Errorf("check repositories: %w", err)
	}
	out.Repositories = append(out.Repositories, found...)
	return out, nil
}
