package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// objects is the prefix of the keys of package files.
const objects = "package"

// digestLength is how many digits a SHA-256 has.
const digestLength = 64

// key is that of the object of a file with a digest, unless the sweep was deleting that object when the file came.
func key(sha256 string) string { return objects + "/" + sha256[:2] + "/" + sha256 }

// key is that of the object of the file.
func (f *File) key() string { return cmp.Or(f.Object, key(f.SHA256)) }

// claim is a row that says that an object is written, or deleted, while no file names it.
type claim struct {
	ID        int64   `db:"id"`
	Object    string  `db:"object"` // key
	Purpose   purpose `db:"purpose"`
	CreatedAt db.Time `db:"created_at"`
}

// purpose is what an object is claimed for.
type purpose string

const (
	toUpload purpose = "upload"
	toSweep  purpose = "sweep"
)

const (
	unnamedFor   = 24 * time.Hour // an object that no file names is kept; a claim to upload holds as long
	sweepFor     = time.Hour      // the sweep runs at most
	abandonedFor = 2 * sweepFor   // after which a claim to sweep is that of a server that stopped
)

// errUnclaimed ends an upload whose claim was swept: its object may have been deleted.
var errUnclaimed = errors.New("the upload took too long: its object is not claimed any more")

// lockObject makes those who claim and name the objects of a digest follow one another, until their transactions end.
func (s *Service) lockObject(ctx context.Context, sha256 string) error {
	return s.DB.Lock(ctx, "package object "+sha256)
}

// claim claims the key of an object that is about to be written, in a transaction of its own. The sweep leaves an object that is claimed; where it
// deletes the one of the digest just now, the new object has another key.
func (s *Service) claim(ctx context.Context, sha256 string) (*claim, error) {
	c := &claim{Purpose: toUpload, CreatedAt: db.At(s.Now())}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.lockObject(ctx, sha256); err != nil {
			return err
		}
		c.Object = key(sha256)
		swept, err := s.claimed(ctx, c.Object, toSweep)
		if err != nil {
			return err
		}
		if swept {
			c.Object += "-" + blob.Random()
		}
		return db.Create(ctx, s.DB, "package_object_claims", c)
	})
	return c, errs.Wrap(err, "claim object")
}

// claimed reports whether an object is claimed for a purpose.
func (s *Service) claimed(ctx context.Context, object string, why purpose) (bool, error) {
	there, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM package_object_claims WHERE object = ? AND purpose = ?)", object, why)
	return there, errs.Wrap(err, "look for claims of object")
}

// release deletes a claim, and reports whether it was there.
func (s *Service) release(ctx context.Context, c *claim) (bool, error) {
	there, err := db.Drop(ctx, s.DB, db.Row{Table: "package_object_claims", ID: c.ID})
	return there, errs.Wrap(err, "release object")
}

// sweepObjects deletes objects that no file names. Servers that share a database may sweep at the same time, and take uploads meanwhile.
func (s *Service) sweepObjects(ctx context.Context) error {
	now := s.Now()
	_, err := s.DB.Exec(ctx, "DELETE FROM package_object_claims WHERE purpose = ? AND created_at < ?", toUpload, db.At(now.Add(-unnamedFor)))
	if err != nil {
		return fmt.Errorf("delete claims of uploads: %w", err)
	}
	if err := s.sweepAbandoned(ctx); err != nil {
		return err
	}
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{
		Prefix: objects, Before: now.Add(-unnamedFor), Named: s.named,
		Remove: func(ctx context.Context, object string) error {
			c, err := s.condemn(ctx, object)
			if err != nil || c == nil {
				return err
			}
			return s.deleteClaimed(ctx, c)
		},
	})
}

// sweepAbandoned deletes the objects that an earlier sweep claimed, and did not come to delete.
func (s *Service) sweepAbandoned(ctx context.Context) error {
	for {
		old, err := db.Select[claim](ctx, s.DB, "SELECT "+db.Columns[claim]("c")+" FROM package_object_claims c WHERE c.purpose = ? AND c.created_at < ? ORDER BY c.id LIMIT ?",
			toSweep, db.At(s.Now().Add(-abandonedFor)), destroyBatch)
		if err != nil {
			return fmt.Errorf("look for abandoned claims: %w", err)
		}
		for i := range old {
			if err := s.deleteClaimed(ctx, &old[i]); err != nil {
				return err
			}
		}
		if len(old) < destroyBatch {
			return nil
		}
	}
}

// condemn claims an object for the sweep; nil where a file names it, or a server has claimed it. From then on no file may name it.
func (s *Service) condemn(ctx context.Context, object string) (*claim, error) {
	var out *claim
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		out = nil
		if err := s.lockObject(ctx, digestIn(object)); err != nil {
			return err
		}
		// In this order: an upload writes the row of its file in the transaction that releases its claim.
		claimed, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM package_object_claims WHERE object = ?)", object)
		if err != nil || claimed {
			return errs.Wrap(err, "look for claims of object")
		}
		named, err := s.named(ctx, []string{object})
		if err != nil || len(named) > 0 {
			return err
		}
		out = &claim{Object: object, Purpose: toSweep, CreatedAt: db.At(s.Now())}
		return db.Create(ctx, s.DB, "package_object_claims", out)
	})
	return out, errs.Wrap(err, "claim object to delete it")
}

// deleteClaimed deletes an object that the sweep has claimed. Where that fails, a later sweep deletes it.
func (s *Service) deleteClaimed(ctx context.Context, c *claim) error {
	if err := s.Objects.Delete(ctx, c.Object); err != nil {
		return err
	}
	_, err := s.release(ctx, c)
	return err
}

// digestIn is the digest in the key of an object.
func digestIn(object string) string {
	base := path.Base(object)
	return base[:min(digestLength, len(base))]
}

// named returns those of the keys that files name.
func (s *Service) named(ctx context.Context, keys []string) ([]string, error) {
	sums := make([]string, len(keys))
	for i, at := range keys {
		sums[i] = digestIn(at)
	}
	var w db.Where
	w.In("f.sha256", sums)
	found, err := db.Select[File](ctx, s.DB, "SELECT DISTINCT f.sha256, f.object FROM package_files f"+w.SQL()+" ORDER BY f.sha256, f.object", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("look for package files: %w", err)
	}
	var out []string
	for i := range found {
		if at := found[i].key(); slices.Contains(keys, at) { // the digest may have an object of another key
			out = append(out, at)
		}
	}
	return out, nil
}
