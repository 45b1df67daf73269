package importexport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// RunEntity is the job that moves a group or project of a transfer. While the source exports, it comes again.
type RunEntity struct {
	ID   EntityID `json:"id"`
	Turn int64    `json:"turn"`
}

// Kind names the job.
func (RunEntity) Kind() string { return "bulk_import_entity" }

// Waiting for a source.
const (
	pollAfter   = 2 * time.Second
	retryAfter  = 30 * time.Second
	maxRetries  = 10
	listWithin  = 5 * time.Minute  // for a relation to be listed
	exportWithn = 90 * time.Minute // for all of them to be exported
)

// errWait says that the source has not exported everything yet.
var errWait = errors.New("the source has not exported everything yet")

// entityRun is one attempt to move an entity.
type entityRun struct {
	s    *Service
	bulk *Bulk
	e    *Entity
	as   authz.Actor
	from *sourceServer
}

// runEntity moves an entity as far as the source lets it. What fails for now is tried again, up to ten times in a row; any other failure ends
// the entity.
func (s *Service) runEntity(ctx context.Context, args RunEntity) error {
	if _, twice := s.importing.LoadOrStore(args.ID, true); twice {
		return nil
	}
	defer s.importing.Delete(args.ID)
	run, err := s.beginEntity(ctx, args.ID)
	if run == nil || err != nil {
		return err
	}
	limited, end := context.WithTimeout(ctx, longest)
	defer end()
	err = run.move(limited)
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, errs.ErrAway) {
		return err
	}
	again := RunEntity{args.ID, args.Turn + 1}
	refused, answered := errors.AsType[*statusError](err)
	_, known := errors.AsType[failure](err)
	_, blocked := errors.AsType[*safehttp.BlockedError](err)
	_, source := errors.AsType[sourceError](err)
	switch {
	case err == nil || errors.Is(err, tree.ErrStop):
		return nil
	case errors.Is(err, errWait):
		return s.Jobs.Enqueue(ctx, again, job.At(s.Now().Add(pollAfter)))
	case source && !known && !blocked && (!answered || refused.passing()) && run.e.Attempts < maxRetries:
		s.Log.InfoContext(ctx, "the source of a transfer is asked again later", slog.Int64("entity", int64(args.ID)), slog.Any("error", err))
		after := retryAfter
		if answered && refused.after > 0 {
			after = refused.after
		}
		if _, err := s.DB.Exec(ctx, "UPDATE bulk_import_entities SET attempts = attempts + 1, updated_at = ? WHERE id = ?", db.At(s.Now()), args.ID); err != nil {
			return fmt.Errorf("note attempt: %w", err)
		}
		return s.Jobs.Enqueue(ctx, again, job.At(s.Now().Add(after)))
	}
	s.Log.WarnContext(ctx, "entity of a transfer failed", slog.Int64("entity", int64(args.ID)), slog.Any("error", err))
	return s.failEntity(context.WithoutCancel(ctx), run.e, "", err)
}

// sourceError is a failure of asking the source.
type sourceError struct{ error }

// Unwrap returns the failure itself.
func (e sourceError) Unwrap() error { return e.error }

// beginEntity notes that an attempt begins; nil where there is nothing to do any more.
func (s *Service) beginEntity(ctx context.Context, id EntityID) (run *entityRun, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		run = nil
		now := db.At(s.Now())
		found, err := db.Select[Entity](ctx, s.DB, "UPDATE bulk_import_entities SET status = ?, updated_at = ? WHERE id = ? AND status IN (?, ?) RETURNING "+db.Columns[Entity](""),
			BulkStarted, now, id, BulkCreated, BulkStarted)
		if err != nil || len(found) == 0 {
			return err
		}
		bulk, err := db.Select[Bulk](ctx, s.DB, "UPDATE bulk_imports SET status = ?, updated_at = ? WHERE id = ? AND status IN (?, ?) RETURNING "+db.Columns[Bulk](""),
			BulkStarted, now, found[0].BulkID, BulkCreated, BulkStarted)
		if err != nil || len(bulk) == 0 {
			return err
		}
		run = &entityRun{s: s, bulk: &bulk[0], e: &found[0]}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("begin entity: %w", err)
	}
	return run, nil
}

