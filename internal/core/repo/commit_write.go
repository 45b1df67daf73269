package repo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// What an action of a commit does.
const (
	ActionCreate = "create"
	ActionUpdate = "update"
	ActionDelete = "delete"
	ActionMove   = "move"
	ActionChmod  = "chmod"
)

// Action is one change of a file in a commit.
type Action struct {
	Kind         string // one of the above
	Path         string
	PreviousPath string  // of a move
	Content      *string // nil keeps what a moved file holds
	Encoding     string  // text (also "") or base64
	LastCommitID string  // refuse when another commit touched the file last; "" asks nothing
	Executable   *bool   // of chmod

	Blob gitstore.ObjectID // refuse when the file has another content by now; zero asks nothing

	submodule gitstore.ObjectID // that a submodule shall name
}

// CommitInput describes a commit made through the API.
type CommitInput struct {
	Branch      string
	StartBranch string           // where a new branch begins; "" for the branch itself
	StartSHA    string           // the same by commit; excludes StartBranch
	StartIn     *project.Project // where the start is looked for; nil is the project itself
	Message     string
	AuthorName  string // "" is the actor
	AuthorEmail string
	Actions     []Action
	Force       bool // begin at the start point although the branch exists
	AllowEmpty  bool

	first bool // the server words it itself, for a new repository
}

const textBranchPush = "You are not allowed to push into this branch"

// Commit makes one commit of all actions, without a work tree, and moves the branch to
// it; either everything happens or nothing. The commit is on the branch when it returns.
func (s *Service) Commit(ctx context.Context, as authz.Actor, p *project.Project, in CommitInput) (*gitstore.Commit, error) {
	if err := s.MayCommit(ctx, as, p, in.Branch); err != nil {
		return nil, err
	}
	if err := s.mayStart(ctx, as, p, &in); err != nil {
		return nil, err
	}
	if err := in.validate(); err != nil {
		return nil, err
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return s.oneByOne(p, in.Branch, func() (*gitstore.Commit, error) { return s.commitOnce(ctx, as, p, r, &in) })
}

// DeleteFile is Commit for the deletion of one file. Unlike the other writes it refuses
// callers without the right to push with 403 and no reason, and those that only the branch
// keeps out with 400.
func (s *Service) DeleteFile(ctx context.Context, as authz.Actor, p *project.Project, in CommitInput) (*gitstore.Commit, error) {
	if err := s.Policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return nil, err
	}
	c, err := s.Commit(ctx, as, p, in)
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.Forbidden && e.Message == textBranchPush {
		return nil, errs.Plain(textBranchPush)
	}
	return c, err
}

// oneByOne makes a commit while no other is made on the branch, or in a project without
// any: they wait for each other here rather than fail against each other. A push that
// comes between makes one try in vain.
func (s *Service) oneByOne(p *project.Project, branch string, commit func() (*gitstore.Commit, error)) (*gitstore.Commit, error) {
	if p.DefaultBranch == nil {
		branch = "" // the first commit makes the default branch
	}
	defer s.locks.lock(lockKey{p.ID, branch})()
	for try := 0; ; try++ {
		c, err := commit()
		if errors.Is(err, ErrMoved) && try < 3 {
			continue
		}
		return c, err
	}
}

// MayCommit requires the right to push to the branch.
func (s *Service) MayCommit(ctx context.Context, as authz.Actor, p *project.Project, branch string) error {
	if err := s.Policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil && !errs.Is(err, errs.Forbidden) {
		return err
	}
	access, err := s.Protections.BranchAccess(ctx, as, p, branch)
	if err != nil {
		return err
	}
	if !access.Push {
		return errs.Denied(textBranchPush)
	}
	return nil
}

func (c *CommitInput) validate() error {
	switch {
	case c.Branch == "":
		return errs.Bad("branch is required")
	case strings.TrimSpace(c.Message) == "":
		return errs.Plain("You must provide a commit message")
	case !gitstore.ValidBranchName(c.Branch):
		return errs.Plain("Branch name is invalid")
	case len(c.Actions) == 0 && !c.AllowEmpty:
		return errs.Bad("Provide at least one action, or set allow_empty to true")
	case c.StartBranch != "" && c.StartSHA != "":
		return errs.Bad("start_branch, start_sha are mutually exclusive")
	}
	for i := range c.Actions {
		if err := c.Actions[i].validate(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Action) validate() error {
	paths := []string{a.Path}
	if a.Kind == ActionMove {
		paths = append(paths, a.PreviousPath)
	}
	for _, path := range paths {
		switch {
		case traverses(path):
			return errs.Plain("Path cannot include directory traversal")
		case !gitstore.ValidPath(path):
			return errs.Plain("Path is invalid: " + path)
		}
	}
	if a.Content != nil && a.Encoding == "base64" {
		if _, err := unbase64(*a.Content); err != nil {
			return errs.Plain("content is not valid base64: " + a.Path)
		}
	}
	return nil
}

// unbase64 reads base64 with its padding or without: clients send both.
func unbase64(text string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "=\r\n"))
}

