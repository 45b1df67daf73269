package repo

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// Branch is a branch as an actor sees it.
type Branch struct {
	Name      string
	Tip       *gitstore.Commit
	Merged    bool // the default branch holds its tip and more
	Protected bool
	Default   bool
	CanPush   bool // the actor may
	// DevelopersCanPush and DevelopersCanMerge speak of the role of Developer.
	DevelopersCanPush  bool
	DevelopersCanMerge bool
}

// Orders of branches.
const (
	ByNameAsc     = "name_asc"
	ByUpdatedAsc  = "updated_asc"
	ByUpdatedDesc = "updated_desc"
)

// BranchFilter selects branches; the zero value selects all, by name.
type BranchFilter struct {
	Search string // part of the name; ^ anchors it at the start, $ at the end, * stands for anything
	Regex  string // RE2, instead of Search
	Sort   string // one of the orders
	After  string // with Keyset, in place of Cursor: the name of a branch, or what RefPage.Token gave
	page.Range
}

// RefPage is a part of a list of branches or tags.
type RefPage[T any] struct {
	page.Page[T]
	Token string // of the page that follows, for the After of its filter; "" at the end
}

// Branches lists branches. Those whose commit is lost are left out, so that damage to one
// of them hides no other.
func (s *Service) Branches(ctx context.Context, as authz.Actor, p *project.Project, f BranchFilter) (RefPage[*Branch], error) {
	none := RefPage[*Branch]{}
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return none, err
	}
	matches, err := nameMatcher(f.Search, f.Regex)
	if err != nil {
		return none, err
	}
	refs, err := r.Refs(ctx, gitstore.Branches)
	if err != nil {
		return none, fmt.Errorf("list branches: %w", err)
	}
	refs = slices.DeleteFunc(refs, func(ref gitstore.Ref) bool { return !matches(ref.Name.Short()) })
	list, err := s.listBranches(ctx, as, p, r, refs, f)
	if errors.Is(err, gitstore.ErrNotFound) {
		s.log.Error("a branch names a commit that is not there", "project_id", p.ID, "error", err)
		refs = slices.DeleteFunc(refs, func(ref gitstore.Ref) bool {
			_, err := r.Commit(ctx, ref.Peeled)
			return errors.Is(err, gitstore.ErrNotFound)
		})
		return s.listBranches(ctx, as, p, r, refs, f)
	}
	return list, err
}

// byName is the order of references by their names.
var byName = page.Order{page.Text("name", "")}

// listBranches gives the page of a list of branches.
func (s *Service) listBranches(ctx context.Context, as authz.Actor, p *project.Project, r *gitcmd.Repo, refs []gitstore.Ref, f BranchFilter) (RefPage[*Branch], error) {
	none := RefPage[*Branch]{}
	order, keys := byName, func(ref *gitstore.Ref) []any { return []any{ref.Name.Short()} }
	if f.Sort == ByUpdatedAsc || f.Sort == ByUpdatedDesc {
		dates, err := sortByDate(ctx, r, refs, f.Sort == ByUpdatedDesc)
		if err != nil {
			return none, err
		}
		order = page.Order{page.Int("updated", ""), page.Text("name", "").Fixed()}
		if f.Sort == ByUpdatedDesc {
			order = order.Desc()
		}
		keys = func(ref *gitstore.Ref) []any { return []any{dates[ref.Name], ref.Name.Short()} }
	}
	part, err := refsAfter(refs, f.Range, f.After, order, keys)
	if err != nil {
		return none, err
	}
	st, err := s.protections.Branches(ctx, as, p)
	if err != nil {
		return none, err
	}
	merged, err := mergedInto(ctx, r, p, part.Items)
	if err != nil {
		return none, err
	}
	out := make([]*Branch, 0, len(part.Items))
	for _, ref := range part.Items {
		b, err := s.branch(ctx, p, r, st, ref, merged[ref.Name])
		if err != nil {
			return none, err
		}
		out = append(out, b)
	}
	return RefPage[*Branch]{page.With(part.Page, out), part.Token}, nil
}

// refsAfter cuts a page out of a sorted list of references, the last of whose keys is the
// name. The page may begin after a name. In a list by name that one need not be there any
// more; elsewhere only a token tells where it stood.
func refsAfter[T any](list []T, r page.Range, after string, order page.Order, keys func(ref *T) []any) (RefPage[T], error) {
	last := len(order) - 1
	if r.Keyset && after != "" {
		r.Cursor = after
		if last == 0 {
			r.Cursor = order.Cursor(after)
		}
		for i := range list {
			if k := keys(&list[i]); k[last] == after {
				r.Cursor = order.Cursor(k...)
			}
		}
	}
	part, err := page.Slice(list, r, order, keys)
	if errors.Is(err, page.ErrCursor) && after != "" {
		return RefPage[T]{}, errs.Plain("page_token is invalid")
	}
	if err != nil {
		return RefPage[T]{}, err
	}
	out := RefPage[T]{part, part.Next()}
	if out.Token != "" && last == 0 {
		out.Token = keys(&part.Items[len(part.Items)-1])[0].(string)
	}
	return out, nil
}

