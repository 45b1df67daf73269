package repo

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// What people read when a reference may not move.
const (
	textNoPush          = "You are not allowed to push code to this project."
	textNoWriteKey      = "This deploy key does not have write access to this project."
	textArchived        = "You can't push code to an archived project."
	textMarked          = "You can't push code to a project that is marked for deletion."
	textProtected       = "You are not allowed to push code to protected branches on this project."
	textForcePush       = "You are not allowed to force push code to a protected branch on this project."
	textNotReady        = "A repository for this project does not exist yet."
	textMerge           = "You are not allowed to merge code into protected branches on this project."
	textCreateProtected = "You are not allowed to create protected branches on this project."
	textCreateByGit     = "You can only create protected branches using the web interface and API."
	textDeleteDefault   = "The default branch of a project cannot be deleted."
	textDeleteProtected = "You are not allowed to delete protected branches from this project. " +
		"Only a project maintainer or owner can delete a protected branch."
	textDeleteByGit = "You can only delete protected branches using the web interface."
	textBranchIsSHA = "You cannot create a branch with a SHA-1 or SHA-256 branch name."
	textBranchName  = "You cannot create a branch with an invalid name."
	textTagIsSHA    = "You cannot create a tag with a SHA-1 or SHA-256 tag name."
	textTagName     = "You cannot create a tag with a prohibited pattern."
	textTagDefault  = "You cannot use default branch name to create a tag"
	textChangeTag   = "You are not allowed to change existing tags on this project."
	textCreateTag   = "You are not allowed to create this tag as it is protected."
	textUpdateTag   = "Protected tags cannot be updated."
	textDeleteTag   = "You are not allowed to delete protected tags from this project. " +
		"Only a project maintainer or owner can delete a protected tag."
	textDeleteTagByGit = "You can only delete protected tags using the web interface."
	textTooLarge       = "A commit or tag is larger than 16 MiB, with its message and signature. Shorten its message."
	textHiddenPrefix   = "You are not allowed to change references under "
	textOtherRefs      = "You can only push branches, tags and notes (refs/notes/), not %s. " +
		"With --mirror git pushes every reference: name those to push instead, such as refs/heads/* and refs/tags/*."
	textOtherRef = "only branches, tags and notes can be pushed"
)

// notesRefs are where git keeps the notes on commits, which clients fetch by name.
const notesRefs = "refs/notes/"

// taken reports whether a reference lies where people may make and move references. In
// other places some have a meaning for git itself, as refs/replace/ and refs/bisect/, and
// clients look for none.
func taken(name gitstore.RefName) bool {
	return name.IsBranch() || name.IsTag() || strings.HasPrefix(string(name), notesRefs)
}

// hiddenRefs are references that only the server writes.
var hiddenRefs = []string{"refs/merge-requests/", "refs/keep-around/", "refs/environments/", "refs/pipelines/", "refs/tenon/"}

