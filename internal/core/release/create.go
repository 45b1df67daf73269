package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// bare is an error that clients read without the frame of its kind.
func bare(kind errs.Kind, message string) error {
	return &errs.Error{Kind: kind, Message: message, Bare: true}
}

func errExists() error { return bare(errs.Conflict, "Release already exists") }

// pusher is the actor as one who may create tags in the project of its job.
func pusher(as authz.Actor) authz.Actor {
	as.Job.Pushes = as.Job.ID != 0
	return as
}

// requireTag refuses a tag that a rule keeps from the actor.
func (s *Service) requireTag(ctx context.Context, as authz.Actor, p *project.Project, tag, text string) error {
	tags, err := s.Protections.Tags(ctx, pusher(as), p)
	if err != nil {
		return err
	}
	if protected, may := tags.MayCreateTag(tag); protected && !may {
		return bare(errs.Forbidden, text)
	}
	return nil
}

// Create makes a release of a tag. A tag that is not there is created from Ref: after a crash there are both or neither.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Release, error) {
	if err := s.require(ctx, as, p, authz.CreateRelease); err != nil {
		return nil, err
	}
	if err := s.requireTag(ctx, as, p, in.Tag, "You are not allowed to create this tag as it is protected."); err != nil {
		return nil, err
	}
	n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM releases r WHERE r.project_id = ? AND r.tag_name = ?", p.ID, in.Tag)
	if err != nil {
		return nil, fmt.Errorf("look for release: %w", err)
	}
	if n > 0 {
		return nil, errExists()
	}
	made, err := s.build(ctx, as, p, in)
	if err != nil {
		return nil, err
	}
	tag, err := s.Repos.TagCommit(ctx, p, in.Tag)
	switch {
	case errs.Is(err, errs.NotFound) && in.Ref == "":
		return nil, bare(errs.Unprocessable, "Ref is not specified")
	case errs.Is(err, errs.NotFound):
		err = s.createTagged(ctx, as, p, in, made)
	case err == nil:
		sha := tag.String()
		made.release.SHA = &sha
		err = s.insert(ctx, as, p, made)
	}
	if err != nil {
		return nil, errs.Wrap(err, "create release")
	}
	return s.find(ctx, p, in.Tag)
}

// parts is a release that is not stored yet.
type parts struct {
	release    Release
	links      []linkRow
	milestones []milestone.ID
}

// build makes the rows of a new release, but for its commit.
func (s *Service) build(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*parts, error) {
	now := db.At(s.Now())
	out := &parts{release: Release{
		ProjectID: p.ID, Tag: in.Tag, Name: in.Name, Description: in.Description, ReleasedAt: now, CreatedAt: now, UpdatedAt: now,
	}}
	if as.SignedIn() {
		out.release.AuthorID = &as.UserID
	}
	if strings.TrimSpace(in.Name) == "" {
		out.release.Name = in.Tag
	}
	if in.ReleasedAt != nil {
		out.release.ReleasedAt = db.At(*in.ReleasedAt)
	}
	var err error
	if out.milestones, err = s.milestones(ctx, p, in.Milestones); err != nil {
		return nil, err
	}
	bad := out.release.check()
	if len(in.Links) > maxLinks {
		bad.Add("links", "are too many (maximum is 200)")
	}
	for i, l := range in.Links[:min(len(in.Links), maxLinks)] {
		made := l.link(now)
		for _, f := range made.check() {
			for _, m := range f.Messages {
				bad.Add("links_"+f.Name, m)
			}
		}
		for _, other := range out.links[:i] {
			bad.Check(other.Name != made.Name, "links_name", "has already been taken")
			bad.Check(other.URL != made.URL, "links_url", "has already been taken")
			bad.Check(other.Path == nil || made.Path == nil || *other.Path != *made.Path, "links_filepath", "has already been taken")
		}
		out.links = append(out.links, made)
	}
	return out, invalid(bad)
}

// createTagged creates a release with its tag. The release is stored first and not shown: what publishes that the tag was created shows it, also
// after a crash.
func (s *Service) createTagged(ctx context.Context, as authz.Actor, p *project.Project, in Input, made *parts) error {
	stored := false
	_, err := s.Repos.CreateTagWith(ctx, pusher(as), p, repo.NewTag{
		Name: in.Tag, Target: in.Ref, Message: in.TagMessage,
		Before: func(ctx context.Context, c repo.RefChange, commit string) error {
			object := c.New.String()
			made.release.Pending, made.release.SHA = &object, &commit
			err := s.insert(ctx, as, p, made)
			if stored = err == nil; stored {
				s.making.Store(made.release.ID, struct{}{})
			}
			return err
		},
	})
	defer s.making.Delete(made.release.ID)
	if err == nil || !stored {
		return tagRefusal(err)
	}
	ctx = context.WithoutCancel(ctx)
	if there, failed := s.Repos.TagCommit(ctx, p, in.Tag); failed == nil && there.String() == *made.release.SHA {
		shown, failed := s.find(ctx, p, in.Tag)
		if failed == nil && shown.ID == made.release.ID {
			return nil // another push has created the same tag, and shown the release
		}
		return err // the tag was created, and what settles pushes shows the release
	}
	if failed := s.dropPending(ctx, made.release.ID); failed != nil {
		s.Log.Error("drop a release whose tag was not created", "project_id", p.ID, "error", failed)
	}
	return tagRefusal(err)
}

// tagRefusal is what a call reads about a tag that was not created.
func tagRefusal(err error) error {
	if errs.Is(err, errs.Invalid) {
		return bare(errs.Unprocessable, err.Error())
	}
	return err
}

