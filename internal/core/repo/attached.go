package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/intx"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// AttachedID identifies a repository that is not a project's own, by random hexadecimal digits.
// No id is ever used again, also where an older database is restored.
type AttachedID string

// AttachedKind says what a repository is attached to.
type AttachedKind string

// The kinds.
const (
	OfWiki    AttachedKind = "wiki"
	OfSnippet AttachedKind = "snippet"

	gone AttachedKind = "gone" // its wiki or snippet was deleted: it is to be removed
)

// Attached is the repository of a wiki or snippet.
type Attached struct {
	ID       AttachedID
	Branch   string // the default branch, which HEAD of a new repository names
	MaxBytes int64  // that one push may bring; 0 is any number
	Owner    Owner
}

// Access is what Owner.Require is asked for.
type Access int

// The two kinds of access.
const (
	Fetching Access = iota
	Pushing
)

// Owner is the wiki or snippet that a repository is attached to.
type Owner interface {
	// Require asks whether the actor may fetch or push now: NotFound where it may not know of
	// the thing, Forbidden with a text for the person otherwise.
	Require(ctx context.Context, as authz.Actor, access Access) error
	// Judge looks at the changes of a push or commit, whose objects are read through r. A
	// refusal is made by Refuse.
	Judge(ctx context.Context, as authz.Actor, r *gitcmd.Repo, changes []RefChange) error
	// Record calls move, which moves the references, and brings the rows of the thing up to
	// what the repository holds then, also where the process is killed in between.
	Record(ctx context.Context, as authz.Actor, move func(context.Context) error) error
}

// Refuse makes the refusal of a reference that may not move, "" for the whole push, with the
// text for the person who pushes.
func Refuse(ref gitstore.RefName, text string) error { return refuse(ref, text) }

const attachedFolder = "@attached"

// attachedPath returns the place of a repository below the root of repositories. It depends on
// no owner, so that renames and transfers move nothing.
func attachedPath(id AttachedID) string {
	return filepath.Join(attachedFolder, string(id[:2]), string(id[2:4]), string(id)+".git")
}

// NewAttached registers a repository in the caller's transaction. One that gets no wiki or
// snippet within an hour is removed. It asks for no permission.
func (s *Service) NewAttached(ctx context.Context, kind AttachedKind) (AttachedID, error) {
	type row struct {
		ID        AttachedID   `db:"name"`
		Kind      AttachedKind `db:"kind"`
		Size      int64        `db:"size"`
		CreatedAt db.Time      `db:"created_at"`
	}
	id := AttachedID(blob.Random())
	if _, err := db.InsertRow(ctx, s.DB, "attached_repositories", row{ID: id, Kind: kind, CreatedAt: db.At(s.Now())}, ""); err != nil {
		return "", fmt.Errorf("register repository: %w", err)
	}
	return id, nil
}

// DropAttached has a repository removed once the caller's transaction, in which its wiki or
// snippet is deleted, has ended. It asks for no permission.
func (s *Service) DropAttached(ctx context.Context, ids ...AttachedID) error {
	if len(ids) == 0 {
		return nil
	}
	marks, args := db.Marks(ids)
	if _, err := s.DB.Exec(ctx, "UPDATE attached_repositories SET kind = ? WHERE name IN ("+marks+")", append([]any{gone}, args...)...); err != nil {
		return fmt.Errorf("drop repositories: %w", err)
	}
	return s.Jobs.Enqueue(ctx, AttachedSweep{})
}

// OpenAttached returns the repository, which is made if it is not there. It asks for no
// permission.
func (s *Service) OpenAttached(ctx context.Context, a *Attached) (*gitcmd.Repo, error) {
	intx.MustNot(ctx, "a repository is opened")
	r := s.Git.Repo(attachedPath(a.ID))
	if _, ok := s.made.Load(a.ID); ok {
		return r, nil
	}
	if !r.Exists() {
		if err := r.Init(ctx, a.Branch); err != nil && !errors.Is(err, gitstore.ErrExists) {
			return nil, fmt.Errorf("make repository: %w", err)
		}
	}
	s.made.Store(a.ID, struct{}{})
	return r, nil
}