// move does what is left to do.
func (r *entityRun) move(ctx context.Context) (err error) {
	if r.as, err = r.s.Accounts.Admit(ctx, r.bulk.UserID); err != nil {
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
			return failure{"The user may not sign in any more."}
		}
		return err
	}
	token, err := r.s.Box.Open(tokenSecret(r.bulk.UserID, r.bulk.URL), r.bulk.Token)
	if err != nil {
		return failure{"The token for the source is not there any more."}
	}
	r.from = &sourceServer{s: r.s, url: r.bulk.URL, token: token}
	if err := r.make(ctx); err != nil {
		return err
	}
	if r.e.ProjectID == nil {
		return r.moveAll(ctx)
	}
	whole, free, alone := r.s.filling.Begin(ctx, *r.e.ProjectID)
	if !alone {
		return errWait
	}
	defer free()
	if err = r.moveAll(whole); errors.Is(context.Cause(whole), tree.ErrStop) {
		return failure{"The project was deleted."}
	}
	return err
}

// moveAll moves what a group or project has that is there.
func (r *entityRun) moveAll(ctx context.Context) error {
	if err := r.request(ctx); err != nil {
		return sourceError{err}
	}
	if err := r.fetch(ctx); err != nil {
		return err
	}
	if err := r.fetchRepositories(ctx); err != nil {
		return err
	}
	return r.fill(ctx)
}

// make makes the group or project, where an attempt before has not.
func (r *entityRun) make(ctx context.Context) error {
	if r.e.NamespaceID != nil || r.e.ProjectID != nil {
		return nil
	}
	found, err := r.from.find(ctx, r.e.Kind, r.e.SourcePath)
	if err != nil {
		return sourceError{err}
	}
	if found == nil || found.number() == 0 {
		return failure{fmt.Sprintf("'%s' not found at the source", r.e.SourcePath)}
	}
	r.e.SourceID, r.e.Visibility = new(found.number()), visibilityNumber(found.Visibility)
	parent, err := r.s.destination(ctx, r.as, r.e.Destination)
	if errs.Is(err, errs.NotFound) {
		return failure{fmt.Sprintf("'%s' is invalid, or you do not have permission.", r.e.Destination)}
	}
	if err != nil {
		return err
	}
	if r.e.Kind == projectEntity {
		err = r.makeProject(ctx, parent, found)
	} else {
		err = r.makeGroup(ctx, parent, found)
	}
	if refused, ok := errors.AsType[*errs.Error](err); ok && !errors.Is(err, errs.ErrAway) {
		return failure{refused.Error()}
	}
	return err
}

// made notes in the caller's transaction what was made of the entity.
func (r *entityRun) made(ctx context.Context, e *Entity) error {
	n, err := r.s.DB.Exec(ctx, "UPDATE bulk_import_entities SET namespace_id = ?, project_id = ?, source_id = ?, visibility = ?, updated_at = ? WHERE id = ? AND status = ?",
		e.NamespaceID, e.ProjectID, e.SourceID, e.Visibility, db.At(r.s.Now()), e.ID, BulkStarted)
	if err != nil {
		return fmt.Errorf("note entity: %w", err)
	}
	if n == 0 {
		return tree.ErrStop
	}
	return nil
}

// maxNames bounds how many names are tried where one is taken.
const maxNames = 20

func (r *entityRun) makeGroup(ctx context.Context, parent *namespace.ID, found *sourceGroup) error {
	s, e := r.s, *r.e
	for i := range maxNames {
		name := found.Name
		if i > 0 {
			name = fmt.Sprintf("%s(%d)", found.Name, i)
		}
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			g, err := s.Namespaces.Create(ctx, r.as, namespace.GroupInput{
				ParentID: parent, GroupChanges: namespace.GroupChanges{Name: &name, Path: &e.Slug, Visibility: new(authz.Private)},
			})
			if err != nil {
				return err
			}
			e.NamespaceID = &g.ID
			now := db.At(s.Now())
			part := importedGroup{progress: begun, NamespaceID: g.ID, SourceID: *e.SourceID, CreatedAt: now, UpdatedAt: now}
			if err := db.Create(ctx, s.DB, "imported_groups", &part); err != nil {
				return fmt.Errorf("note group: %w", err)
			}
			return r.made(ctx, &e)
		})
		if err == nil {
			*r.e = e
			return nil
		}
		if !namespace.NameTaken(err) {
			return err
		}
	}
	return failure{"name has already been taken"}
}