// traverses reports whether a path tries to leave the tree.
func traverses(path string) bool {
	if strings.HasPrefix(path, "/") {
		return true
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." || part == "." {
			return true
		}
	}
	return false
}

// commitOnce makes the commit on the branch as it stands now.
func (s *Service) commitOnce(ctx context.Context, as authz.Actor, p *project.Project, r *gitcmd.Repo, in *CommitInput) (*gitstore.Commit, error) {
	ref, err := gitstore.BranchRef(in.Branch)
	if err != nil {
		return nil, errs.Plain("Branch name is invalid")
	}
	old, err := r.Ref(ctx, ref)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	parent, err := s.startingPoint(ctx, r, p, in, old)
	if err != nil {
		return nil, err
	}
	quarantine, err := r.Quarantine(ctx)
	if err != nil {
		return nil, fmt.Errorf("open quarantine: %w", err)
	}
	defer func() { _ = quarantine.Discard() }()
	id, err := s.writeCommit(ctx, as, quarantine, parent, in)
	if err != nil {
		return nil, err
	}
	source := ByAPI
	if in.first {
		source = byServer
	}
	return s.land(ctx, as, p, quarantine, source, RefChange{Ref: ref, Old: old, New: id})
}

// writeCommit writes the commit of the actions into a quarantine.
func (s *Service) writeCommit(ctx context.Context, as authz.Actor, quarantine *gitcmd.Quarantine, parent gitstore.ObjectID, in *CommitInput) (gitstore.ObjectID, error) {
	var none gitstore.ObjectID
	tree, err := (&treeEdit{repo: quarantine.Repo, parent: parent, staged: map[string]staged{}}).apply(ctx, in.Actions)
	if err != nil {
		return none, err
	}
	by, err := s.signature(ctx, as)
	if err != nil {
		return none, err
	}
	author := by
	if in.AuthorName != "" {
		author.Name = in.AuthorName
	}
	if in.AuthorEmail != "" {
		author.Email = in.AuthorEmail
	}
	commit := gitstore.CommitInput{Tree: tree, Author: author, Committer: by, Message: in.Message}
	if !parent.IsZero() {
		commit.Parents = []gitstore.ObjectID{parent}
	}
	id, err := quarantine.CommitTree(ctx, commit)
	if err != nil {
		return none, fmt.Errorf("write commit: %w", err)
	}
	if slices.ContainsFunc(in.Actions, func(a Action) bool { return namesSubmodules(a.Path) }) {
		err := quarantine.FsckNew(ctx, id)
		if _, ok := errors.AsType[*gitcmd.Error](err); ok && ctx.Err() == nil {
			return none, errs.Plain("The file .gitmodules is invalid")
		}
		if err != nil {
			return none, fmt.Errorf("check .gitmodules: %w", err)
		}
	}
	return id, nil
}

