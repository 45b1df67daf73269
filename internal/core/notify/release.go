package notify

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/release"
)

// ofRelease is the kind of releases, which have mail and no comments.
const ofRelease noteable.Kind = "Release"

// newRelease is the event that a project has a new release, for watchers and users who chose it.
const newRelease = "new_release"

// releaseCreated enqueues the mails about a new release.
func (s *Service) releaseCreated(ctx context.Context, e release.Created) error {
	return s.mail(ctx, Mailing{Event: newRelease, On: ofRelease, Target: int64(e.After.ID), Project: int64(e.After.ProjectID), By: e.By.UserID})
}

// findRelease reads a release that mail is about, nil where it was deleted.
func (s *Service) findRelease(ctx context.Context, ref noteable.Ref) (*topic, error) {
	p, err := s.project(ctx, project.ID(ref.Project))
	if p == nil || err != nil {
		return nil, err
	}
	type row struct {
		Tag         string  `db:"tag_name"`
		Name        string  `db:"name"`
		Description *string `db:"description"`
	}
	r, err := db.Get[row](ctx, s.DB, "SELECT "+db.Columns[row]("r")+" FROM releases r WHERE r.id = ? AND r.project_id = ? AND r.pending IS NULL", ref.ID, ref.Project)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read release: %w", err)
	}
	t := &topic{
		MailContent: noteable.MailContent{Place: p.Place(), URL: s.URLs.Release(p.FullPath, r.Tag), Title: r.Name, Description: text(r.Description)},
		ref:         ref, noun: "release", header: "Release", references: reference.Of(p),
	}
	if r.Name != r.Tag {
		t.Title += " (" + r.Tag + ")"
	}
	return t, nil
}

// releaseReadable reports whether a user may read the release that a mailing is about, and its tag.
func (s *Service) releaseReadable(ctx context.Context, as authz.Actor, t *topic) (bool, error) {
	p := project.Of(t.Place)
	may, err := release.Admits(ctx, s.Policy, as, p)
	if err != nil || !may {
		return false, err
	}
	return s.Policy.Can(ctx, as, authz.ReadCode, p.Subject())
}

// watching returns the watchers of the place of an event alone.
func (s *Service) watching(ctx context.Context, a *audience, m Mailing, t *topic) ([]*recipient, error) {
	if err := s.watchers(ctx, a, t); err != nil {
		return nil, err
	}
	s.tellCut(a, m, t)
	return s.willing(ctx, m.Event, t, a.list)
}