func (r *entityRun) makeProject(ctx context.Context, parent *namespace.ID, found *sourceGroup) error {
	s, e := r.s, *r.e
	var changes project.Changes
	changes.Name, changes.Path = &found.Name, &e.Slug
	_, err := s.Projects.Create(ctx, r.as, project.Input{
		NamespaceID: parent, Changes: changes, ImportID: blob.Random(),
		File: &project.FromFile{Type: project.ImportTypeTransfer, Begin: func(ctx context.Context, p *project.Project) error {
			now := db.At(s.Now())
			row := importRow{progress: begun, ProjectID: p.ID, UserID: r.as.UserID, Overrides: "{}", CreatedAt: now, UpdatedAt: now}
			if err := db.Create(ctx, s.DB, "file_imports", &row); err != nil {
				return fmt.Errorf("note project: %w", err)
			}
			e.ProjectID = &p.ID
			return r.made(ctx, &e)
		}},
	})
	if err != nil {
		return err
	}
	*r.e = e
	return s.Projects.RecordImport(ctx, *e.ProjectID, project.ImportStarted, "")
}

// request asks the source to export the relations, once.
func (r *entityRun) request(ctx context.Context) error {
	if r.e.RequestedAt != nil {
		return nil
	}
	if _, err := r.from.call(ctx, safehttp.Delivery{Method: "POST", URL: "/api/v4/" + r.from.at(r.e) + "/export_relations"}, nil); err != nil {
		return err
	}
	now := db.At(r.s.Now())
	if _, err := r.s.DB.Exec(ctx, "UPDATE bulk_import_entities SET requested_at = ?, updated_at = ? WHERE id = ?", now, now, r.e.ID); err != nil {
		return fmt.Errorf("note request: %w", err)
	}
	r.e.RequestedAt = &now
	return nil
}

// relationState is what a source says of the export of a relation.
type relationState struct {
	Relation string  `json:"relation"`
	Status   int64   `json:"status"`
	Error    *string `json:"error"`
	Batched  bool    `json:"batched"`
	Batches  int     `json:"batches_count"`
}

// since are the versions from which on sources have relations that older ones do not list.
var since = map[string][2]int{
	"namespace_settings": {15, 0}, "repository": {15, 1}, "design": {15, 1}, "iterations_cadences": {15, 4}, "commit_notes": {15, 10}, "vulnerabilities": {17, 7},
}

// wantedRelations are those that are fetched of an entity.
func (r *entityRun) wantedRelations() []string {
	var out []string
	for _, p := range portables(r.e.Kind == groupEntity) {
		if from, ok := since[p.name]; !ok || !before(r.bulk.Version, from[0], from[1]) {
			out = append(out, p.name)
		}
	}
	return out
}

// tree is the one that the entity is of.
func (r *entityRun) tree() tree.Trees {
	if r.e.Kind == groupEntity {
		return tree.Groups
	}
	return tree.Projects
}

func (r *entityRun) reads(f tree.Files) bool { return f.In == tree.Both || f.In == r.tree() }