// namesSubmodules reports whether some system takes the file at a path for .gitmodules, in
// which an address or a path can be a command to clients that read it.
func namesSubmodules(path string) bool {
	name := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII { // some systems do not see all of them
			return -1
		}
		return unicode.ToLower(r)
	}, path[strings.LastIndexAny(path, `/\`)+1:])
	return strings.HasPrefix(name, ".gitmod") || strings.HasPrefix(name, "gitmod~") || strings.HasPrefix(name, "gi7")
}

// land judges a commit that is in a quarantine, keeps it and moves its branch.
func (s *Service) land(ctx context.Context, as authz.Actor, p *project.Project, quarantine *gitcmd.Quarantine, source Source, change RefChange) (*gitstore.Commit, error) {
	return s.landWith(ctx, as, p, quarantine, landing{source, change, nil})
}

// landing is a change of a reference by the server.
type landing struct {
	source  Source // that Judge is asked for
	change  RefChange
	options []string // of the push
}

// landWith is land with the options of a push.
func (s *Service) landWith(ctx context.Context, as authz.Actor, p *project.Project, quarantine *gitcmd.Quarantine, l landing) (*gitstore.Commit, error) {
	change := l.change
	if err := s.Judge(ctx, as, p, l.source, quarantine.Repo, []RefChange{change}); err != nil {
		return nil, plainRefusal(err)
	}
	done, err := quarantine.Repo.Commit(ctx, change.New)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return nil, plainRefusal(err)
	}
	if err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	if err := quarantine.Commit(ctx); err != nil {
		return nil, fmt.Errorf("keep objects: %w", err)
	}
	if err := s.moveRefs(ctx, as, p, ByAPI, []RefChange{change}, l.options); err != nil {
		if errors.Is(err, gitstore.ErrRefConflict) {
			return nil, errs.Plain("Branch name is invalid")
		}
		return nil, err
	}
	return done, nil
}

// startingPoint returns the parent of the new commit, zero for the first one of an empty
// repository.
func (s *Service) startingPoint(ctx context.Context, r *gitcmd.Repo, p *project.Project, in *CommitInput, tip gitstore.ObjectID) (gitstore.ObjectID, error) {
	start := in.StartBranch
	if start == "" {
		start = in.StartSHA
	}
	elsewhere := in.StartIn != nil && in.StartIn.ID != p.ID
	if elsewhere && start == "" {
		start = in.Branch
	}
	switch {
	case !elsewhere && (start == "" || start == in.Branch && !tip.IsZero()):
		if !tip.IsZero() {
			return tip, nil
		}
		empty, err := s.Empty(ctx, p)
		if err != nil {
			return gitstore.ObjectID{}, err
		}
		if !empty {
			return gitstore.ObjectID{}, errs.Plain("You can only create or edit files when you are on a branch")
		}
		return gitstore.ObjectID{}, nil
	case !tip.IsZero() && !in.Force:
		return gitstore.ObjectID{}, errs.Plain(fmt.Sprintf(
			"A branch called '%s' already exists. Switch to that branch in order to make changes", in.Branch))
	}
	there, source := r, p
	if elsewhere {
		var err error
		if there, err = s.Open(ctx, in.StartIn); err != nil {
			return gitstore.ObjectID{}, err
		}
		source = in.StartIn
	}
	name := start
	if _, err := there.Branch(ctx, start); err == nil && in.StartSHA == "" {
		name = gitstore.Branches + start // which a tag of the same name does not stand before
	}
	rev, err := resolve(ctx, there, source, name, "Ref")
	if errs.Is(err, errs.NotFound) {
		return gitstore.ObjectID{}, errs.Plain(fmt.Sprintf("Cannot find %s: %s", startWord(in), start))
	}
	if err != nil || !elsewhere {
		return rev.Commit, err
	}
	if err := s.Bring(ctx, in.StartIn, p, rev.Commit); err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("start in another project: %w", err)
	}
	return rev.Commit, nil
}

// mayStart requires the right to read what a commit starts from in another project, which
// must be a relative.
func (s *Service) mayStart(ctx context.Context, as authz.Actor, p *project.Project, in *CommitInput) error {
	if in.StartIn == nil || in.StartIn.ID == p.ID {
		return nil
	}
	if err := s.Policy.Require(ctx, as, authz.ReadCode, in.StartIn.Subject()); err != nil {
		return err
	}
	if !project.Related(p, in.StartIn) {
		return errs.Denied("Project is not included in the fork network for " + p.FullName)
	}
	return nil
}

func startWord(in *CommitInput) string {
	if in.StartSHA != "" {
		return "start_sha"
	}
	return "start_branch"
}

// signature names the actor as author of a commit made now.
func (s *Service) signature(ctx context.Context, as authz.Actor) (gitstore.Signature, error) {
	users, err := s.Accounts.Load(ctx, []authz.UserID{as.UserID})
	if err != nil {
		return gitstore.Signature{}, err
	}
	u := users[as.UserID]
	if u == nil {
		return gitstore.Signature{}, errs.New(errs.Unauthorized, "")
	}
	return gitstore.Signature{Name: u.Name, Email: u.CommitAddress(s.Accounts.CommitHost()), When: s.Now()}, nil
}

// writeReadme makes the first commit of a project: a README.md with its name.
func (s *Service) writeReadme(ctx context.Context, as authz.Actor, p *project.Project, branch string) error {
	if branch == "" {
		branch = s.firstBranch(p)
	}
	content := "# " + p.Name + "\n"
	_, err := s.Commit(ctx, as, p, CommitInput{
		Branch: branch, Message: "Initial commit", first: true,
		Actions: []Action{{Kind: ActionCreate, Path: "README.md", Content: &content}},
	})
	return err
}

// firstCommit makes the first commit of an empty repository and returns the project with
// its default branch.
func (s *Service) firstCommit(ctx context.Context, as authz.Actor, p *project.Project) (*project.Project, error) {
	if err := s.writeReadme(ctx, as, p, ""); err != nil {
		return nil, err
	}
	return s.Projects.FindByID(ctx, as, p.ID)
}
