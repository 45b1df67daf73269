package wiki

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

const (
	textNoWrite = "You are not allowed to write to this project's wiki."
	textRefs    = "You can push only branches and tags to a wiki, not %s."
	textDelete  = "The default branch of a wiki cannot be deleted."
)

// attached returns the repository of a wiki.
func (s *Service) attached(w *Wiki) *repo.Attached {
	return &repo.Attached{ID: w.RepositoryID, Branch: w.Branch, Owner: &owner{service: s, wiki: *w}}
}

// Remote returns the repository of a wiki to git clients. It requires ReadWiki, or ReadGroupWiki.
func (s *Service) Remote(ctx context.Context, as authz.Actor, at authz.Place) (*repo.Remote, error) {
	if err := s.require(ctx, as, at, read(at)); err != nil {
		return nil, err
	}
	w, err := s.ensure(ctx, at)
	if err != nil {
		return nil, err
	}
	return s.Repos.RemoteOf(s.attached(w), at.Subject.Namespace), nil
}

// place finds the project or group of a wiki as the actor sees it.
func (s *Service) place(ctx context.Context, as authz.Actor, w *Wiki) (authz.Place, error) {
	if w.ProjectID != nil {
		p, err := s.Projects.FindByID(ctx, as, *w.ProjectID)
		if err != nil {
			return authz.Place{}, err
		}
		return p.Place(), nil
	}
	g, err := s.Namespaces.Find(ctx, as, strconv.FormatInt(int64(*w.GroupID), 10))
	if err != nil {
		return authz.Place{}, err
	}
	return g.Place(), nil
}

// owner answers for the repository of a wiki.
type owner struct {
	service  *Service
	wiki     Wiki
	from, to string // paths of a page that is moved, which keeps its id; "" for none
}

// Require asks whether the actor may read or write the wiki.
func (o *owner) Require(ctx context.Context, as authz.Actor, access repo.Access) error {
	at, err := o.service.place(ctx, as, &o.wiki)
	if err != nil {
		return err
	}
	if access == repo.Fetching {
		return o.service.require(ctx, as, at, read(at))
	}
	err = o.service.require(ctx, as, at, write(at))
	if errs.Is(err, errs.Forbidden) {
		return errs.Denied(textNoWrite)
	}
	return err
}

// Judge lets branches and tags move.
func (o *owner) Judge(_ context.Context, _ authz.Actor, _ *gitcmd.Repo, changes []repo.RefChange) error {
	for _, c := range changes {
		switch {
		case !c.Ref.IsBranch() && !c.Ref.IsTag():
			return repo.Refuse(c.Ref, fmt.Sprintf(textRefs, c.Ref))
		case c.Deleted() && c.Ref.IsBranch() && c.Ref.Short() == o.wiki.Branch:
			return repo.Refuse(c.Ref, textDelete)
		}
	}
	return nil
}

// Sync is the job that reads the pages of a wiki again, where the process was killed between a
// commit and the rows of the pages.
type Sync struct {
	By     authz.UserID `json:"by"`
	WikiID ID           `json:"wiki_id"`
}

// Kind names the job.
func (Sync) Kind() string { return "wiki_sync" }

// syncAfter is when that job looks.
const syncAfter = time.Minute

// Record has the job look later, moves the references and reads the pages.
func (o *owner) Record(ctx context.Context, as authz.Actor, move func(context.Context) error) error {
	s := o.service
	if err := s.Jobs.Enqueue(ctx, Sync{WikiID: o.wiki.ID, By: as.UserID}, job.At(s.Now().Add(syncAfter))); err != nil {
		return fmt.Errorf("record push to wiki: %w", err)
	}
	if err := move(ctx); err != nil {
		return err
	}
	return s.sync(ctx, as, o.wiki.ID, o)
}

// RegisterJobs says how pages follow the repositories of wikis.
func (s *Service) RegisterJobs(r *job.Registry) { job.Register(r, s.Sync, job.Unique()) }

