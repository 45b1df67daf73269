package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// UpdateRefs moves all references in one transaction or none of them. ErrRefMoved says
// that one did not hold its old value or is being moved by another process,
// ErrRefConflict that a name cannot stand beside another one. git update-ref runs only
// for what gitstore does not do itself.
func (r *Repo) UpdateRefs(ctx context.Context, updates []gitstore.RefUpdate) error {
	if err := r.Repo.UpdateRefs(ctx, updates, stored{r.main()}); !errors.Is(err, gitstore.ErrUnsure) {
		return err
	}
	return r.updateRefs(ctx, updates)
}

// stored tells gitstore which objects the repository has.
type stored struct{ repo *Repo }

// Kind returns the kind of an object.
func (s stored) Kind(ctx context.Context, id gitstore.ObjectID) (gitstore.Kind, error) {
	if s.repo.isKnownCommit(id) {
		return gitstore.KindCommit, nil
	}
	info, err := s.repo.Info(ctx, id)
	return info.Kind, err
}

// Peeled follows annotated tags in one process.
func (s stored) Peeled(ctx context.Context, ids []gitstore.ObjectID) (map[gitstore.ObjectID]gitstore.Info, error) {
	found := make(map[gitstore.ObjectID]gitstore.Info, len(ids))
	var ask []gitstore.ObjectID
	for _, id := range ids {
		if s.repo.isKnownCommit(id) {
			found[id] = gitstore.Info{ID: id, Kind: gitstore.KindCommit}
		} else {
			ask = append(ask, id)
		}
	}
	if len(ask) == 0 {
		return found, nil
	}
	return found, s.repo.peelMany(ctx, ask, found)
}

// isKnownCommit reports whether the cache has the object as a commit.
func (r *Repo) isKnownCommit(id gitstore.ObjectID) bool {
	_, known := lru.Get[*gitstore.Commit](r.git.objects, objectKey{r.Path(), 'c', id})
	return known
}

// peelMany follows annotated tags to what they name in one process and adds that to found;
// objects that are missing are left out.
func (r *Repo) peelMany(ctx context.Context, ids []gitstore.ObjectID, found map[gitstore.ObjectID]gitstore.Info) error {
	var in strings.Builder
	for _, id := range ids {
		in.WriteString(id.String() + "^{}\n")
	}
	const line = 64 // bytes of an answer, and some
	out, err := r.git.output(ctx, call{
		repo: r, args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, stdin: strings.NewReader(in.String()), load: long,
	}, line*len(ids)+line)
	if err != nil {
		return err
	}
	n := 0
	for text := range strings.Lines(string(out)) {
		name, kind, _ := strings.Cut(strings.TrimSpace(text), " ")
		if n == len(ids) {
			return fmt.Errorf("git cat-file answered too much: %w", gitstore.ErrMalformed)
		}
		if id, err := gitstore.ParseObjectID(name); err == nil {
			found[ids[n]] = gitstore.Info{ID: id, Kind: gitstore.Kind(kind)}
		}
		n++
	}
	if n != len(ids) {
		return fmt.Errorf("git cat-file answered too little: %w", gitstore.ErrMalformed)
	}
	return nil
}

// updateRefs has git update-ref do it.
func (r *Repo) updateRefs(ctx context.Context, updates []gitstore.RefUpdate) error {
	var in strings.Builder
	in.WriteString("start\n")
	for _, u := range updates {
		switch {
		case u.AnyOld && u.New.IsZero():
			fmt.Fprintf(&in, "delete %s\n", u.Ref)
		case u.New.IsZero():
			fmt.Fprintf(&in, "delete %s %s\n", u.Ref, u.Old)
		case u.AnyOld:
			fmt.Fprintf(&in, "update %s %s\n", u.Ref, u.New)
		default:
			fmt.Fprintf(&in, "update %s %s %s\n", u.Ref, u.New, u.Old)
		}
	}
	in.WriteString("prepare\n")
	// References never move towards objects that only a quarantine holds.
	err := r.updateRef(ctx, in.String())
	for tries := 0; errors.Is(err, errNoFolder) && tries < 3; tries++ {
		err = r.updateRef(ctx, in.String())
	}
	if errors.Is(err, errLocked) && r.DropTransactionLocks(updates) {
		err = r.updateRef(ctx, in.String())
	}
	return err
}

func (r *Repo) updateRef(ctx context.Context, commands string) error {
	return refError(r.git.run(ctx, call{
		repo: r.main(), args: []string{"update-ref", "--no-deref", "--stdin"}, stdin: strings.NewReader(commands + "commit\n"),
	}))
}

// errLocked is beside ErrRefMoved where another process holds a reference, or held it
// when it was killed.
var errLocked = errors.New("reference is locked")

// errNoFolder is where git lost the race for the folder of a new file with a process that removes
// folders which it left empty: the next try finds them as they are then.
var errNoFolder = errors.New("the folder of a reference went away")

// refError types what git says about a refused transaction.
func refError(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Code != 128 {
		return err
	}
	for _, m := range []struct {
		text string
		is   error
	}{
		{"but expected", gitstore.ErrRefMoved},
		{"reference already exists", gitstore.ErrRefMoved},
		{"unable to resolve reference", gitstore.ErrRefMoved},
		{"reference is missing but expected", gitstore.ErrRefMoved},
		{".lock': File exists", errors.Join(gitstore.ErrRefMoved, errLocked)},
		{"packed-refs.new: File exists", errors.Join(gitstore.ErrRefMoved, errLocked)},
		{"unable to create directory", errNoFolder},
		{"exists; cannot create", gitstore.ErrRefConflict},
		{"there is a non-empty directory", gitstore.ErrRefConflict},
		{"cannot process", gitstore.ErrRefConflict},
		{"couldn't set", gitstore.ErrRefConflict}, // another process created a reference below this name at the same time
		{"nonexistent object", gitstore.ErrNotFound},
		{"multiple updates for", gitstore.ErrBadName},
		{"non-commit object", gitstore.ErrWrongKind},
	} {
		if strings.Contains(e.Stderr, m.text) {
			return fmt.Errorf("move references: %w: %w", m.is, err)
		}
	}
	return err
}