// AttachedInput describes a commit on a branch of a wiki or snippet.
type AttachedInput struct {
	Branch  string // "" is the default branch, where a branch begins that is not there
	Message string
	Actions []Action
}

// CommitAttached makes one commit of all actions. It asks Owner.Judge, and not for the
// permission to push. A commit that changes nothing is not made: it returns nil.
func (s *Service) CommitAttached(ctx context.Context, as authz.Actor, a *Attached, in AttachedInput) (*gitstore.Commit, error) {
	for i := range in.Actions {
		if err := in.Actions[i].validate(); err != nil {
			return nil, err
		}
	}
	r, err := s.OpenAttached(ctx, a)
	if err != nil {
		return nil, err
	}
	defer s.writing.lock(a.ID)()
	for try := 0; ; try++ {
		c, err := s.commitAttached(ctx, as, a, r, in)
		if errors.Is(err, ErrMoved) && try < 3 {
			continue
		}
		return c, err
	}
}

func (s *Service) commitAttached(ctx context.Context, as authz.Actor, a *Attached, r *gitcmd.Repo, in AttachedInput) (*gitstore.Commit, error) {
	ref, err := gitstore.BranchRef(cmp.Or(in.Branch, a.Branch))
	if err != nil {
		return nil, errs.Plain("Branch name is invalid")
	}
	old, err := r.Ref(ctx, ref)
	parent := old
	if errors.Is(err, gitstore.ErrNotFound) {
		parent, err = r.Branch(ctx, a.Branch)
	}
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, fmt.Errorf("read branch: %w", err)
	}
	quarantine, err := r.Quarantine(ctx)
	if err != nil {
		return nil, fmt.Errorf("open quarantine: %w", err)
	}
	defer func() { _ = quarantine.Discard() }()
	id, err := s.writeCommit(ctx, as, quarantine, parent, &CommitInput{Message: in.Message, Actions: in.Actions})
	if err != nil {
		return nil, err
	}
	done, err := quarantine.Repo.Commit(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	if !old.IsZero() {
		before, err := r.Commit(ctx, parent)
		if err != nil {
			return nil, fmt.Errorf("read commit: %w", err)
		}
		if before.Tree == done.Tree {
			return nil, nil
		}
	}
	changes := []RefChange{{Ref: ref, Old: old, New: id}}
	if err := a.Owner.Judge(ctx, as, quarantine.Repo, changes); err != nil {
		return nil, plainRefusal(err)
	}
	if err := quarantine.Commit(ctx); err != nil {
		return nil, fmt.Errorf("keep objects: %w", err)
	}
	return done, s.moveAttached(ctx, as, a, r, changes)
}

