package quota

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Storing is what is about to be stored in a project or group.
type Storing struct {
	As        authz.Actor // whose limits count as well; the zero value if the user is gone
	Subject   authz.Subject
	Namespace authz.NamespaceID // of the place
	Project   project.ID        // zero for a group
	Large     bool              // it is for Git LFS, and counts as part of the repository
	Bytes     int64
}

// bound is one limit and what counts against it.
type bound struct {
	key   string // of what is held
	limit int64
	query string
	args  []any
	text  string // of the refusal: %[1]s is what would be stored, %[2]s the limit
}

// Reserve holds room for what is about to be stored: release it once it is recorded, or
// was given up. Without room the error is TooLarge, with a text that names the limit. It
// asks for no permission.
func (s *Service) Reserve(ctx context.Context, in Storing) (release func(), err error) {
	none := func() {}
	if s == nil || in.Bytes <= 0 {
		return none, nil
	}
	in.Bytes = min(in.Bytes, mostBytes)
	bounds, err := s.bounds(ctx, in)
	if err != nil || len(bounds) == 0 {
		return none, err
	}
	// The locks are taken in the order of bounds, which is the same for every caller.
	accounts := make([]*account, 0, len(bounds))
	defer func() {
		for i, a := range accounts {
			s.leave(bounds[i].key, a)
		}
	}()
	for _, b := range bounds {
		a, err := s.enter(ctx, b.key)
		if err != nil {
			return none, err
		}
		accounts = append(accounts, a)
	}
	for i, b := range bounds {
		if err := s.check(ctx, b, accounts[i], in.Bytes); err != nil {
			return none, err
		}
	}
	s.hold(bounds, in.Bytes)
	return func() { s.hold(bounds, -in.Bytes) }, nil
}

// check returns TooLarge if a limit has no room for more bytes. The caller holds the
// account's lock: of two that together exceed the limit, the first gets the room.
func (s *Service) check(ctx context.Context, b bound, a *account, more int64) error {
	for {
		// What is held is read first: what is recorded meanwhile counts twice rather than
		// not at all, and a refusal for that reason is checked again.
		s.mu.Lock()
		held, released := a.held, a.released
		s.mu.Unlock()
		stored, err := s.sum(ctx, b.query, b.args...)
		if err != nil {
			return err
		}
		total := stored + held + more
		if total <= b.limit {
			return nil
		}
		s.mu.Lock()
		again := a.released != released
		s.mu.Unlock()
		if !again {
			return errs.New(errs.TooLarge, fmt.Sprintf(b.text, Bytes(total), Bytes(b.limit)))
		}
	}
}

// mostBytes is far more than any limit, and can be added up.
const mostBytes = 1 << 50

// account is what is being stored against one limit.
type account struct {
	checking *semaphore.Weighted // of one, held while a caller looks for room
	users    int                 // callers that look for room or hold some
	held     int64               // bytes
	released int                 // how often room was released
}

// enter locks the account of a limit until leave. It waits no longer than ctx.
func (s *Service) enter(ctx context.Context, key string) (*account, error) {
	s.mu.Lock()
	a := s.accounts[key]
	if a == nil {
		a = &account{checking: semaphore.NewWeighted(1)}
		s.accounts[key] = a
	}
	a.users++
	s.mu.Unlock()
	if err := a.checking.Acquire(ctx, 1); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(key, a)
		return nil, fmt.Errorf("wait for room: %w", err)
	}
	return a, nil
}

func (s *Service) leave(key string, a *account) {
	a.checking.Release(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key, a)
}

// drop forgets an account without users. The caller holds s.mu.
func (s *Service) drop(key string, a *account) {
	if a.users--; a.users == 0 {
		delete(s.accounts, key)
	}
}

// hold counts bytes in, or out if they are negative.
func (s *Service) hold(bounds []bound, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bounds {
		a := s.accounts[b.key]
		a.held += bytes
		if bytes > 0 {
			a.users++
			continue
		}
		a.released++
		s.drop(b.key, a)
	}
}

// Texts of refusals. Each says what to do about it.
const (
	textRepository = "The repository and its large files would take %[1]s, over the limit of %[2]s (repository_size_limit). " +
		"Delete what is not needed, or ask an administrator to raise the limit."
	// Those who upload may not see the statistics of the place, so that the text says the limit only.
	textPlace = "The attached and large files and packages here would take more than the limit of %[2]s (project_storage_limit). " +
		"Delete what is not needed, or ask an administrator to raise the limit."
	textUser = "Your attached and large files and packages would take %[1]s, over the limit of %[2]s (user_storage_limit). " +
		"Delete what is not needed, or ask an administrator to raise the limit."
	textOutside = "Your attached and large files and packages in projects of others would take %[1]s, over the limit of %[2]s (external_user_storage_limit). " +
		"Delete what is not needed, or ask a member to store them, or an administrator to raise the limit."
)

// bounds lists the limits that are on.
func (s *Service) bounds(ctx context.Context, in Storing) ([]bound, error) {
	set := s.Settings.Current()
	var out []bound
	if in.Large && in.Project != 0 {
		limit, err := s.RepositoryLimit(ctx, in.Project)
		if err != nil {
			return nil, err
		}
		if limit > 0 {
			out = append(out, bound{
				fmt.Sprint("repository ", in.Project), limit,
				"SELECT COALESCE((SELECT repository_size FROM project_measures WHERE project_id = ?), 0) + (" + sumLarge + ")",
				[]any{in.Project, in.Project},
				textRepository,
			})
		}
	}
	if limit := int64(set.ProjectStorageLimit) << 20; limit > 0 {
		out = append(out, bound{
			fmt.Sprint("place ", in.Namespace), limit, "SELECT (" + sumUploads + ") + (" + sumLarge + ") + (" + sumPackages + ")", []any{in.Namespace, in.Project, in.Project}, textPlace,
		})
	}
	if !in.As.SignedIn() {
		return out, nil
	}
	user := in.As.UserID
	if limit := int64(set.UserStorageLimit) << 20; limit > 0 {
		out = append(out, bound{fmt.Sprint("user ", user), limit, sumOfUser, []any{user, user, user}, textUser})
	}
	limit := int64(set.ExternalUserStorageLimit) << 20
	if limit == 0 || in.As.Admin {
		return out, nil
	}
	level, err := s.Policy.Level(ctx, in.As, in.Subject)
	if err != nil {
		return nil, fmt.Errorf("read access: %w", err)
	}
	switch {
	case in.As.External:
		own, err := s.own(ctx, in)
		if err != nil || own {
			return out, err
		}
		out = append(out, bound{fmt.Sprint("external ", user), limit, sumElsewhere, []any{user, user, user, user, user, user}, textOutside})
	case level == authz.NoAccess:
		out = append(out, bound{fmt.Sprint("stranger ", user, " ", in.Namespace), limit, sumHere, []any{user, in.Namespace, user, in.Project, user, in.Project}, textOutside})
	}
	return out, nil
}

// own reports whether the place is in the user's own namespace.
func (s *Service) own(ctx context.Context, in Storing) (bool, error) {
	own, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM projects p JOIN users u ON u.namespace_id = p.parent_id
		WHERE p.id = ? AND u.id = ?)`, in.Project, in.As.UserID)
	if err != nil {
		return false, fmt.Errorf("whose is the project: %w", err)
	}
	return own, nil
}