// fetch stores the files of the relations that the source has exported. Those that it does not export are noted as failures.
func (r *entityRun) fetch(ctx context.Context) error {
	s := r.s
	there, err := db.Select[string](ctx, s.DB, "SELECT relation FROM bulk_import_files WHERE entity_id = ? ORDER BY relation", r.e.ID)
	if err != nil {
		return fmt.Errorf("files of entity: %w", err)
	}
	left := without(r.wantedRelations(), there)
	if len(left) == 0 {
		return nil
	}
	states, err := r.states(ctx)
	if err != nil {
		return sourceError{err}
	}
	waited := s.Now().Sub(r.e.RequestedAt.Time)
	wait := false
	for _, relation := range left {
		state, listed := states[relation]
		switch {
		case listed && state.Status == int64(RelationFinished):
			if err := r.fetchRelation(ctx, state, there); err != nil {
				return err
			}
		case listed && state.Status == int64(RelationFailed):
			why := ""
			if state.Error != nil {
				why = *state.Error
			}
			if err := r.have(ctx, relation, "", failure{"Export from source instance failed: " + why}); err != nil {
				return err
			}
		case listed && waited > exportWithn:
			if err := r.have(ctx, relation, "", failure{"Pipeline timeout"}); err != nil {
				return err
			}
		case !listed && waited > listWithin:
			if err := r.have(ctx, relation, "", failure{"Empty export status on source instance"}); err != nil {
				return err
			}
		default:
			wait = true
		}
	}
	if wait {
		return errWait
	}
	return nil
}

// maxSourceBatches bounds the files of a relation that is exported in batches.
const maxSourceBatches = 10_000

// batch is the name under which a batch of a relation is noted. The last one has the name of the relation, as the whole of it is there then.
func batch(relation string, number, of int) string {
	if number == of {
		return relation
	}
	return fmt.Sprintf("%s/%d", relation, number)
}

// fetchRelation stores the file of a relation, or those of its batches that are not there yet.
func (r *entityRun) fetchRelation(ctx context.Context, state relationState, there []string) error {
	first, last := 0, 0 // a relation without batches
	if state.Batched {
		first, last = 1, state.Batches
	}
	if state.Batched && (last < 1 || last > maxSourceBatches) {
		var why error
		if last > maxSourceBatches {
			why = failure{fmt.Sprintf("The relation has more than %d batches.", maxSourceBatches)}
		}
		return r.have(ctx, state.Relation, "", why)
	}
	for n := first; n <= last; n++ {
		name := batch(state.Relation, n, last)
		if slices.Contains(there, name) {
			continue
		}
		key := Uploaded + "/" + blob.Random()
		err := r.from.download(ctx, r.e, relationFile{state.Relation, n, key})
		refused, answered := errors.AsType[*statusError](err)
		_, known := errors.AsType[failure](err)
		if err != nil {
			r.s.remove(ctx, key)
			key = ""
		}
		if err != nil && !known && (!answered || refused.passing()) {
			return sourceError{err}
		}
		if err := r.have(ctx, name, key, err); err != nil {
			return err
		}
	}
	return nil
}

// states asks the source how far it is. Old ones answer a list, others an object where one relation is asked for.
func (r *entityRun) states(ctx context.Context) (map[string]relationState, error) {
	var text json.RawMessage
	if _, err := r.from.get(ctx, r.from.at(r.e)+"/export_relations/status", &text); err != nil {
		return nil, err
	}
	var list []relationState
	if json.Unmarshal(text, &list) != nil {
		var one relationState
		if json.Unmarshal(text, &one) != nil {
			return nil, errAnswer
		}
		list = []relationState{one}
	}
	out := map[string]relationState{}
	for _, state := range list {
		out[state.Relation] = state
	}
	return out, nil
}

// have notes that a relation is fetched, or why there is none.
func (r *entityRun) have(ctx context.Context, relation, key string, why error) error {
	type row struct {
		EntityID  EntityID `db:"entity_id"`
		Relation  string   `db:"relation"`
		Object    string   `db:"object"`
		CreatedAt db.Time  `db:"created_at"`
	}
	s := r.s
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		now := db.At(s.Now())
		if err := db.InsertRows(ctx, s.DB, "bulk_import_files", []row{{r.e.ID, relation, key, now}}, "ON CONFLICT DO NOTHING"); err != nil {
			return fmt.Errorf("note file: %w", err)
		}
		if _, err := s.DB.Exec(ctx, "UPDATE bulk_import_entities SET attempts = 0, updated_at = ? WHERE id = ?", now, r.e.ID); err != nil {
			return fmt.Errorf("note file: %w", err)
		}
		if why == nil {
			return nil
		}
		name, _, _ := strings.Cut(relation, "/")
		return s.noteFailure(ctx, r.e.ID, name, "extractor", why)
	})
}
