package release

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

var linkColumns = db.Columns[Link]("l")

// link is a link that is not stored yet.
func (i LinkInput) link(now db.Time) linkRow {
	l := linkRow{Link{Name: i.Name, URL: strings.TrimSpace(i.URL), Path: i.Path, Type: i.Type}, now, now}
	if l.Type == "" {
		l.Type = LinkOther
	}
	if l.Path != nil && *l.Path == "" {
		l.Path = nil
	}
	return l
}

// badLink is the error of a link that breaks rules: all sentences.
func badLink(bad errs.Fields) error {
	if len(bad) == 0 {
		return nil
	}
	return errs.Sentences(errs.Invalid, sentences(bad)...)
}

// takenLink is badLink for a link that another one of the release keeps from being stored.
func takenLink(err error) error {
	for _, column := range []string{"name", "url", "filepath"} {
		if db.Duplicate(err, "release_links", "release_id", column) {
			var bad errs.Fields
			bad.Add(column, "has already been taken")
			return badLink(bad)
		}
	}
	return err
}

// Links returns a page of the links of the release of a tag, the newest first.
func (s *Service) Links(ctx context.Context, as authz.Actor, p *project.Project, tag string, part page.Range) (page.Page[Link], error) {
	if err := s.require(ctx, as, p, authz.ReadRelease); err != nil {
		return page.Page[Link]{}, err
	}
	r, err := s.find(ctx, p, tag)
	if err != nil {
		return page.Page[Link]{}, err
	}
	var w db.Where
	w.And("l.release_id = ?", r.ID)
	list, err := page.Select[Link](ctx, s.DB, page.Query{Columns: linkColumns, From: "release_links l", Where: w, Order: page.Order{page.ID("l.id").Desc()}}, part)
	return list, errs.Wrap(err, "list links of release")
}

// FindLink returns a link of the release of a tag.
func (s *Service) FindLink(ctx context.Context, as authz.Actor, p *project.Project, tag string, id LinkID) (*Link, error) {
	if err := s.require(ctx, as, p, authz.ReadRelease); err != nil {
		return nil, err
	}
	r, err := s.find(ctx, p, tag)
	if err != nil {
		return nil, err
	}
	return s.findLink(ctx, "l.release_id = ? AND l.id = ?", r.ID, id)
}

// Download returns the link of the release of a tag with a path below its downloads.
func (s *Service) Download(ctx context.Context, as authz.Actor, p *project.Project, tag, path string) (*Link, error) {
	r, err := s.Find(ctx, as, p, tag)
	if err != nil {
		return nil, err
	}
	return s.findLink(ctx, "l.release_id = ? AND l.filepath = ?", r.ID, "/"+strings.TrimPrefix(path, "/"))
}

// PlacedLink is a link with the tag of its release and its project.
type PlacedLink struct {
	*Link

	Tag     string
	Project *project.Project // with the actor's level
}

// LinksByIDs returns those of the links with these ids that the actor may read, in two statements.
func (s *Service) LinksByIDs(ctx context.Context, as authz.Actor, ids []LinkID) (map[LinkID]*PlacedLink, error) {
	type row struct {
		Link
		Tag       string     `db:"tag_name"`
		ProjectID project.ID `db:"project_id"`
	}
	out := make(map[LinkID]*PlacedLink, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("l.id", ids)
	w.Raw(there)
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+linkColumns+", r.tag_name, r.project_id FROM release_links l JOIN releases r ON r.id = l.release_id"+w.SQL()+" ORDER BY l.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("links by id: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[row]{
		Project: func(r *row) project.ID { return r.ProjectID },
		Needs: func(_ *row, p *project.Project) (authz.Ability, authz.Subject) {
			return authz.ReadRelease, p.SubjectIn("releases")
		},
	})
	for _, found := range readable {
		out[found.Row.ID] = &PlacedLink{&found.Row.Link, found.Row.Tag, found.Project}
	}
	return out, err
}

func (s *Service) findLink(ctx context.Context, cond string, args ...any) (*Link, error) {
	l, err := db.Get[Link](ctx, s.DB, "SELECT "+linkColumns+" FROM release_links l WHERE "+cond, args...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find link of release: %w", err)
	}
	return &l, nil
}

// CreateLink adds a link to the release of a tag.
func (s *Service) CreateLink(ctx context.Context, as authz.Actor, p *project.Project, tag string, in LinkInput) (*Link, error) {
	r, err := s.changeable(ctx, as, p, authz.CreateRelease, tag)
	if err != nil {
		return nil, err
	}
	l := in.link(db.At(s.Now()))
	l.ReleaseID = r.ID
	if err := badLink(l.check()); err != nil {
		return nil, err
	}
	bound := db.Bound{Table: "release_links", Most: maxLinks, Full: errs.Sentences(errs.Invalid, "Links are too many (maximum is 200)")}
	bound.Of.And("release_id = ?", r.ID)
	err = s.DB.InTx(ctx, func(ctx context.Context) error { return db.Create(ctx, s.DB, "release_links", &l, bound) })
	if err != nil {
		return nil, errs.Wrap(takenLink(err), "create link of release")
	}
	return &l.Link, nil
}

func (s *Service) rowOf(as authz.Actor, of ID, id LinkID) db.Row {
	r := db.Row{Table: "release_links", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errs.Missing("")}
	r.And.And("release_id = ?", of)
	return r
}

// UpdateLink changes a link of the release of a tag.
func (s *Service) UpdateLink(ctx context.Context, as authz.Actor, p *project.Project, tag string, id LinkID, c LinkChanges) (*Link, error) {
	r, err := s.changeable(ctx, as, p, authz.UpdateRelease, tag)
	if err != nil {
		return nil, err
	}
	out, err := db.Update(ctx, s.DB, s.rowOf(as, r.ID, id), func(_ context.Context, l *linkRow) error {
		db.Assign(&l.Link, &c)
		return badLink(l.check())
	})
	if err != nil {
		return nil, errs.Wrap(takenLink(err), "update link of release")
	}
	return &out.After.Link, nil
}

// DeleteLink deletes a link of the release of a tag and returns it.
func (s *Service) DeleteLink(ctx context.Context, as authz.Actor, p *project.Project, tag string, id LinkID) (*Link, error) {
	r, err := s.changeable(ctx, as, p, authz.DeleteRelease, tag)
	if err != nil {
		return nil, err
	}
	l, err := db.Delete[linkRow](ctx, s.DB, s.rowOf(as, r.ID, id), nil)
	if err != nil {
		return nil, errs.Wrap(err, "delete link of release")
	}
	return &l.Link, nil
}
