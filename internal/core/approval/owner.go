package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/codeowner"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

const (
	maxOwnerRules = 500     // rules of code owners of a merge request
	maxOwnedFiles = 100_000 // changed files that are compared with patterns; of more, all patterns match
)

// unusable begins the key of a merge request whose CODEOWNERS file exceeds the limits.
const unusable = "! "

// OwnersKey names the CODEOWNERS file of the target branch and the version of a merge request,
// "" where the branch has no such file.
func (s *Service) OwnersKey(ctx context.Context, r *gitcmd.Repo, m *mergerequest.MergeRequest) (string, error) {
	target, err := gitstore.ParseObjectID(m.TrialTargetSHA)
	if err != nil || m.BaseSHA == "" || m.HeadSHA == "" {
		return "", nil
	}
	for _, name := range codeowner.Paths() {
		e, err := r.Entry(ctx, target, name)
		if errors.Is(err, gitstore.ErrNotFound) || err == nil && e.Mode != gitstore.ModeFile && e.Mode != gitstore.ModeExecutable {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("look for code owners: %w", err)
		}
		key := fmt.Sprintf("%s %s %s", e.ID, m.BaseSHA, m.HeadSHA)
		if strings.TrimPrefix(m.OwnersKey, unusable) == key {
			return m.OwnersKey, nil
		}
		return key, nil
	}
	return "", nil
}

// owned is what CODEOWNERS says of the changed files of a merge request.
type owned struct {
	file    *codeowner.File    // nil without one
	entries []*codeowner.Entry // that speak of the files
}

// PlanOwners finds the rules of code owners of a merge request, and which approvals of earlier
// versions stay where the project removes those of owners of changed files.
func (s *Service) PlanOwners(ctx context.Context, p *project.Project, r *gitcmd.Repo, m *mergerequest.MergeRequest, key string) (string, func(context.Context, mergerequest.Fact) error, error) {
	var of owned
	var err error
	if key != "" {
		if of, err = s.ownedBy(ctx, r, m, key); errors.Is(err, codeowner.ErrTooLarge) {
			key, err = unusable+key, nil
		}
		if err != nil {
			return "", nil, err
		}
	}
	rules, err := s.ownerRules(ctx, p, m, of.entries)
	if err != nil {
		return "", nil, err
	}
	touched, err := s.touched(ctx, p, r, m, of.file)
	if err != nil {
		return "", nil, err
	}
	return key, func(ctx context.Context, f mergerequest.Fact) error {
		before, err := s.rules(ctx, ownersOf(m))
		if err != nil {
			return err
		}
		if err := s.storeOwners(ctx, before, rules); err != nil {
			return err
		}
		if len(touched) == 0 {
			return nil
		}
		after, err := s.rules(ctx, ownersOf(m))
		if err != nil {
			return err
		}
		return s.removeTouched(ctx, f, touched, append(before, after...))
	}, nil
}

// ownersOf selects the rules of code owners of a merge request.
func ownersOf(m *mergerequest.MergeRequest) db.Where {
	w := scope{m: m}.of()
	w.And("r.rule_type = ?", CodeOwner)
	return w
}

// ownedBy reads the CODEOWNERS file that a key names, and finds its entries for the changed files.
func (s *Service) ownedBy(ctx context.Context, r *gitcmd.Repo, m *mergerequest.MergeRequest, key string) (owned, error) {
	hex, _, _ := strings.Cut(key, " ")
	id, err := gitstore.ParseObjectID(hex)
	if err != nil {
		return owned{}, fmt.Errorf("read code owners: %w", err)
	}
	text, err := r.Blob(ctx, id, codeowner.MaxBytes)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return owned{}, codeowner.ErrTooLarge
	}
	if err != nil {
		return owned{}, fmt.Errorf("read code owners: %w", err)
	}
	out := owned{}
	if out.file, err = codeowner.Parse(text); err != nil {
		return owned{}, err
	}
	out.entries, err = entriesBetween(ctx, r, out.file, m.BaseSHA, m.HeadSHA)
	if len(out.entries) > maxOwnerRules {
		return owned{}, codeowner.ErrTooLarge
	}
	return out, err
}