// Sync brings the rows of the pages up to the repository. It asks for no permission.
func (s *Service) Sync(ctx context.Context, args Sync) error {
	return s.sync(ctx, authz.Actor{UserID: args.By}, args.WikiID, nil)
}

type pageRow struct {
	ID        PageID  `db:"id"`
	WikiID    ID      `db:"wiki_id"`
	Path      string  `db:"path"`
	BlobID    string  `db:"blob_id"`
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// placeOf reads the project of a wiki as a place, zero for the wiki of a group.
func (s *Service) placeOf(ctx context.Context, w *Wiki) (authz.Place, error) {
	if w.ProjectID == nil {
		return authz.Place{}, nil
	}
	found, err := s.Projects.Load(ctx, []project.ID{*w.ProjectID})
	if p := found[*w.ProjectID]; p != nil {
		return p.Place(), nil
	}
	return authz.Place{}, err
}

// sync compares the pages of the default branch with their rows, and publishes what changed. The
// owner says which page was moved, nil for none.
func (s *Service) sync(ctx context.Context, as authz.Actor, id ID, o *owner) error {
	w, err := db.Get[Wiki](ctx, s.DB, "SELECT "+db.Columns[Wiki]("")+" FROM wikis WHERE id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil // deleted with its project or group
	}
	if err != nil {
		return fmt.Errorf("find wiki: %w", err)
	}
	r, tip, err := s.tip(ctx, &w)
	if err != nil {
		return err
	}
	commit, found := "", map[string]string{}
	if !tip.IsZero() {
		commit = tip.String()
		entries, err := files(ctx, r, tip)
		if err != nil {
			return err
		}
		for _, e := range entries {
			found[e.Path] = e.ID.String()
		}
	}
	if commit == w.CommitID {
		return nil
	}
	at, err := s.placeOf(ctx, &w)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Update(ctx, s.DB, db.Row{Table: "wikis", ID: id}, func(ctx context.Context, w *Wiki) error {
			w.CommitID = commit
			changes, err := s.compare(ctx, id, found, o)
			if err != nil || len(changes) == 0 {
				return err
			}
			return s.Bus.Publish(ctx, Changed{Stamp: as.Stamp(s.Now()), Place: at, Wiki: *w, Pages: changes})
		})
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		return err
	})
}

// compare writes the rows of the pages that were found, with the object ids of their files.
func (s *Service) compare(ctx context.Context, id ID, found map[string]string, o *owner) ([]PageChange, error) {
	rows, err := db.Select[pageRow](ctx, s.DB, "SELECT "+db.Columns[pageRow]("")+" FROM wiki_pages WHERE wiki_id = ? ORDER BY path", id)
	if err != nil {
		return nil, fmt.Errorf("list pages: %w", err)
	}
	now := db.At(s.Now())
	known := map[string]bool{}
	var out []PageChange
	for _, row := range rows {
		at, action := row.Path, "updated"
		if o != nil && row.Path == o.from && found[o.from] == "" && found[o.to] != "" {
			at = o.to
		}
		known[at] = true
		switch blob := found[at]; {
		case blob == "":
			action = "deleted"
			_, err = db.Drop(ctx, s.DB, db.Row{Table: "wiki_pages", ID: row.ID})
		case blob != row.BlobID || at != row.Path:
			_, err = s.DB.Exec(ctx, "UPDATE wiki_pages SET path = ?, blob_id = ?, updated_at = ? WHERE id = ?", at, blob, now, row.ID)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("record page: %w", err)
		}
		out = append(out, PageChange{ID: row.ID, Path: at, Action: action})
	}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if known[file] {
			continue
		}
		made := pageRow{WikiID: id, Path: file, BlobID: found[file], CreatedAt: now, UpdatedAt: now}
		if err := db.Create(ctx, s.DB, "wiki_pages", &made); err != nil {
			return nil, fmt.Errorf("record page: %w", err)
		}
		out = append(out, PageChange{ID: made.ID, Path: file, Action: "created"})
	}
	return out, nil
}
