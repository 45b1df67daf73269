package quota

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Storing is what is about to be stored in a project or group.
type Storing struct {
	As        authz.Actor // nobody for an import
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
	text  string // of the refusal: after which %s bytes, over the limit of %s
}

// Reserve holds room for what is about to be stored: release it once it is recorded, or
// was given up. Where there is no room the error is TooLarge, with a text that names the
// limit. It asks for no permission.
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
	// It is held before what is there is added up: of two who store at a time, each counts
	// the other one.
	s.hold(bounds, in.Bytes)
	release = func() { s.hold(bounds, -in.Bytes) }
	for _, b := range bounds {
		stored, err := s.sum(ctx, b.query, b.args...)
		if err != nil {
			release()
			return none, err
		}
		s.mu.Lock()
		total := stored + s.held[b.key]
		s.mu.Unlock()
		if total > b.limit {
			release()
			return none, errs.New(errs.TooLarge, fmt.Sprintf(b.text, Bytes(total), Bytes(b.limit)))
		}
	}
	return release, nil
}

// mostBytes is far more than any limit, and can be added up.
const mostBytes = 1 << 50

// hold counts bytes in, or out where they are negative.
func (s *Service) hold(bounds []bound, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bounds {
		if s.held[b.key] += bytes; s.held[b.key] == 0 {
			delete(s.held, b.key)
		}
	}
}

// Texts of refusals. Each says what to do about it.
const (
	textRepository = "The repository and its large files would take %s, over the limit of %s (repository_size_limit). " +
		"Delete what is not needed, or ask an administrator to raise the limit."
	textPlace = "The attached and large files here would take %s, over the limit of %s (project_storage_limit). " +
		"Delete what is not needed, or ask an administrator to raise the limit."
	textUser = "Your attached and large files would take %s, over the limit of %s (user_storage_limit). " +
		"Delete what is not needed, or ask an administrator to raise the limit."
	textOutside = "Your attached and large files in projects of others would take %s, over the limit of %s (external_user_storage_limit). " +
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
				[]any{in.Project, in.Project}, textRepository,
			})
		}
	}
	if limit := int64(set.ProjectStorageLimit) << 20; limit > 0 {
		out = append(out, bound{
			fmt.Sprint("place ", in.Namespace), limit, "SELECT (" + sumUploads + ") + (" + sumLarge + ")", []any{in.Namespace, in.Project}, textPlace,
		})
	}
	if !in.As.SignedIn() {
		return out, nil
	}
	user := in.As.UserID
	if limit := int64(set.UserStorageLimit) << 20; limit > 0 {
		out = append(out, bound{fmt.Sprint("user ", user), limit, sumOfUser, []any{user, user}, textUser})
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
		out = append(out, bound{fmt.Sprint("external ", user), limit, sumElsewhere, []any{user, user, user, user}, textOutside})
	case level == authz.NoAccess:
		out = append(out, bound{fmt.Sprint("stranger ", user, " ", in.Namespace), limit, sumHere, []any{user, in.Namespace, user, in.Project}, textOutside})
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