// insert stores a new release. It is published once its tag is there.
func (s *Service) insert(ctx context.Context, as authz.Actor, p *project.Project, made *parts) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "releases", &made.release); err != nil {
			return err
		}
		for i := range made.links {
			made.links[i].ReleaseID = made.release.ID
		}
		if _, err := db.InsertAll(ctx, s.DB, "release_links", made.links); err != nil {
			return err
		}
		if err := s.link(ctx, made.release.ID, made.milestones); err != nil {
			return err
		}
		if made.release.Pending != nil {
			return nil
		}
		return s.announce(ctx, Created{change.Created(as, s.Now(), p.Place(), &made.release)})
	})
	if db.Duplicate(err, "releases", "project_id", "tag_name") {
		return errExists()
	}
	return err
}

// milestoneRow is a milestone of a release.
type milestoneRow struct {
	ReleaseID   ID           `db:"release_id"`
	MilestoneID milestone.ID `db:"milestone_id"`
}

// link stores the milestones of a release.
func (s *Service) link(ctx context.Context, id ID, milestones []milestone.ID) error {
	rows := make([]milestoneRow, len(milestones))
	for i, m := range milestones {
		rows[i] = milestoneRow{id, m}
	}
	return db.InsertRows(ctx, s.DB, "release_milestones", rows, "")
}

// milestones finds those that a call names, in the project and the groups above it.
func (s *Service) milestones(ctx context.Context, p *project.Project, named Milestones) ([]milestone.ID, error) {
	if named.Titles != nil && named.IDs != nil {
		return nil, errs.Plain("milestones, milestone_ids Cannot specify milestones and milestone_ids at the same time")
	}
	if len(named.Titles) > maxMilestones || len(named.IDs) > maxMilestones {
		return nil, errs.Plain("Validation failed: Milestones are too many (maximum is 100)")
	}
	found, err := s.Milestones.Named(ctx, p, named.Titles, named.IDs)
	if err != nil {
		return nil, err
	}
	var out []milestone.ID
	var unknown []string
	for _, title := range named.Titles {
		if i := slices.IndexFunc(found, func(m milestone.Milestone) bool { return m.Title == title }); i < 0 {
			unknown = append(unknown, title)
		} else {
			out = append(out, found[i].ID)
		}
	}
	if len(unknown) > 0 {
		return nil, errs.Plain("Milestone(s) not found: " + strings.Join(unknown, ", "))
	}
	for _, id := range named.IDs {
		if !slices.ContainsFunc(found, func(m milestone.Milestone) bool { return m.ID == id }) {
			unknown = append(unknown, fmt.Sprint(id))
		}
		out = append(out, id)
	}
	if len(unknown) > 0 {
		return nil, errs.Plain("Milestone id(s) not found: " + strings.Join(unknown, ", "))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// pushed shows the releases whose tags a push has created.
func (s *Service) pushed(ctx context.Context, e repo.Pushed) error {
	names := map[string]string{} // of tags, to the objects that they name
	for _, c := range e.Changes {
		if c.Ref.IsTag() && c.Created() {
			names[c.Ref.Short()] = c.New.String()
		}
	}
	if len(names) == 0 {
		return nil
	}
	var w db.Where
	w.Raw("r.pending IS NOT NULL")
	w.And("r.project_id = ?", e.ProjectID)
	waiting, err := db.Select[Release](ctx, s.DB, "SELECT "+columns+" FROM releases r"+w.SQL()+" ORDER BY r.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("releases that wait for their tags: %w", err)
	}
	for _, r := range waiting {
		if names[r.Tag] == "" || names[r.Tag] != *r.Pending {
			continue
		}
		shown, err := db.Update(ctx, s.DB, db.Row{Table: "releases", ID: r.ID}, func(_ context.Context, r *Release) error {
			r.Pending = nil
			return nil
		})
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		out := Created{change.Of[Release]{Stamp: e.Stamp, Place: e.Project.Place(), After: &shown.After}}
		if err := s.announce(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// announce publishes that a release and its tag are there, and lets its evidence be collected.
func (s *Service) announce(ctx context.Context, e Created) error {
	if err := s.schedule(ctx, e.After); err != nil {
		return err
	}
	return s.Bus.Publish(ctx, e)
}

// lostAge is how old a release is at least whose connection to the database counts as lost before its tag was created.
const lostAge = 10 * time.Second

// SettleLost is Settle for releases whose connection was lost.
func (s *Service) SettleLost(ctx context.Context) error {
	return s.Settle(ctx, db.At(s.Now().Add(-lostAge)))
}

// Settle deletes releases whose tags were not created because of a crash. A push that is not settled yet may show them still, and so may one that this
// process is about to make.
func (s *Service) Settle(ctx context.Context, before db.Time) error {
	ids, err := db.Select[ID](ctx, s.DB, `SELECT r.id FROM releases r WHERE r.pending IS NOT NULL AND r.created_at <= ?
		AND NOT EXISTS (SELECT 1 FROM ref_intents i WHERE i.project_id = r.project_id) ORDER BY r.id`, before)
	if err != nil {
		return fmt.Errorf("releases without tags: %w", err)
	}
	for _, id := range ids {
		if _, running := s.making.Load(id); running {
			continue
		}
		if err := s.dropPending(ctx, id); err != nil {
			return fmt.Errorf("drop release without a tag: %w", err)
		}
	}
	return nil
}

// dropPending deletes a release that waits for its tag.
func (s *Service) dropPending(ctx context.Context, id ID) error {
	left := db.Row{Table: "releases", ID: id}
	left.And.Raw("pending IS NOT NULL")
	_, err := db.Drop(ctx, s.DB, left)
	return err
}
