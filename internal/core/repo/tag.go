package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// Tag is a tag with the commit it names.
type Tag struct {
	Name      string
	Message   *string           // of an annotated tag, nil for a lightweight one
	Target    gitstore.ObjectID // the tag object, or the commit
	Commit    *gitstore.Commit
	CreatedAt *time.Time // of an annotated tag
	Protected bool       // a rule says who may create it
}

// madeAt is the time of an annotated tag or else of its commit; zero where it has neither.
func (t *Tag) madeAt() time.Time {
	switch {
	case t.CreatedAt != nil:
		return *t.CreatedAt
	case t.Commit != nil:
		return t.Commit.Committer.When
	}
	return time.Time{}
}

// Orders of tags.
const (
	TagsByUpdated = "updated"
	TagsByName    = "name"
	TagsByVersion = "version"
)

// TagFilter selects tags; the zero value selects all, the latest first.
type TagFilter struct {
	Search  string // as in BranchFilter
	OrderBy string
	Asc     bool
	After   string // as in BranchFilter
	page.Range
}

// Tags lists tags. Tags that name no commit are left out.
func (s *Service) Tags(ctx context.Context, as authz.Actor, p *project.Project, f TagFilter) (RefPage[*Tag], error) {
	none := RefPage[*Tag]{}
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return none, err
	}
	matches, err := nameMatcher(f.Search, "")
	if err != nil {
		return none, err
	}
	refs, err := r.Refs(ctx, gitstore.Tags)
	if err != nil {
		return none, fmt.Errorf("list tags: %w", err)
	}
	all := make([]*Tag, 0, len(refs))
	for _, ref := range refs {
		if !matches(ref.Name.Short()) {
			continue
		}
		t, err := tag(ctx, r, ref)
		if errors.Is(err, gitstore.ErrWrongKind) || errors.Is(err, gitstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return none, err
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, tagOrder(f.OrderBy))
	order, keys := byName, func(t **Tag) []any { return []any{(*t).Name} }
	switch f.OrderBy {
	case TagsByName:
	case TagsByVersion:
		order = page.Order{page.Text("version", "").By(compareVersions), page.Text("name", "")}
		keys = func(t **Tag) []any { return []any{(*t).Name, (*t).Name} }
	default:
		order = page.Order{page.Time("updated", ""), page.Text("name", "")}
		keys = func(t **Tag) []any { return []any{(*t).updated(), (*t).Name} }
	}
	if !f.Asc {
		order = order.Desc()
		slices.Reverse(all)
	}
	part, err := refsAfter(all, f.Range, f.After, order, keys)
	if err != nil {
		return none, err
	}
	if err := lengthen(ctx, r, part.Items); err != nil {
		return none, err
	}
	return part, s.markProtected(ctx, p, part.Items)
}

// lengthen reads the whole messages of tags, as far as they fit into one list.
func lengthen(ctx context.Context, r *gitcmd.Repo, tags []*Tag) error {
	var texts budget.Sum
	for _, t := range tags {
		if t.Message == nil || len(*t.Message) <= budget.MaxRepeated {
			continue
		}
		object, err := r.Tag(ctx, t.Target)
		if err != nil {
			return fmt.Errorf("read tag: %w", err)
		}
		if err := texts.Add(len(object.Message)); err != nil {
			return err
		}
		message := strings.TrimRight(object.Message, "\n")
		t.Message = &message
	}
	return nil
}

// markProtected says of each tag whether a rule speaks of it.
func (s *Service) markProtected(ctx context.Context, p *project.Project, tags []*Tag) error {
	rules, err := s.Protections.TagRules(ctx, p.ID)
	if err != nil {
		return err
	}
	for _, t := range tags {
		t.Protected = protection.Protected(rules, t.Name)
	}
	return nil
}

func tagOrder(by string) func(a, b *Tag) int {
	switch by {
	case TagsByName:
		return func(a, b *Tag) int { return strings.Compare(a.Name, b.Name) }
	case TagsByVersion:
		return func(a, b *Tag) int { return compareVersions(a.Name, b.Name) }
	}
	return func(a, b *Tag) int {
		if d := a.updated().Compare(b.updated()); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	}
}

func (t *Tag) updated() time.Time {
	if t.CreatedAt != nil {
		return *t.CreatedAt
	}
	return t.Commit.Committer.When
}

// compareVersions orders names so that runs of digits count as numbers: v1.9 before v1.10.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		if digit(a[0]) && digit(b[0]) {
			na, restA := number(a)
			nb, restB := number(b)
			if len(na) != len(nb) {
				return len(na) - len(nb)
			}
			if d := strings.Compare(na, nb); d != 0 {
				return d
			}
			a, b = restA, restB
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// number cuts a run of digits off the front, leading zeros dropped.
func number(s string) (digits, rest string) {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return strings.TrimLeft(s[:n], "0"), s[n:]
}

// tag assembles what is shown of a tag, with its message in the short form.
func tag(ctx context.Context, r *gitcmd.Repo, ref gitstore.Ref) (*Tag, error) {
	commit, err := r.ShortCommit(ctx, ref.Peeled)
	if err != nil {
		return nil, fmt.Errorf("read tag: %w", err)
	}
	t := &Tag{Name: ref.Name.Short(), Target: ref.ID, Commit: commit}
	if ref.Annotated() {
		object, err := r.ShortTag(ctx, ref.ID)
		if err != nil {
			return nil, fmt.Errorf("read tag: %w", err)
		}
		message := strings.TrimRight(object.Message, "\n")
		t.Message = &message
		if !object.Tagger.When.IsZero() {
			t.CreatedAt = &object.Tagger.When
		}
	}
	return t, nil
}