// Refusal is the cause of the Forbidden error that Judge gives.
type Refusal struct {
	Ref  gitstore.RefName // the reference at fault, "" for the whole push
	Text string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(ref gitstore.RefName, text string) error {
	return &errs.Error{Kind: errs.Forbidden, Message: text, Err: &Refusal{Ref: ref, Text: text}}
}

// Judge says whether the actor may move all these references, each looked at by itself;
// the first that may not refuses them all. Objects that are still in quarantine are
// read through r. A refusal is Forbidden with the text for the person who pushes and
// *Refusal as its cause.
func (s *Service) Judge(ctx context.Context, as authz.Actor, p *project.Project, source Source, r *gitcmd.Repo, changes []RefChange) error {
	if err := s.requirePush(ctx, as, p); err != nil {
		return err
	}
	j := judge{service: s, as: as, project: p, source: source, repo: r}
	for _, c := range changes {
		var err error
		switch {
		case c.Ref.IsBranch():
			err = j.branch(ctx, c)
		case c.Ref.IsTag():
			err = j.tag(ctx, c)
		default:
			err = j.other(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	if err := s.judgeLocks(ctx, as, p, r, changes); err != nil {
		return err
	}
	if err := j.content(ctx, changes); err != nil {
		return err
	}
	if err := s.judgePointers(ctx, p, r); err != nil || source != ByPush && source != ByAPI {
		return err
	}
	return s.judgeSize(ctx, p, r)
}

// judge looks at the references of one change by one actor. The rules of either kind are
// read when the first reference of that kind comes.
type judge struct {
	service *Service
	as      authz.Actor
	project *project.Project
	source  Source
	repo    *gitcmd.Repo

	branches, tags *protection.Standing
}

func (j *judge) branch(ctx context.Context, c RefChange) error {
	if j.branches == nil {
		var err error
		if j.branches, err = j.service.Protections.Branches(ctx, j.as, j.project); err != nil {
			return err
		}
	}
	name := c.Ref.Short()
	access := j.branches.Access(name)
	if !j.branches.Push && (c.Created() || c.Deleted() || !access.Push) { // a guest in one branch moves it and does nothing else
		return refuse(c.Ref, textNoPush)
	}
	isDefault := j.project.DefaultBranch != nil && *j.project.DefaultBranch == name
	switch {
	case c.Deleted() && isDefault:
		return refuse(c.Ref, textDeleteDefault)
	case c.Deleted() && access.Protected && !access.Delete:
		return refuse(c.Ref, textDeleteProtected)
	case c.Deleted() && access.Protected && j.source == ByPush:
		return refuse(c.Ref, textDeleteByGit)
	case c.Deleted():
		return nil
	case c.Created() && gitstore.LooksLikeID(name):
		return refuse(c.Ref, textBranchIsSHA)
	case c.Created() && !gitstore.ValidBranchName(name):
		return refuse(c.Ref, textBranchName)
	case c.Created() && access.Protected && !access.Push:
		return j.newProtected(ctx, c, access)
	case c.Created():
		return j.service.judgeFirstPush(ctx, j.as, j.project, c)
	case j.source == ByMerge:
		if !access.Merge {
			return refuse(c.Ref, textMerge)
		}
		return nil
	case !access.Push:
		return refuse(c.Ref, textProtected)
	case !access.Protected || access.ForcePush:
		return nil
	}
	forward, err := j.repo.IsAncestor(ctx, c.Old, c.New)
	if err != nil {
		return fmt.Errorf("compare pushed commits: %w", err)
	}
	if !forward {
		return refuse(c.Ref, textForcePush)
	}
	return nil
}

// newProtected judges a new branch that a rule speaks of and the actor may not push to.
// Who may merge into it may make it through the API, of commits that are in a
// protected branch already: anything else would be pushing.
func (j *judge) newProtected(ctx context.Context, c RefChange, access protection.Access) error {
	switch {
	case !access.Merge:
		return refuse(c.Ref, textCreateProtected)
	case j.source == ByPush:
		return refuse(c.Ref, textCreateByGit)
	}
	refs, err := j.repo.Refs(ctx, gitstore.Branches)
	if err != nil {
		return fmt.Errorf("list branches: %w", err)
	}
	for _, ref := range refs {
		if !j.branches.Protects(ref.Name.Short()) {
			continue
		}
		held, err := j.repo.IsAncestor(ctx, c.New, ref.ID)
		if err != nil {
			return fmt.Errorf("look for commit in protected branches: %w", err)
		}
		if held {
			return nil
		}
	}
	return refuse(c.Ref, textCreateProtected)
}

// judgeFirstPush keeps developers from making the first branch of a project whose
// default branch will be protected against them.
func (s *Service) judgeFirstPush(ctx context.Context, as authz.Actor, p *project.Project, c RefChange) error {
	if p.DefaultBranch != nil {
		return nil
	}
	defaults, err := s.Protections.Defaults(ctx, p.ID)
	if err != nil {
		return err
	}
	subject := p.Subject()
	if as.Deploys() {
		subject.Known = false
		if as, err = s.pusher(ctx, as, p); err != nil {
			return err
		}
	}
	level, err := s.Policy.Level(ctx, as, subject)
	if err != nil {
		return err
	}
	if defaults.AdmitsFirst(level) {
		return nil
	}
	return refuse(c.Ref, fmt.Sprintf("A default branch (e.g. %s) does not yet exist for %s\n"+
		"Ask a project Owner or Maintainer to create a default branch:\n\n  %s",
		s.Settings.Current().Branch(), p.FullPath, s.URLs.ProjectMembers(p.FullPath)))
}

func (j *judge) tag(ctx context.Context, c RefChange) error {
	if j.tags == nil {
		var err error
		if j.tags, err = j.service.Protections.Tags(ctx, j.as, j.project); err != nil {
			return err
		}
	}
	if !j.tags.Push {
		return refuse(c.Ref, textNoPush)
	}
	name := c.Ref.Short()
	protected, may := j.tags.MayCreateTag(name)
	maintainer := j.tags.Level >= authz.Maintainer
	switch {
	case c.Created() && gitstore.LooksLikeID(name):
		return refuse(c.Ref, textTagIsSHA)
	case c.Created() && !gitstore.ValidTagName(name):
		return refuse(c.Ref, textTagName)
	case c.Created() && j.project.DefaultBranch != nil && *j.project.DefaultBranch == name:
		return refuse(c.Ref, textTagDefault)
	case c.Created():
		if !may {
			return refuse(c.Ref, textCreateTag)
		}
		return nil
	case !maintainer && (!c.Deleted() || j.source == ByPush):
		// Through the API developers may delete tags that no rule speaks of.
		return refuse(c.Ref, textChangeTag)
	case !protected:
		return nil
	case !c.Deleted():
		return refuse(c.Ref, textUpdateTag)
	case !maintainer:
		return refuse(c.Ref, textDeleteTag)
	case j.source == ByPush:
		return refuse(c.Ref, textDeleteTagByGit)
	}
	return nil
}

func (j *judge) other(ctx context.Context, c RefChange) error {
	may, err := j.service.Policy.Can(ctx, j.as, authz.PushCode, j.project.Subject())
	if err != nil {
		return err
	}
	if !may {
		return refuse(c.Ref, textNoPush)
	}
	for _, prefix := range hiddenRefs {
		if strings.HasPrefix(string(c.Ref), prefix) {
			return refuse(c.Ref, textHiddenPrefix+prefix)
		}
	}
	if !c.Deleted() && !taken(c.Ref) { // what an old repository has may go
		return refuse(c.Ref, fmt.Sprintf(textOtherRefs, c.Ref))
	}
	if !c.Ref.Valid() || strings.Count(string(c.Ref), "/") < 2 { // git itself takes nothing right below refs/
		return refuse(c.Ref, textBranchName)
	}
	return nil
}