// moveAttached moves references of a wiki or snippet. s.writing is held.
func (s *Service) moveAttached(ctx context.Context, as authz.Actor, a *Attached, r *gitcmd.Repo, changes []RefChange) error {
	updates := make([]gitstore.RefUpdate, len(changes))
	for i, c := range changes {
		updates[i] = c.update()
	}
	ctx = context.WithoutCancel(ctx) // a caller that goes away stops nothing half-way
	err := a.Owner.Record(ctx, as, func(ctx context.Context) error {
		err := r.UpdateRefs(ctx, updates)
		if errors.Is(err, gitstore.ErrRefMoved) {
			return &errs.Error{Kind: errs.Conflict, Message: "The reference was changed meanwhile. Please try again.", Err: errors.Join(ErrMoved, err)}
		}
		if err != nil {
			return fmt.Errorf("move references: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.afterAttached(ctx, a.ID, r); err != nil {
		s.Log.Error("measure a repository", "attached_id", a.ID, "error", err)
	}
	return nil
}

// afterAttached measures a repository that has changed, and has it tidied where it is due.
func (s *Service) afterAttached(ctx context.Context, id AttachedID, r *gitcmd.Repo) error {
	if err := s.measureAttached(ctx, id, r); err != nil {
		return err
	}
	set := s.Settings.Current()
	if !set.HousekeepingEnabled || !s.changes.next(id, set.HousekeepingOptimizeRepositoryPeriod) {
		return nil
	}
	return s.Jobs.Enqueue(ctx, Housekeeping{AttachedID: id})
}

func (s *Service) measureAttached(ctx context.Context, id AttachedID, r *gitcmd.Repo) error {
	bytes, err := r.Size(ctx)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	if _, err := s.DB.Exec(ctx, "UPDATE attached_repositories SET size = ? WHERE name = ?", bytes, id); err != nil {
		return fmt.Errorf("record size: %w", err)
	}
	return nil
}

// AttachedSweep is the job that removes repositories whose wiki or snippet is gone.
type AttachedSweep struct{}

// Kind names the job.
func (AttachedSweep) Kind() string { return "attached_sweep" }

// orphanAfter is how long a repository may be without a wiki or snippet, which is made after
// its repository.
const orphanAfter = time.Hour

// SweepAttached removes the repositories of wikis and snippets that are gone: deleted by
// themselves, or with their project, group or author.
func (s *Service) SweepAttached(ctx context.Context, _ AttachedSweep) error {
	ids, err := db.Select[AttachedID](ctx, s.DB, `SELECT a.name FROM attached_repositories a WHERE (a.kind = ? OR a.created_at < ?)
		AND NOT EXISTS (SELECT 1 FROM snippets s WHERE s.repository = a.name)
		AND NOT EXISTS (SELECT 1 FROM wikis w WHERE w.repository = a.name) ORDER BY a.name`, gone, db.At(s.Now().Add(-orphanAfter)))
	if err != nil {
		return fmt.Errorf("list repositories to remove: %w", err)
	}
	for _, id := range ids {
		if err := s.removeAttached(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) removeAttached(ctx context.Context, id AttachedID) error {
	defer s.writing.lock(id)()
	s.made.Delete(id)
	if err := s.Git.Repo(attachedPath(id)).Remove(ctx); err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM attached_repositories WHERE name = ?", id); err != nil {
		return fmt.Errorf("remove repository: %w", err)
	}
	return nil
}

// AttachedFile opens a file at a ref, "" for the default branch. It asks for no permission.
// What is not there is NotFound: Reference or File. Close its Blob.
func (s *Service) AttachedFile(ctx context.Context, as authz.Actor, a *Attached, ref, path string) (*File, error) {
	r, err := s.OpenAttached(ctx, a)
	if err != nil {
		return nil, err
	}
	name := ref
	if name == "" {
		name = gitstore.Branches + a.Branch
	}
	rev, err := r.Resolve(ctx, name)
	if err != nil {
		return nil, missing(err, "Reference")
	}
	entry, err := r.Entry(ctx, rev.Commit, path)
	if err != nil {
		return nil, missing(err, "File")
	}
	if entry.Kind() != gitstore.KindBlob {
		return nil, errs.Missing("File")
	}
	out := &File{Path: path, Ref: ref, Mode: entry.Mode, BlobID: entry.ID, CommitID: rev.Commit}
	if out.Blob, err = s.openBlob(ctx, as, r, entry.ID); err != nil {
		return nil, missing(err, "File")
	}
	return out, nil
}

// AttachedSizes returns the bytes of the repositories of wikis and snippets of projects. It asks
// for no permission.
func (s *Service) AttachedSizes(ctx context.Context, ids []project.ID) (map[project.ID]project.AttachedSizes, error) {
	out := map[project.ID]project.AttachedSizes{}
	if len(ids) == 0 {
		return out, nil
	}
	type row struct {
		ID       project.ID `db:"id"`
		Wiki     int64      `db:"wiki"`
		Snippets int64      `db:"snippets"`
	}
	var w db.Where
	w.In("p.id", ids)
	rows, err := db.Select[row](ctx, s.DB, `SELECT p.id,
		CAST(COALESCE((SELECT SUM(a.size) FROM wikis w JOIN attached_repositories a ON a.name = w.repository WHERE w.project_id = p.id), 0) AS BIGINT) AS wiki,
		CAST(COALESCE((SELECT SUM(a.size) FROM snippets s JOIN attached_repositories a ON a.name = s.repository WHERE s.project_id = p.id), 0) AS BIGINT) AS snippets
		FROM projects p`+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("measure wikis and snippets: %w", err)
	}
	for _, r := range rows {
		out[r.ID] = project.AttachedSizes{Wiki: r.Wiki, Snippets: r.Snippets}
	}
	return out, nil
}
