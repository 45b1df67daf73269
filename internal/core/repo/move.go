package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RefChange moves one reference. A zero Old creates it, a zero New deletes it.
type RefChange struct {
	Ref gitstore.RefName  `json:"ref"`
	Old gitstore.ObjectID `json:"old"`
	New gitstore.ObjectID `json:"new"`
}

// Created reports whether the change makes the reference.
func (c RefChange) Created() bool { return c.Old.IsZero() && !c.New.IsZero() }

// Deleted reports whether the change deletes the reference.
func (c RefChange) Deleted() bool { return c.New.IsZero() }

func (c RefChange) update() gitstore.RefUpdate {
	return gitstore.RefUpdate{Ref: c.Ref, Old: c.Old, New: c.New}
}

// PushKind is what changes of a push have in common that the record of activity sums up.
type PushKind struct {
	RefType string // branch, tag, or "" for other references
	Action  string // created, removed, pushed
}

// Kind says what the change does to what type of reference.
func (c RefChange) Kind() PushKind {
	k := PushKind{Action: "pushed"}
	switch {
	case c.Ref.IsBranch():
		k.RefType = "branch"
	case c.Ref.IsTag():
		k.RefType = "tag"
	}
	switch {
	case c.Deleted():
		k.Action = "removed"
	case c.Created():
		k.Action = "created"
	}
	return k
}

// Source says through which door references were moved.
type Source string

// The doors.
const (
	ByPush  Source = "push"
	ByAPI   Source = "api"
	ByMerge Source = "merge"

	byServer Source = "server" // the first commit of a repository; Pushed says ByAPI
)

// Pushed is published after references have moved, by a push or by a call. Nothing is published
// for a project that was deleted meanwhile.
type Pushed struct {
	authz.Stamp

	ProjectID project.ID
	FullPath  string
	Project   *project.Project `json:"-"` // after the push; not stored with the intention
	Source    Source
	Changes   []PushedRef
	Addresses []string `json:",omitempty"` // of authors and committers of its commits, folded
	Options   []string `json:",omitempty"` // that the user gave to git push
}

// PushedRef is one moved reference with what the record of activity says of it. Where one
// push has more changes of a kind than have activities of their own, the rest is zero.
type PushedRef struct {
	RefChange
	CommitCount int64
	CommitTitle string // of the new tip
}

// ErrMoved is the cause of the Conflict that MoveRefs gives when a reference no longer
// is at its old commit.
var ErrMoved = errors.New("a reference moved meanwhile")

// MoveRefs moves references in one git transaction and publishes Pushed. What is
// intended is recorded before and settled after, so that a crash between the two
// leaves neither a moved reference without its event nor the other way round. A change from
// a commit to the same one only demands that the reference still names it. It asks
// for no permission: callers ask Judge.
func (s *Service) MoveRefs(ctx context.Context, as authz.Actor, p *project.Project, source Source, changes []RefChange) error {
	return s.moveRefs(ctx, as, p, source, changes, nil)
}