// entriesBetween finds the entries of files that differ between two commits: all of them where
// too many files do, or one of the commits is gone.
func entriesBetween(ctx context.Context, r *gitcmd.Repo, file *codeowner.File, from, to string) ([]*codeowner.Entry, error) {
	a, err := gitstore.ParseObjectID(from)
	if err != nil {
		return nil, fmt.Errorf("compare for code owners: %w", err)
	}
	b, err := gitstore.ParseObjectID(to)
	if err != nil {
		return nil, fmt.Errorf("compare for code owners: %w", err)
	}
	diff, err := r.Diff(ctx, a, b, gitcmd.DiffOptions{NoPatch: true, NoRenames: true, MaxFiles: maxOwnedFiles})
	switch {
	case errors.Is(err, gitstore.ErrNotFound):
		return file.Entries(), nil
	case err != nil:
		return nil, fmt.Errorf("compare for code owners: %w", err)
	case diff.Overflow:
		return file.Entries(), nil
	}
	seen := map[*codeowner.Entry]bool{}
	var out []*codeowner.Entry
	match := file.Matcher()
	for i := range diff.Files {
		found, err := match.Match(diff.Files[i].NewPath)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if !seen[e] {
				seen[e] = true
				out = append(out, e)
			}
		}
	}
	return out, ctx.Err()
}

// touched returns for the heads of approvals that no longer count which entries speak of the files
// that changed since; nil where the project does not keep approvals of other users.
func (s *Service) touched(ctx context.Context, p *project.Project, r *gitcmd.Repo, m *mergerequest.MergeRequest, file *codeowner.File) (map[string][]ownerKey, error) {
	set, err := s.settingsAt(ctx, p.NamespaceID)
	if err != nil || !set.RetainOnPush.On || !set.SelectiveRemovals.On {
		return nil, err
	}
	approvals, err := s.approvalsOf(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	var out map[string][]ownerKey
	for _, a := range approvals {
		if a.HeadSHA == m.HeadSHA || a.HeadSHA == "" || out[a.HeadSHA] != nil {
			continue
		}
		keys := []ownerKey{}
		if file != nil {
			entries, err := entriesBetween(ctx, r, file, a.HeadSHA, m.HeadSHA)
			if errors.Is(err, codeowner.ErrTooLarge) {
				entries, err = file.Entries(), nil
			}
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				keys = append(keys, keyOf(e))
			}
		}
		if out == nil {
			out = map[string][]ownerKey{}
		}
		out[a.HeadSHA] = keys
	}
	return out, nil
}

// removeTouched removes approvals of owners of files that changed since them, and makes the
// others of those heads count for the new one. Rules have the owners.
func (s *Service) removeTouched(ctx context.Context, f mergerequest.Fact, touched map[string][]ownerKey, rules []*Rule) error {
	gone := map[string]map[authz.UserID]bool{}
	for head, keys := range touched {
		in := make(map[ownerKey]bool, len(keys))
		for _, k := range keys {
			in[k] = true
		}
		gone[head] = map[authz.UserID]bool{}
		for _, r := range rules {
			if in[ownerKey{r.Section, r.Name}] {
				for _, id := range r.Members {
					gone[head][id] = true
				}
			}
		}
	}
	if err := s.reset(ctx, f, func(a Approval) bool { return gone[a.HeadSHA][a.UserID] }); err != nil {
		return err
	}
	heads := make([]string, 0, len(touched))
	for head := range touched {
		heads = append(heads, head)
	}
	slices.Sort(heads)
	var w db.Where
	w.And("merge_request_id = ?", f.Row().ID)
	w.In("head_sha", heads)
	if _, err := s.DB.Exec(ctx, "UPDATE approvals SET head_sha = ?"+w.SQL(), append([]any{f.Row().HeadSHA}, w.Args()...)...); err != nil {
		return fmt.Errorf("keep approvals: %w", err)
	}
	return s.MergeRequests.Unblock(ctx, f.Row().ID)
}
