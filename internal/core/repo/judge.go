package repo

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// What people read when a reference may not move (facts-3 §31.1).
const (
	textNoPush          = "You are not allowed to push code to this project."
	textArchived        = "You can't push code to an archived project."
	textProtected       = "You are not allowed to push code to protected branches on this project."
	textForcePush       = "You are not allowed to force push code to a protected branch on this project."
	textCreateProtected = "You are not allowed to create protected branches on this project."
	textDeleteDefault   = "The default branch of a project cannot be deleted."
	textDeleteProtected = "You are not allowed to delete protected branches from this project. " +
		"Only a project maintainer or owner can delete a protected branch."
	textDeleteByGit  = "You can only delete protected branches using the web interface."
	textBranchIsSHA  = "You cannot create a branch with a SHA-1 or SHA-256 branch name."
	textBranchName   = "You cannot create a branch with an invalid name."
	textTagIsSHA     = "You cannot create a tag with a SHA-1 or SHA-256 tag name."
	textTagName      = "You cannot create a tag with a prohibited pattern."
	textTagDefault   = "You cannot use default branch name to create a tag"
	textChangeTag    = "You are not allowed to change existing tags on this project."
	textHiddenPrefix = "You are not allowed to change references under "
)

// hiddenRefs are references that only the server writes.
var hiddenRefs = []string{"refs/merge-requests/", "refs/keep-around/", "refs/environments/", "refs/pipelines/", "refs/tenon/"}

// Refusal is the cause of the Forbidden error that Judge gives.
type Refusal struct {
	Ref  gitcmd.RefName // the reference at fault, "" for the whole push
	Text string
}

// Error gives the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(ref gitcmd.RefName, text string) error {
	return &errs.Error{Kind: errs.Forbidden, Message: text, Err: &Refusal{Ref: ref, Text: text}}
}

// Judge says whether the actor may move all these references, each looked at by itself;
// the first that may not refuses them all. Objects that are still in quarantine are
// read through r. A refusal is Forbidden with the text for the person who pushes and
// *Refusal as its cause.
func (s *Service) Judge(ctx context.Context, as authz.Actor, p *project.Project, source Source, r *gitcmd.Repo, changes []RefChange) error {
	if err := s.policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		if errs.Is(err, errs.Forbidden) {
			text := textNoPush
			if p.Archived {
				text = textArchived
			}
			return refuse("", text)
		}
		return err
	}
	rules, err := s.Rules(ctx, p.ID)
	if err != nil {
		return err
	}
	for _, c := range changes {
		switch {
		case c.Ref.IsBranch():
			err = s.judgeBranch(ctx, as, p, source, r, rules, c)
		case c.Ref.IsTag():
			err = s.judgeTag(ctx, as, p, c)
		default:
			err = judgeOther(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) judgeBranch(ctx context.Context, as authz.Actor, p *project.Project, source Source, r *gitcmd.Repo,
	rules []*Rule, c RefChange,
) error {
	name := c.Ref.Short()
	access, err := s.access(ctx, as, p, rules, name)
	if err != nil {
		return err
	}
	isDefault := p.DefaultBranch != nil && *p.DefaultBranch == name
	switch {
	case c.Deleted() && isDefault:
		return refuse(c.Ref, textDeleteDefault)
	case c.Deleted() && access.Protected && !access.Delete:
		return refuse(c.Ref, textDeleteProtected)
	case c.Deleted() && access.Protected && source == ByPush:
		return refuse(c.Ref, textDeleteByGit)
	case c.Deleted():
		return nil
	case c.Created() && looksLikeID(name):
		return refuse(c.Ref, textBranchIsSHA)
	case c.Created() && !gitcmd.ValidBranchName(name):
		return refuse(c.Ref, textBranchName)
	case c.Created() && access.Protected && !access.Push:
		return refuse(c.Ref, textCreateProtected)
	case c.Created():
		return s.judgeFirstPush(ctx, as, p, c)
	case source == ByMerge:
		if !access.Merge {
			return refuse(c.Ref, textProtected)
		}
		return nil
	case !access.Push:
		return refuse(c.Ref, textProtected)
	case !access.Protected || access.ForcePush:
		return nil
	}
	forward, err := r.IsAncestor(ctx, c.Old, c.New)
	if err != nil {
		return fmt.Errorf("compare pushed commits: %w", err)
	}
	if !forward {
		return refuse(c.Ref, textForcePush)
	}
	return nil
}

// judgeFirstPush keeps developers from making the first branch of a project whose
// default branch will be protected against them.
func (s *Service) judgeFirstPush(ctx context.Context, as authz.Actor, p *project.Project, c RefChange) error {
	if p.DefaultBranch != nil {
		return nil
	}
	switch s.settings.Current().DefaultBranchProtection {
	case 0, 1, 4:
		return nil
	}
	level, err := s.policy.Level(ctx, as, p.Subject())
	if err != nil {
		return err
	}
	if level >= authz.Maintainer {
		return nil
	}
	return refuse(c.Ref, fmt.Sprintf("A default branch (e.g. %s) does not yet exist for %s\n"+
		"Ask a project Owner or Maintainer to create a default branch:\n\n  %s/%s/-/project_members",
		s.settings.Current().Branch(), p.FullPath, s.baseURL, p.FullPath))
}

func (s *Service) judgeTag(ctx context.Context, as authz.Actor, p *project.Project, c RefChange) error {
	name := c.Ref.Short()
	switch {
	case c.Created() && looksLikeID(name):
		return refuse(c.Ref, textTagIsSHA)
	case c.Created() && !gitcmd.ValidTagName(name):
		return refuse(c.Ref, textTagName)
	case c.Created() && p.DefaultBranch != nil && *p.DefaultBranch == name:
		return refuse(c.Ref, textTagDefault)
	case c.Created():
		return nil
	}
	level, err := s.policy.Level(ctx, as, p.Subject())
	if err != nil {
		return err
	}
	if level < authz.Maintainer {
		return refuse(c.Ref, textChangeTag)
	}
	return nil
}

func judgeOther(c RefChange) error {
	for _, prefix := range hiddenRefs {
		if strings.HasPrefix(string(c.Ref), prefix) {
			return refuse(c.Ref, textHiddenPrefix+prefix)
		}
	}
	if !c.Ref.Valid() || c.Ref == gitcmd.HEAD {
		return refuse(c.Ref, textBranchName)
	}
	return nil
}

// looksLikeID reports whether a name could be taken for a commit.
func looksLikeID(name string) bool {
	return (len(name) == 40 || len(name) == 64) && strings.Trim(strings.ToLower(name), "0123456789abcdef") == ""
}