// moveRefs is MoveRefs with the options of a push.
func (s *Service) moveRefs(ctx context.Context, as authz.Actor, p *project.Project, source Source, changes []RefChange, options []string) error {
	if len(changes) == 0 {
		return nil
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	branch, err := s.adoptBranch(ctx, r, p, changes)
	if err != nil {
		return err
	}
	event := Pushed{ProjectID: p.ID, FullPath: p.FullPath, Stamp: as.Stamp(s.Now()), Source: source, Options: options}
	if event.Changes, err = s.describeAll(ctx, r, p, moved(changes)); err != nil {
		return err
	}
	if event.Addresses, err = s.pushedAddresses(ctx, r, p, source, changes); err != nil {
		return err
	}
	intent, err := s.intend(ctx, event, branch)
	if err != nil {
		return err
	}
	s.moving.Store(intent, struct{}{})
	defer s.moving.Delete(intent)
	updates := make([]gitstore.RefUpdate, len(changes))
	for i, c := range changes {
		updates[i] = c.update()
	}
	// Once the intention is recorded, a caller that goes away must not stop us between
	// git and the database.
	ctx = context.WithoutCancel(ctx)
	if err := r.UpdateRefs(ctx, updates); err != nil {
		if after := s.afterFailure(ctx, intent, err); after != nil {
			s.Log.Error("settle a failed push", "project_id", p.ID, "error", after)
		}
		if errors.Is(err, gitstore.ErrRefMoved) {
			return &errs.Error{Kind: errs.Conflict, Message: "The reference was changed meanwhile. Please try again.", Err: errors.Join(ErrMoved, err)}
		}
		return fmt.Errorf("move references: %w", err)
	}
	return s.settle(ctx, intent, event, branch)
}

// moved returns the changes that move something.
func moved(changes []RefChange) []RefChange {
	return slices.DeleteFunc(slices.Clone(changes), func(c RefChange) bool { return c.Old == c.New })
}

// adoptBranch picks the default branch for a repository that has none yet: the one HEAD
// names if it is among the changes, else the first branch created. It points HEAD there
// before anything moves, which does no harm in an empty repository.
func (s *Service) adoptBranch(ctx context.Context, r *gitcmd.Repo, p *project.Project, changes []RefChange) (string, error) {
	if p.DefaultBranch != nil {
		return "", nil
	}
	var names []string
	for _, c := range changes {
		if c.Ref.IsBranch() && !c.New.IsZero() {
			names = append(names, c.Ref.Short())
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	head, err := r.Head(ctx)
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	for _, wanted := range []string{head.Short(), s.firstBranch(p)} {
		if slices.Contains(names, wanted) {
			names[0] = wanted
			break
		}
	}
	ref, err := gitstore.BranchRef(names[0])
	if err != nil {
		return "", fmt.Errorf("first branch: %w", err)
	}
	if ref != head {
		if err := r.SetHead(ctx, ref); err != nil {
			return "", fmt.Errorf("first branch: %w", err)
		}
	}
	return names[0], nil
}

// describeAll describes the changes that have activities of their own.
func (s *Service) describeAll(ctx context.Context, r *gitcmd.Repo, p *project.Project, changes []RefChange) ([]PushedRef, error) {
	kinds := map[PushKind]int{}
	for _, c := range changes {
		kinds[c.Kind()]++
	}
	limit := s.Settings.Current().PushEventActivitiesLimit
	out := make([]PushedRef, len(changes))
	for i, c := range changes {
		out[i].RefChange = c
		if kinds[c.Kind()] > limit {
			continue
		}
		var err error
		if out[i], err = describe(ctx, r, p, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// describe reads what the record of activity says of a change. It comes before the
// references move.
func describe(ctx context.Context, r *gitcmd.Repo, p *project.Project, c RefChange) (PushedRef, error) {
	out := PushedRef{RefChange: c}
	if !c.Ref.IsBranch() || c.New.IsZero() {
		return out, nil
	}
	tip, err := r.Commit(ctx, c.New)
	if err != nil {
		return out, fmt.Errorf("read pushed commit: %w", err)
	}
	out.CommitTitle = tip.Title()
	if len(tip.Parents) == 1 && tip.Parents[0] == c.Old {
		out.CommitCount = 1
		return out, nil
	}
	since := c.Old
	if since.IsZero() && p.DefaultBranch != nil { // a new branch counts from where it left the default one
		if since, err = r.Branch(ctx, *p.DefaultBranch); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return out, fmt.Errorf("read default branch: %w", err)
		}
	}
	if since == c.New {
		return out, nil
	}
	opts := gitcmd.LogOptions{From: []gitstore.ObjectID{c.New}}
	if !since.IsZero() {
		opts.Not = []gitstore.ObjectID{since}
	}
	count, err := r.Count(ctx, opts)
	if err != nil {
		return out, fmt.Errorf("count pushed commits: %w", err)
	}
	out.CommitCount = int64(count)
	return out, nil
}

// intention is what is in ref_intents: enough to publish the event after a crash.
type intention struct {
	Event  Pushed `json:"event"`
	Branch string `json:"branch"` // the default branch that this push establishes, or ""
}

func (s *Service) intend(ctx context.Context, e Pushed, branch string) (int64, error) {
	e.By.Scopes = nil
	text, err := json.Marshal(intention{Event: e, Branch: branch})
	if err != nil {
		return 0, fmt.Errorf("encode intention: %w", err)
	}
	type row struct {
		ID        int64        `db:"id"`
		ProjectID project.ID   `db:"project_id"`
		UserID    authz.UserID `db:"user_id"`
		Source    Source       `db:"source"`
		Changes   string       `db:"changes"`
		CreatedAt db.Time      `db:"created_at"`
	}
	made := row{ProjectID: e.ProjectID, UserID: e.By.UserID, Source: e.Source, Changes: string(text), CreatedAt: db.At(s.Now())}
	if err := db.Create(ctx, s.DB, "ref_intents", &made); err != nil {
		return 0, fmt.Errorf("record intention: %w", err)
	}
	return made.ID, nil
}

// settle records that the references have moved: the default branch and its
// protection, the event, and the end of the intention, in one transaction.
func (s *Service) settle(ctx context.Context, intent int64, e Pushed, branch string) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		there, err := db.Drop(ctx, s.DB, intentAt(intent))
		if err != nil {
			return fmt.Errorf("settle intention: %w", err)
		}
		if !there {
			return nil // the reconciler was faster
		}
		if err := s.settleAddresses(ctx, e.ProjectID, e.Addresses); err != nil {
			return err
		}
		if err := s.Projects.RecordPush(ctx, e.ProjectID, branch, s.Now()); err != nil {
			return err
		}
		if branch != "" {
			if err := s.Protections.ProtectFirst(ctx, e.ProjectID, branch); err != nil {
				return err
			}
		}
		found, err := s.Projects.Load(ctx, []project.ID{e.ProjectID})
		if err != nil || found[e.ProjectID] == nil {
			return err
		}
		e.Project = found[e.ProjectID]
		if e.At.IsZero() { // recorded by an older version
			e.At = s.Now()
		}
		return s.Bus.Publish(ctx, e)
	})
}

type intentRow struct {
	ID        int64      `db:"id"`
	ProjectID project.ID `db:"project_id"`
	Changes   string     `db:"changes"`
}

func intentAt(id int64) db.Row { return db.Row{Table: "ref_intents", ID: id} }

// Settle ends what a crash left between git and the database: an intention whose
// references have moved is published, one whose references have not is dropped. It runs
// at start-up, before anybody is served; later runs leave young intentions alone, and
// those whose references move in this process.
func (s *Service) Settle(ctx context.Context, before db.Time) error {
	rows, err := db.Select[intentRow](ctx, s.DB, "SELECT id, project_id, changes FROM ref_intents WHERE created_at <= ? ORDER BY id", before)
	if err != nil {
		return fmt.Errorf("read intentions: %w", err)
	}
	for _, row := range rows {
		if _, running := s.moving.Load(row.ID); running {
			continue
		}
		// One repository that cannot be read does not hold up the others; the intention
		// stays and is looked at again.
		if err := s.reconcile(ctx, row); err != nil {
			s.Log.Error("settle a push", "project_id", row.ProjectID, "error", err)
		}
	}
	return nil
}

// lostAge is how old the intention of a push is at least whose connection to the database counts as lost.
const lostAge = 10 * time.Second

// SettleLost is Settle for pushes whose references moved before the connection was lost.
func (s *Service) SettleLost(ctx context.Context) error {
	return s.Settle(ctx, db.At(s.Now().Add(-lostAge)))
}

// afterFailure ends an intention whose references did not all move. Where git refused,
// none has; where it was killed, some may have, and the references themselves tell.
func (s *Service) afterFailure(ctx context.Context, intent int64, cause error) error {
	for _, refusal := range []error{
		gitstore.ErrRefMoved, gitstore.ErrRefConflict, gitstore.ErrNotFound, gitstore.ErrWrongKind, gitstore.ErrBadName,
	} {
		if errors.Is(cause, refusal) {
			if _, err := db.Drop(ctx, s.DB, intentAt(intent)); err != nil {
				return fmt.Errorf("drop intention: %w", err)
			}
			return nil
		}
	}
	row, err := db.Get[intentRow](ctx, s.DB, "SELECT id, project_id, changes FROM ref_intents WHERE id = ?", intent)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read intention: %w", err)
	}
	return s.reconcile(ctx, row)
}

func (s *Service) reconcile(ctx context.Context, row intentRow) error {
	var in intention
	if err := json.Unmarshal([]byte(row.Changes), &in); err != nil {
		return fmt.Errorf("decode intention: %w", err)
	}
	r := s.Git.Repo(diskPath(row.ProjectID))
	// git renames the references of one transaction one after the other, so a crash may
	// have moved only some. The push was not answered yet; it is completed rather than
	// undone, because what has moved may have been fetched.
	var rest []gitstore.RefUpdate
	for _, c := range in.Event.Changes {
		r.DropStaleLocks(c.Ref)
		at, err := r.Ref(ctx, c.Ref)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return fmt.Errorf("read reference: %w", err)
		}
		if at != c.New {
			rest = append(rest, c.update())
		}
	}
	if len(rest) < len(in.Event.Changes) {
		if err := r.UpdateRefs(ctx, rest); err != nil && !errors.Is(err, gitstore.ErrRefMoved) {
			return fmt.Errorf("complete push: %w", err)
		}
		s.Log.Info("settled a push that a crash interrupted", "project_id", row.ProjectID)
		return s.settle(ctx, row.ID, in.Event, in.Branch)
	}
	if _, err := db.Drop(ctx, s.DB, intentAt(row.ID)); err != nil {
		return fmt.Errorf("drop intention: %w", err)
	}
	return nil
}
