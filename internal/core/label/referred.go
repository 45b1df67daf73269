package label

import (
	"context"
	"fmt"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// Refers names the references that lead to what the package has.
func (s *Service) Refers() reference.Kind { return reference.Label }

// Referred returns the labels that texts refer to by title or by id, of the project or group or
// of a group above it, in one statement. It asks for no permission: sought has the projects and
// groups that the actor sees, and with them their labels.
func (s *Service) Referred(ctx context.Context, _ authz.Actor, sought reference.Query) (map[reference.Key]*reference.Target, error) {
	projects := map[authz.NamespaceID]project.ID{}
	var places []authz.NamespaceID
	var titles []string
	ids := []ID{0}
	for _, key := range sought.Keys {
		place := key.Group
		if p := sought.Projects[key.Project]; p != nil {
			place = p.NamespaceID
			projects[place] = p.ID
		}
		places, titles = append(places, place), append(titles, key.Name)
		if key.Number != 0 {
			ids = append(ids, ID(key.Number))
		}
	}
	type row struct {
		Place authz.NamespaceID `db:"place"`
		Label
	}
	var w db.Where
	w.In("d.namespace_id", places)
	titleMarks, args := db.Marks(titles)
	idMarks, more := db.Marks(ids)
	w.And("(l.title IN ("+titleMarks+") OR l.id IN ("+idMarks+"))", append(args, more...)...)
	rows, err := db.Select[row](ctx, s.DB, `SELECT d.namespace_id AS place, l.id, l.title, l.description, l.color FROM namespace_ancestors d
		JOIN labels l ON l.namespace_id = d.ancestor_id`+w.SQL()+" ORDER BY d.depth DESC, l.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("labels that texts refer to: %w", err)
	}
	type named struct {
		place authz.NamespaceID
		title string
	}
	byTitle, byID := make(map[named]*Label, len(rows)), make(map[named]*Label, len(rows))
	for i := range rows {
		l := &rows[i].Label
		byTitle[named{rows[i].Place, l.Title}] = l // the nearest comes last
		byID[named{rows[i].Place, strconv.FormatInt(int64(l.ID), 10)}] = l
	}
	out := make(map[reference.Key]*reference.Target, len(sought.Keys))
	for _, key := range sought.Keys {
		place, path := key.Group, sought.Groups[key.Group]
		p := sought.Projects[key.Project]
		if p != nil {
			place, path = p.NamespaceID, p.FullPath
		}
		l := byID[named{place, key.Name}]
		if key.Number == 0 || l == nil {
			l = byTitle[named{place, key.Name}]
		}
		if l == nil {
			continue
		}
		t := &reference.Target{
			Kind: reference.Label, ID: int64(l.ID), ProjectID: key.Project, GroupID: key.Group, Path: path, Title: l.Title,
			Color: l.Color, TextColor: l.TextColor(), URL: s.URLs.GroupIssuesLabelled(path, l.Title),
		}
		if p != nil {
			t.URL = s.URLs.IssuesLabelled(path, l.Title)
		}
		if l.Description != nil {
			t.Description = *l.Description
		}
		out[key] = t
	}
	return out, nil
}
