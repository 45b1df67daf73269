package namespace

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// MaxDepth is how many ancestors a group may have.
const MaxDepth = 20

// What Plant and Rename refuse.
var (
	ErrTaken     = errors.New("path is taken")
	ErrNameTaken = errors.New("name is taken by a sibling")
)

// Entry is a new place in the tree.
type Entry struct {
	Kind       Kind
	Parent     *ID // nil at the top level
	Path, Name string
	Visibility authz.Visibility
	At         time.Time // of its creation, now where zero
}

type namespaceRow struct {
	ID         ID               `db:"id"`
	Kind       Kind             `db:"kind"`
	ParentID   *ID              `db:"parent_id"`
	Path       string           `db:"path"`
	Name       string           `db:"name"`
	NameFold   string           `db:"name_fold"`
	Visibility authz.Visibility `db:"visibility"`
	CreatedAt  db.Time          `db:"created_at"`
	UpdatedAt  db.Time          `db:"updated_at"`
}

// Plant adds a place to the tree: its row, its ancestors and its route. A redirect
// that stood at its path ends. ErrTaken or ErrNameTaken where that is held already. It
// belongs into the transaction that makes what stands there and validates nothing.
func (s *Service) Plant(ctx context.Context, e Entry) (ID, error) {
	var id ID
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if e.Parent != nil { // no user renames the parent between here and the commit
			if _, err := db.Select[ID](ctx, s.DB, "SELECT id FROM namespaces WHERE id = ?"+s.DB.Dialect().ForUpdate(), *e.Parent); err != nil {
				return err
			}
		}
		now := db.At(e.At)
		if e.At.IsZero() {
			now = db.At(s.Now())
		}
		row := namespaceRow{0, e.Kind, e.Parent, e.Path, e.Name, db.Fold(e.Name), e.Visibility, now, now}
		err := db.Create(ctx, s.DB, "namespaces", &row)
		if err != nil {
			return taken(err, ErrNameTaken)
		}
		id = row.ID
		if _, err := db.InsertRow(ctx, s.DB, "namespace_ancestors", db.Values{"namespace_id": id, "ancestor_id": id, "depth": 0}, ""); err != nil {
			return err
		}
		if e.Parent == nil {
			_, err = db.InsertRow(ctx, s.DB, "routes", db.Values{"namespace_id": id, "path": e.Path, "path_fold": db.Fold(e.Path), "name": e.Name}, "")
		} else {
			_, err = s.DB.Exec(ctx, `INSERT INTO namespace_ancestors (namespace_id, ancestor_id, depth)
				SELECT CAST(? AS BIGINT), ancestor_id, depth + 1 FROM namespace_ancestors WHERE namespace_id = ?`, id, *e.Parent)
			if err != nil {
				return err
			}
			_, err = s.DB.Exec(ctx, `INSERT INTO routes (namespace_id, path, path_fold, name)
				SELECT CAST(? AS BIGINT), path || '/' || CAST(? AS TEXT), path_fold || '/' || CAST(? AS TEXT), name || ' / ' || CAST(? AS TEXT)
				FROM routes WHERE namespace_id = ?`, id, e.Path, db.Fold(e.Path), e.Name, *e.Parent)
		}
		if err != nil {
			return taken(err, ErrTaken)
		}
		_, err = s.DB.Exec(ctx, "DELETE FROM redirect_routes WHERE path_fold IN (SELECT path_fold FROM routes WHERE namespace_id = ?)", id)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("plant %s: %w", e.Kind, err)
	}
	return id, nil
}

type place struct {
	Path     string  `db:"path"`
	Name     string  `db:"name"`
	Above    *string `db:"above"`
	AboveTag *string `db:"above_name"`
}

// Rename gives a place another path and name, with everything below it. The old paths
// redirect until something else takes them. It validates nothing; ErrTaken or
// ErrNameTaken where that is held already.
func (s *Service) Rename(ctx context.Context, id ID, path, name string) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		// No user adds anything below between here and the commit.
		_, err := db.Select[ID](ctx, s.DB, `SELECT id FROM namespaces WHERE id IN
			(SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?) ORDER BY id`+s.DB.Dialect().ForUpdate(), id)
		if err != nil {
			return err
		}
		now := db.At(s.Now())
		old, err := db.Get[place](ctx, s.DB, `SELECT r.path, r.name, a.path AS above, a.name AS above_name
			FROM routes r JOIN namespaces n ON n.id = r.namespace_id LEFT JOIN routes a ON a.namespace_id = n.parent_id
			WHERE r.namespace_id = ?`, id)
		if err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, "UPDATE namespaces SET path = ?, name = ?, name_fold = ?, updated_at = ? WHERE id = ?",
			path, name, db.Fold(name), now, id); err != nil {
			return taken(err, ErrNameTaken)
		}
		fullPath, fullName := path, name
		if old.Above != nil {
			fullPath, fullName = *old.Above+"/"+path, *old.AboveTag+" / "+name
		}
		return s.reroute(ctx, id, old, fullPath, fullName)
	})
	if err != nil {
		return fmt.Errorf("rename namespace: %w", err)
	}
	return nil
}

