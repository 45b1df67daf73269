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
	Tip       *gitstore.Commit // in its short form
	Merged    bool             // the default branch holds its tip and more
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
		s.Log.Error("a branch names a commit that is not there", "project_id", p.ID, "error", err)
		refs = slices.DeleteFunc(refs, func(ref gitstore.Ref) bool {
			_, err := r.ShortCommit(ctx, ref.Peeled)
			return errors.Is(err, gitstore.ErrNotFound)
		})
		return s.listBranches(ctx, as, p, r, refs, f)
	}
	return list, err
}

// byName is the order of references by their names.
var byName = page.Order{page.Text("name", "")}

// listBranches returns the page of a list of branches.
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
	st, err := s.Protections.Branches(ctx, as, p)
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
		c, err := r.ShortCommit(ctx, ref.Peeled)
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
	tip, err := r.ShortCommit(ctx, ref.Peeled)
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

// FindBranch returns one branch.
func (s *Service) FindBranch(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Branch, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	id, err := r.Branch(ctx, name)
	if err != nil {
		return nil, missing(err, "Branch")
	}
	st, err := s.Protections.Branches(ctx, as, p)
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