// FindTag returns one tag.
func (s *Service) FindTag(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Tag, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	t, err := findTag(ctx, r, name)
	if err != nil {
		return nil, err
	}
	return t, s.markProtected(ctx, p, []*Tag{t})
}

func findTag(ctx context.Context, r *gitcmd.Repo, name string) (*Tag, error) {
	ref, err := gitstore.TagRef(name)
	if err != nil {
		return nil, errs.Missing("Tag")
	}
	id, err := r.Ref(ctx, ref)
	if err != nil {
		return nil, missing(err, "Tag")
	}
	peeled, err := r.Peel(ctx, id)
	if err != nil {
		return nil, missing(err, "Tag")
	}
	t, err := tag(ctx, r, gitstore.Ref{Name: ref, ID: id, Peeled: peeled.ID})
	if err == nil {
		err = lengthen(ctx, r, []*Tag{t})
	}
	return t, missing(err, "Tag")
}

// TagCommit returns the commit that a tag names. It asks for no permission.
func (s *Service) TagCommit(ctx context.Context, p *project.Project, name string) (gitstore.ObjectID, error) {
	ref, err := gitstore.TagRef(name)
	if err != nil {
		return gitstore.ObjectID{}, errs.Missing("Tag")
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	id, err := r.Ref(ctx, ref)
	if err != nil {
		return gitstore.ObjectID{}, missing(err, "Tag")
	}
	peeled, err := r.Peel(ctx, id)
	return peeled.ID, missing(err, "Tag")
}

// NewTag is what CreateTagWith creates.
type NewTag struct {
	Name    string
	Target  string // what names its commit
	Message string // of an annotated tag; "" creates a lightweight one

	// Before is called when the tag may be created and is not yet, with the change and the id of the commit. Its error keeps the tag from being
	// created. nil does nothing.
	Before func(ctx context.Context, c RefChange, commit string) error
}

// CreateTag makes a tag at what target names, an annotated one where there is a message.
func (s *Service) CreateTag(ctx context.Context, as authz.Actor, p *project.Project, name, target, message string) (*Tag, error) {
	return s.CreateTagWith(ctx, as, p, NewTag{Name: name, Target: target, Message: message})
}

// CreateTagWith is CreateTag with something that goes before.
func (s *Service) CreateTagWith(ctx context.Context, as authz.Actor, p *project.Project, in NewTag) (*Tag, error) {
	if err := s.Policy.Require(ctx, as, authz.PushCode, p.Subject()); err != nil {
		return nil, err
	}
	name, target, message := in.Name, in.Target, in.Message
	ref, err := gitstore.TagRef(name)
	if err != nil || !gitstore.ValidTagName(name) {
		return nil, errs.Plain("Tag name invalid")
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, err := r.Ref(ctx, ref); err == nil {
		return nil, errs.Plain(fmt.Sprintf("Tag %s already exists", name))
	}
	rev, err := resolve(ctx, r, p, target, "Ref")
	if errs.Is(err, errs.NotFound) || target == "" {
		return nil, errs.Plain(fmt.Sprintf("Target %s is invalid", target))
	}
	if err != nil {
		return nil, err
	}
	change := RefChange{Ref: ref, New: rev.Commit}
	if message != "" {
		by, err := s.signature(ctx, as)
		if err != nil {
			return nil, err
		}
		change.New, err = r.CreateTag(ctx, gitstore.TagInput{Name: name, Target: rev.Commit, Tagger: by, Message: message})
		if err != nil {
			return nil, fmt.Errorf("write tag: %w", err)
		}
	}
	if err := s.Judge(ctx, as, p, ByAPI, r, []RefChange{change}); err != nil {
		return nil, plainRefusal(err)
	}
	if in.Before != nil {
		if err := in.Before(ctx, change, rev.Commit.String()); err != nil {
			return nil, err
		}
	}
	if err := s.MoveRefs(ctx, as, p, ByAPI, []RefChange{change}); err != nil {
		if errors.Is(err, ErrMoved) {
			return nil, errs.Plain(fmt.Sprintf("Tag %s already exists", name))
		}
		if errors.Is(err, gitstore.ErrRefConflict) {
			return nil, errs.Plain(fmt.Sprintf("Failed to create tag '%s': it conflicts with another tag", name))
		}
		return nil, plainRefusal(err)
	}
	t, err := findTag(ctx, r, name)
	if err != nil {
		return nil, err
	}
	return t, s.markProtected(ctx, p, []*Tag{t})
}

// DeleteTag deletes a tag.
func (s *Service) DeleteTag(ctx context.Context, as authz.Actor, p *project.Project, name string) error {
	if err := s.Policy.Require(ctx, as, authz.DeleteTag, p.Subject()); err != nil {
		return err
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	t, err := findTag(ctx, r, name)
	if err != nil {
		return err
	}
	ref, err := gitstore.TagRef(name)
	if err != nil {
		return errs.Missing("Tag")
	}
	if err := as.UnmodifiedAt(t.madeAt()); err != nil {
		return err
	}
	return plainRefusal(s.moveJudged(ctx, as, p, r, RefChange{Ref: ref, Old: t.Target}))
}