// maxPattern bounds a regular expression from outside.
const maxPattern = 1000

func nameMatcher(search, pattern string) (func(string) bool, error) {
	switch {
	case pattern != "":
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > maxPattern {
			return nil, errs.Plain("Regex is invalid")
		}
		return re.MatchString, nil
	case search == "":
		return func(string) bool { return true }, nil
	}
	search = strings.ToLower(search)
	before, after := "*", "*"
	if rest, ok := strings.CutPrefix(search, "^"); ok {
		search, before = rest, ""
	}
	if rest, ok := strings.CutSuffix(search, "$"); ok {
		search, after = rest, ""
	}
	wild := before + search + after
	return func(name string) bool { return protection.MatchWildcard(wild, strings.ToLower(name)) }, nil
}

// sortByDate orders references by the date of their commits, then by name.
func sortByDate(ctx context.Context, r *gitcmd.Repo, refs []gitstore.Ref, newestFirst bool) (map[gitstore.RefName]int64, error) {
	dates := make(map[gitstore.RefName]int64, len(refs))
	for _, ref := range refs {
		c, err := r.Commit(ctx, ref.Peeled)
		if err != nil {
			return nil, fmt.Errorf("read commit of %q: %w", ref.Name, err)
		}
		dates[ref.Name] = c.Committer.When.Unix()
	}
	slices.SortStableFunc(refs, func(a, b gitstore.Ref) int {
		if newestFirst {
			a, b = b, a
		}
		switch d := dates[a.Name] - dates[b.Name]; {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	return dates, nil
}

// branch assembles what is shown of a branch.
func (s *Service) branch(ctx context.Context, p *project.Project, r *gitcmd.Repo, st *protection.Standing, ref gitstore.Ref, merged bool) (*Branch, error) {
	tip, err := r.Commit(ctx, ref.Peeled)
	if err != nil {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	name := ref.Name.Short()
	access := st.Access(name)
	b := &Branch{
		Name: name, Tip: tip, Protected: access.Protected, CanPush: access.Push,
		Default:           p.DefaultBranch != nil && *p.DefaultBranch == name,
		DevelopersCanPush: access.DevelopersPush, DevelopersCanMerge: access.DevelopersMerge,
	}
	b.Merged = merged && !b.Default
	return b, nil
}

// mergedInto says of each branch whether the default branch holds it and has gone on
// since: a branch that was only just started from there is not merged.
func mergedInto(ctx context.Context, r *gitcmd.Repo, p *project.Project, refs []gitstore.Ref) (map[gitstore.RefName]bool, error) {
	if p.DefaultBranch == nil || len(refs) == 0 {
		return nil, nil
	}
	tip, err := r.Branch(ctx, *p.DefaultBranch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	refs = slices.DeleteFunc(slices.Clone(refs), func(ref gitstore.Ref) bool { return ref.Peeled == tip })
	merged, err := r.MergedBranches(ctx, refs, tip)
	if err != nil {
		return nil, fmt.Errorf("compare branches: %w", err)
	}
	return merged, nil
}

// FindBranch gives one branch.
func (s *Service) FindBranch(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Branch, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	id, err := r.Branch(ctx, name)
	if err != nil {
		return nil, missing(err, "Branch")
	}
	st, err := s.protections.Branches(ctx, as, p)
	if err != nil {
		return nil, err
	}
	ref, err := gitstore.BranchRef(name)
	if err != nil {
		return nil, errs.Missing("Branch")
	}
	found := gitstore.Ref{Name: ref, ID: id, Peeled: id}
	merged, err := mergedInto(ctx, r, p, []gitstore.Ref{found})
	if err != nil {
		return nil, missing(err, "Branch")
	}
	b, err := s.branch(ctx, p, r, st, found, merged[ref])
	return b, missing(err, "Branch")
}

// CreateBranch makes a branch at what ref names. In an empty repository a first commit
// is made and the branch points to it.
func (s *Service) CreateBranch(ctx context.Context, as authz.Actor, p *project.Project, name, from string) (*Branch, error) {
	if err := s.policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return nil, err
	}
	ref, err := gitstore.BranchRef(name)
	if err != nil || !gitstore.ValidBranchName(name) {
		return nil, errs.Plain("Branch name is invalid")
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.DefaultBranch == nil {
		if p, err = s.firstCommit(ctx, as, p); err != nil {
			return nil, err
		}
		from = *p.DefaultBranch
		if from == name {
			return s.FindBranch(ctx, as, p, name)
		}
	}
	if _, err := r.Ref(ctx, ref); err == nil {
		return nil, errs.Plain("Branch already exists")
	}
	rev, err := resolve(ctx, r, p, from, "Ref")
	if errs.Is(err, errs.NotFound) || from == "" {
		return nil, errs.Plain(fmt.Sprintf("Failed to create branch '%s': invalid reference name '%s'", name, from))
	}
	if err != nil {
		return nil, err
	}
	change := RefChange{Ref: ref, New: rev.Commit}
	if err := s.moveJudged(ctx, as, p, r, change); err != nil {
		if errors.Is(err, ErrMoved) {
			return nil, errs.Plain("Branch already exists")
		}
		if errors.Is(err, gitstore.ErrRefConflict) {
			return nil, errs.Plain(fmt.Sprintf("Failed to create branch '%s': it conflicts with another branch", name))
		}
		return nil, plainRefusal(err)
	}
	return s.FindBranch(ctx, as, p, name)
}

// moveJudged asks whether the actor may make a change through the API and makes it.
func (s *Service) moveJudged(ctx context.Context, as authz.Actor, p *project.Project, r *gitcmd.Repo, changes ...RefChange) error {
	if err := s.Judge(ctx, as, p, ByAPI, r, changes); err != nil {
		return err
	}
	return s.MoveRefs(ctx, as, p, ByAPI, changes)
}

// DeleteBranch deletes a branch. What the protection forbids is Invalid with its text.
func (s *Service) DeleteBranch(ctx context.Context, as authz.Actor, p *project.Project, name string) error {
	if err := s.policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return err
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	id, err := r.Branch(ctx, name)
	if err != nil {
		return missing(err, "Branch")
	}
	ref, err := gitstore.BranchRef(name)
	if err != nil {
		return errs.Missing("Branch")
	}
	if !as.UnmodifiedSince.IsZero() {
		tip, err := r.Commit(ctx, id)
		if err != nil {
			return missing(err, "Branch")
		}
		if err := as.UnmodifiedAt(tip.Committer.When); err != nil {
			return err
		}
	}
	return plainRefusal(s.moveJudged(ctx, as, p, r, RefChange{Ref: ref, Old: id}))
}

// plainRefusal is what the API says of a reference that may not move: 400 with the text
// that a push would show.
func plainRefusal(err error) error {
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return errs.Plain(refused.Text)
	}
	return err
}

// DeleteMerged deletes the branches whose commits the default branch holds. Those that a
// rule protects stay, and those that open merge requests come from or go to.
func (s *Service) DeleteMerged(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return err
	}
	for try := 0; ; try++ {
		changes, err := s.mergedBranches(ctx, as, p)
		if err != nil {
			return err
		}
		err = s.MoveRefs(ctx, as, p, ByAPI, changes)
		if errors.Is(err, ErrMoved) && try < 3 {
			continue // a user pushed to one of them, which is merged no more, or deleted it
		}
		return err
	}
}

// mergedBranches gives the deletions of DeleteMerged.
func (s *Service) mergedBranches(ctx context.Context, as authz.Actor, p *project.Project) ([]RefChange, error) {
	branches, err := s.Branches(ctx, as, p, BranchFilter{})
	if err != nil {
		return nil, err
	}
	wanted, err := s.requests.Requested(ctx, p.ID)
	if err != nil {
		return nil, fmt.Errorf("look for merge requests of branches: %w", err)
	}
	var changes []RefChange
	for _, b := range branches.Items {
		if !b.Merged || b.Protected || b.Default || wanted[b.Name] {
			continue
		}
		ref, err := gitstore.BranchRef(b.Name)
		if err != nil {
			return nil, fmt.Errorf("merged branch: %w", err)
		}
		changes = append(changes, RefChange{Ref: ref, Old: b.Tip.ID})
	}
	return changes, nil
}

// SetHead makes a branch the one that HEAD names; NotFound where there is no such branch.
func (s *Service) SetHead(ctx context.Context, p *project.Project, branch string) error {
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	if _, err := r.Branch(ctx, branch); err != nil {
		return missing(err, "Branch")
	}
	ref, err := gitstore.BranchRef(branch)
	if err != nil {
		return errs.Missing("Branch")
	}
	if err := r.SetHead(ctx, ref); err != nil {
		return fmt.Errorf("set default branch: %w", err)
	}
	return nil
}