// reroute gives a place and everything below it their new paths and leaves redirects
// at the old ones.
func (s *Service) reroute(ctx context.Context, id ID, old place, fullPath, fullName string) error {
	if fullPath == old.Path && fullName == old.Name {
		return nil
	}
	if db.Fold(fullPath) != db.Fold(old.Path) {
		_, err := s.DB.Exec(ctx, `INSERT INTO redirect_routes (path_fold, namespace_id, created_at)
			SELECT r.path_fold, r.namespace_id, n.updated_at FROM namespaces n
			JOIN namespace_ancestors a ON a.ancestor_id = n.id JOIN routes r ON r.namespace_id = a.namespace_id
			WHERE n.id = ?
			ON CONFLICT (path_fold) DO UPDATE SET namespace_id = excluded.namespace_id, created_at = excluded.created_at`, id)
		if err != nil {
			return err
		}
	}
	_, err := s.DB.Exec(ctx, `UPDATE routes SET
			path = CAST(? AS TEXT) || substr(path, CAST(? AS INTEGER)),
			path_fold = CAST(? AS TEXT) || substr(path_fold, CAST(? AS INTEGER)),
			name = CAST(? AS TEXT) || substr(name, CAST(? AS INTEGER))
		WHERE namespace_id IN (SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)`,
		fullPath, len(old.Path)+1, db.Fold(fullPath), len(db.Fold(old.Path))+1,
		fullName, utf8.RuneCountInString(old.Name)+1, id)
	if err != nil {
		return taken(err, ErrTaken)
	}
	_, err = s.DB.Exec(ctx, `DELETE FROM redirect_routes WHERE path_fold IN (SELECT r.path_fold FROM routes r
		JOIN namespace_ancestors a ON a.namespace_id = r.namespace_id WHERE a.ancestor_id = ?)`, id)
	return err
}

// Show gives a place another visibility. It validates nothing.
func (s *Service) Show(ctx context.Context, id ID, v authz.Visibility) error {
	if _, err := s.DB.Exec(ctx, "UPDATE namespaces SET visibility = ?, updated_at = ? WHERE id = ?", v, db.At(s.Now()), id); err != nil {
		return fmt.Errorf("change visibility: %w", err)
	}
	return nil
}

// touch stamps a place whose own row is as it was.
func (s *Service) touch(ctx context.Context, id ID) error {
	if _, err := s.DB.Exec(ctx, "UPDATE namespaces SET updated_at = ? WHERE id = ?", db.At(s.Now()), id); err != nil {
		return fmt.Errorf("touch namespace: %w", err)
	}
	return nil
}

// Uproot removes a place that has nothing below it, with its members, shares, route
// and redirects.
func (s *Service) Uproot(ctx context.Context, id ID) error {
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "namespaces", ID: id}); err != nil {
		return fmt.Errorf("remove namespace: %w", err)
	}
	return nil
}

// CreatePersonal adds the namespace of a new user at the top level, with the user as
// its owner. ErrTaken where a user or group has the path. It runs in the caller's
// transaction, in which the user's row exists already.
func (s *Service) CreatePersonal(ctx context.Context, user authz.UserID, path, name string) (ID, error) {
	var id ID
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if id, err = s.Plant(ctx, Entry{Kind: UserKind, Path: path, Name: name, Visibility: authz.Public}); err != nil {
			return err
		}
		now := db.At(s.Now())
		return db.Create(ctx, s.DB, "members", &Member{NamespaceID: id, UserID: user, Level: authz.Owner, CreatedAt: now, UpdatedAt: now})
	})
	if err != nil {
		return 0, fmt.Errorf("create personal namespace: %w", err)
	}
	return id, nil
}

// taken turns a violated unique index into what it means.
func taken(err, meaning error) error {
	if errors.Is(err, db.ErrDuplicate) {
		return fmt.Errorf("%w: %w", meaning, err)
	}
	return err
}
