package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

const (
	// maxAddressed bounds the commits of a push whose authors and committers are settled at once.
	// Those of the others are when a merge request has them.
	maxAddressed = 100_000
	// shortLine is how many commits on top of the old one are listed without a look at other references.
	shortLine = 100
)

// pushedAddresses returns the folded addresses of authors and committers of the commits that
// branches and tags get. It comes before the references move. Where one commit is on top of
// the old one, and of what the server itself made, it reads the tips alone; otherwise the new
// commits of all references, with one process.
func (s *Service) pushedAddresses(ctx context.Context, r *gitcmd.Repo, p *project.Project, source Source, changes []RefChange) ([]string, error) {
	var ids, tips []gitstore.ObjectID
	for _, c := range changes {
		if c.Deleted() || !c.Ref.IsBranch() && !c.Ref.IsTag() {
			continue
		}
		if source == ByPush && len(changes) > shortLine {
			tips = append(tips, c.New)
			continue
		}
		tip, err := r.Peel(ctx, c.New)
		if err != nil {
			return nil, fmt.Errorf("read pushed commit: %w", err)
		}
		if tip.Kind != gitstore.KindCommit {
			continue
		}
		few, err := s.few(ctx, r, p, source, c, tip.ID)
		if err != nil {
			return nil, err
		}
		if ids = append(ids, few...); len(few) == 0 {
			tips = append(tips, tip.ID)
		}
	}
	more, err := newest(ctx, r, tips)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for chunk := range slices.Chunk(append(ids, more...), 500) {
		commits, err := r.Commits(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("read pushed commits: %w", err)
		}
		for _, c := range commits {
			out[db.Fold(c.Author.Email)], out[db.Fold(c.Committer.Email)] = true, true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(out)), noAddress), nil
}

// few returns the commits of a change where they are found without a look at other references,
// which takes a process, and none where they are not.
func (s *Service) few(ctx context.Context, r *gitcmd.Repo, p *project.Project, source Source, c RefChange, tip gitstore.ObjectID) ([]gitstore.ObjectID, error) {
	if source != ByPush {
		return []gitstore.ObjectID{tip}, nil
	}
	old := c.Old
	if old.IsZero() && p.DefaultBranch != nil {
		var err error
		if old, err = r.Branch(ctx, *p.DefaultBranch); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return nil, fmt.Errorf("read default branch: %w", err)
		}
	}
	commit, err := r.Commit(ctx, tip)
	if err != nil {
		return nil, fmt.Errorf("read pushed commit: %w", err)
	}
	if tip == old || len(commit.Parents) == 1 && commit.Parents[0] == old {
		return []gitstore.ObjectID{tip}, nil
	}
	if c.Created() || !c.Ref.IsBranch() {
		return nil, nil
	}
	line, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{tip}, Not: []gitstore.ObjectID{old}, Limit: shortLine})
	if err != nil {
		return nil, fmt.Errorf("list pushed commits: %w", err)
	}
	if len(line) == shortLine {
		return nil, nil
	}
	return slices.Clone(line), nil
}

// newest returns the commits that the tips bring, the last of them where they are too many.
func newest(ctx context.Context, r *gitcmd.Repo, tips []gitstore.ObjectID) ([]gitstore.ObjectID, error) {
	if len(tips) == 0 {
		return nil, nil
	}
	ids, err := r.NewCommits(ctx, tips)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return tips[:min(len(tips), maxAddressed)], nil
	}
	if err != nil {
		return nil, fmt.Errorf("list pushed commits: %w", err)
	}
	return ids[max(0, len(ids)-maxAddressed):], nil
}

// noAddress reports whether a text of a commit can be no address of a user.
func noAddress(text string) bool {
	return len(text) > 255 || !strings.Contains(text, "@") || !utf8.ValidString(text) || strings.Contains(text, "\x00")
}

// settleAddresses records in the caller's transaction which users have the addresses of commits
// that were just pushed, and which addresses no user has.
func (s *Service) settleAddresses(ctx context.Context, id project.ID, emails []string) error {
	if len(emails) == 0 {
		return nil
	}
	owners, err := s.Accounts.AddressOwners(ctx, emails)
	if err != nil {
		return err
	}
	type row struct {
		email string
		user  *authz.UserID
	}
	rows := make([]row, len(emails))
	for i, email := range emails {
		rows[i].email = email
		if user, ok := owners[email]; ok {
			rows[i].user = &user
		}
	}
	for chunk := range slices.Chunk(rows, 500) {
		args := make([]any, 0, 3*len(chunk))
		for _, r := range chunk {
			args = append(args, id, r.email, r.user)
		}
		if _, err := s.DB.Exec(ctx, "INSERT INTO address_owners (project_id, email_fold, user_id) VALUES "+
			strings.Repeat("(?, ?, ?), ", len(chunk)-1)+"(?, ?, ?) ON CONFLICT DO NOTHING", args...); err != nil {
			return fmt.Errorf("settle addresses: %w", err)
		}
	}
	return nil
}

// AddressOwners returns the users who had some folded addresses when commits with them were
// pushed to one of the projects, by id. Addresses that came in another way, as with an import,
// are settled now, in the last project. It asks for no permission.
func (s *Service) AddressOwners(ctx context.Context, projects []project.ID, emails []string) (map[string][]authz.UserID, error) {
	type row struct {
		Email  string        `db:"email_fold"`
		UserID *authz.UserID `db:"user_id"`
	}
	emails = slices.DeleteFunc(slices.Clone(emails), noAddress)
	out := map[string][]authz.UserID{}
	known := map[string]bool{}
	read := func(emails []string) error {
		for chunk := range slices.Chunk(emails, db.MaxArgs/2) {
			var w db.Where
			w.In("project_id", projects)
			w.In("email_fold", chunk)
			rows, err := db.Select[row](ctx, s.DB, "SELECT DISTINCT email_fold, user_id FROM address_owners"+w.SQL()+" ORDER BY email_fold, user_id", w.Args()...)
			if err != nil {
				return fmt.Errorf("read owners of addresses: %w", err)
			}
			for _, r := range rows {
				known[r.Email] = true
				if r.UserID != nil {
					out[r.Email] = append(out[r.Email], *r.UserID)
				}
			}
		}
		return nil
	}
	if err := read(emails); err != nil {
		return nil, err
	}
	var fresh []string
	for _, email := range emails {
		if !known[email] {
			fresh = append(fresh, email)
		}
	}
	if len(fresh) == 0 {
		return out, nil
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		return s.settleAddresses(ctx, projects[len(projects)-1], fresh)
	})
	if err != nil {
		return nil, err
	}
	return out, read(fresh)
}
