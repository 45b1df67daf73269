package release

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// View is a release as one caller may see it: a part that is nil is not for the caller or not there.
type View struct {
	Release
	Project    *project.Project
	Announced  bool             // whether it is announced for later
	Code       bool             // whether the caller reads the code of the project, and so the tag
	Author     *account.Summary // nil where the account is gone
	Commit     *gitstore.Commit
	Milestones []*milestone.Milestone
	Links      []Link     // the newest first
	Evidences  []Evidence // the oldest first; for those who read the code, and the issues where the evidence has any
}

// relations is what views show of releases and is stored elsewhere.
type relations struct {
	projects   map[project.ID]*project.Project
	code       map[project.ID]*project.Project
	issues     map[project.ID]*project.Project
	evidences  map[ID][]Evidence
	people     map[authz.UserID]*account.Summary
	commits    map[repo.CommitID]*gitstore.Commit
	links      map[ID][]Link
	of         []milestoneRow
	milestones map[milestone.ID]*milestone.Milestone
}

// View is Views for one release of a project.
func (s *Service) View(ctx context.Context, as authz.Actor, p *project.Project, r *Release) (*View, error) {
	out, err := s.Views(ctx, as, map[project.ID]*project.Project{p.ID: p}, []Release{*r})
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// Views returns releases as the caller may see them, with as many statements for many as for one. They must have been read for the caller.
// Projects are those that the caller of Views has read for the actor; nil reads them.
func (s *Service) Views(ctx context.Context, as authz.Actor, projects map[project.ID]*project.Project, list []Release) ([]View, error) {
	r, err := s.related(ctx, as, projects, list)
	if err != nil {
		return nil, fmt.Errorf("views of releases: %w", err)
	}
	out, now := make([]View, 0, len(list)), s.Now()
	for i := range list {
		if p := r.projects[list[i].ProjectID]; p != nil {
			v := newView(&list[i], p, r)
			v.Announced = v.Upcoming(now)
			out = append(out, v)
		}
	}
	return out, nil
}

// related reads what the views of releases show of other subjects, each in one look.
func (s *Service) related(ctx context.Context, as authz.Actor, projects map[project.ID]*project.Project, list []Release) (relations, error) {
	r := relations{projects: projects, links: map[ID][]Link{}}
	var (
		ids     []ID
		of      []project.ID
		people  []authz.UserID
		commits []repo.CommitID
	)
	for i := range list {
		ids, of = append(ids, list[i].ID), append(of, list[i].ProjectID)
		if list[i].AuthorID != nil {
			people = append(people, *list[i].AuthorID)
		}
		if id, ok := list[i].commit(); ok {
			commits = append(commits, id)
		}
	}
	if len(list) == 0 {
		return r, nil
	}
	var err error
	if r.projects == nil {
		if r.projects, err = s.Projects.ByIDs(ctx, as, of); err != nil {
			return r, err
		}
	}
	if r.code, err = s.Projects.Among(ctx, as, r.projects, of, authz.ReadCode); err != nil {
		return r, err
	}
	if r.issues, err = s.Projects.Among(ctx, as, r.code, of, authz.ReadIssue); err != nil {
		return r, err
	}
	if r.people, err = s.Accounts.ByIDs(ctx, people); err != nil {
		return r, err
	}
	if r.commits, err = s.Repos.CommitsIn(ctx, r.code, commits); err != nil {
		return r, err
	}
	return r, s.attached(ctx, as, ids, &r)
}

// LinksOf returns the links of releases, the newest first. It asks for no permission.
func (s *Service) LinksOf(ctx context.Context, ids []ID) (map[ID][]Link, error) {
	var w db.Where
	w.In("l.release_id", ids)
	links, err := db.Select[Link](ctx, s.DB, "SELECT "+linkColumns+" FROM release_links l"+w.SQL()+" ORDER BY l.id DESC", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("links of releases: %w", err)
	}
	out := map[ID][]Link{}
	for _, l := range links {
		out[l.ReleaseID] = append(out[l.ReleaseID], l)
	}
	return out, nil
}

// attached reads the links and milestones of releases.
func (s *Service) attached(ctx context.Context, as authz.Actor, ids []ID, r *relations) error {
	var err error
	if r.links, err = s.LinksOf(ctx, ids); err != nil {
		return err
	}
	if r.evidences, err = s.evidences(ctx, ids); err != nil {
		return err
	}
	var w db.Where
	w.In("m.release_id", ids)
	if r.of, err = db.Select[milestoneRow](ctx, s.DB, "SELECT m.release_id, m.milestone_id FROM release_milestones m"+w.SQL()+
		" ORDER BY m.release_id, m.milestone_id", w.Args()...); err != nil {
		return err
	}
	var wanted []milestone.ID
	for _, m := range r.of {
		wanted = append(wanted, m.MilestoneID)
	}
	r.milestones, err = s.Milestones.ByIDs(ctx, as, wanted)
	return err
}

// commit is the commit that the tag named.
func (r *Release) commit() (repo.CommitID, bool) {
	if r.SHA == nil {
		return repo.CommitID{}, false
	}
	id, err := gitstore.ParseObjectID(*r.SHA)
	return repo.CommitID{Project: r.ProjectID, ID: id}, err == nil
}

func newView(of *Release, p *project.Project, r relations) View {
	v := View{Release: *of, Project: p, Code: r.code[p.ID] != nil, Links: r.links[of.ID]}
	if of.AuthorID != nil {
		v.Author = r.people[*of.AuthorID]
	}
	if id, ok := of.commit(); ok {
		v.Commit = r.commits[id]
	}
	for _, row := range r.of {
		if m := r.milestones[row.MilestoneID]; row.ReleaseID == of.ID && m != nil {
			v.Milestones = append(v.Milestones, m)
		}
	}
	v.AuthorID, v.Pending = nil, nil
	for _, e := range r.evidences[of.ID] {
		if v.Code && (!e.Milestones || r.issues[p.ID] != nil) {
			v.Evidences = append(v.Evidences, e)
		}
	}
	if !v.Code {
		v.Tag, v.SHA = "", nil
	}
	return v
}
