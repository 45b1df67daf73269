package graphql

import (
	"context"
	"strings"

	"tenon/internal/core/repo"
	"tenon/internal/transport/graphql/exec"
)

// branch is a branch with what it names.
type branch struct {
	Name   string
	Commit *commit
}

// commitMutations binds what is done in repositories.
func (b *binder) commitMutations() {
	exec.Struct[*branch](b.Schema, "Branch")
	type branched struct{ Branch *branch }
	exec.Mutation(b.Schema, "createBranch", func(ctx context.Context, c *exec.Call[struct{ ProjectPath, Name, Ref string }]) (branched, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return branched{}, err
		}
		made, err := b.Repos.CreateBranch(ctx, c.As, p, c.Args.Name, c.Args.Ref)
		if err != nil {
			return branched{}, err
		}
		return branched{&branch{made.Name, &commit{made.Tip, p}}}, nil
	})
	type action struct {
		Action, FilePath                              string
		Content, Encoding, LastCommitID, PreviousPath *string
		ExecuteFilemode                               *bool
	}
	type committed struct {
		Commit  *commit
		Content []string
	}
	exec.Mutation(b.Schema, "commitCreate", func(ctx context.Context, c *exec.Call[struct {
		ProjectPath, Branch, Message string
		StartBranch                  *string
		Actions                      []action
	}],
	) (committed, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return committed{}, err
		}
		in := repo.CommitInput{Branch: c.Args.Branch, Message: c.Args.Message, StartBranch: zeroOr(c.Args.StartBranch)}
		var contents []string
		for _, a := range c.Args.Actions {
			in.Actions = append(in.Actions, repo.Action{
				Kind: strings.ToLower(a.Action), Path: a.FilePath, PreviousPath: zeroOr(a.PreviousPath), Content: a.Content,
				Encoding: strings.ToLower(zeroOr(a.Encoding)), LastCommitID: zeroOr(a.LastCommitID), Executable: a.ExecuteFilemode,
			})
			if a.Content != nil {
				contents = append(contents, *a.Content)
			}
		}
		made, err := b.Repos.Commit(ctx, c.As, p, in)
		if err != nil {
			return committed{}, err
		}
		return committed{&commit{made, p}, contents}, nil
	})
}
