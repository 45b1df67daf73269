package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// hexOf writes an object id as the rows keep it: "" where there is none.
func hexOf(id gitstore.ObjectID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// idOf reads what hexOf wrote.
func idOf(text string) gitstore.ObjectID {
	id, err := gitstore.ParseObjectID(text)
	if err != nil {
		return gitstore.ObjectID{}
	}
	return id
}

// tip returns the commit of a branch of p, zero where there is no such branch.
func (s *Service) tip(ctx context.Context, p *project.Project, branch string) (gitstore.ObjectID, error) {
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	id, err := r.Branch(ctx, branch)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrBadName) {
		return gitstore.ObjectID{}, nil
	}
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("read branch: %w", err)
	}
	return id, nil
}

// source returns the project of m's source branch, nil where it is gone.
func (s *Service) source(ctx context.Context, p *project.Project, m *MergeRequest) (*project.Project, error) {
	switch {
	case m.SourceProjectID == nil:
		return nil, nil
	case *m.SourceProjectID == p.ID:
		return p, nil
	}
	found, err := s.Projects.Load(ctx, []project.ID{*m.SourceProjectID})
	if err != nil {
		return nil, err
	}
	return found[*m.SourceProjectID], nil
}

// look is what the repository says about a request at one moment.
type look struct {
	repo           *gitcmd.Repo       // of the target project
	source, target gitstore.ObjectID  // tips, zero where there is no such branch
	kept           *gitcmd.Quarantine // where a trial merge is made; nil for one of its own
}

// look reads both tips. The commits of a fork's come into the target's repository.
func (s *Service) look(ctx context.Context, p, source *project.Project, m *MergeRequest) (look, error) {
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return look{}, err
	}
	l := look{repo: r}
	if l.target, err = s.tip(ctx, p, m.TargetBranch); err != nil {
		return look{}, err
	}
	if source == nil {
		return l, nil
	}
	if l.source, err = s.tip(ctx, source, m.SourceBranch); err != nil {
		return look{}, err
	}
	if source.ID == p.ID || l.source.IsZero() {
		return l, nil
	}
	err = s.bring(ctx, &l, source, p)
	return l, err
}

// bring has the commits of a fork's branch in the target's repository. A branch that was
// moved and swept meanwhile counts as gone.
func (s *Service) bring(ctx context.Context, l *look, source, p *project.Project) error {
	_, err := l.repo.Info(ctx, l.source)
	if err == nil || !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	err = s.Repos.Bring(ctx, source, p, l.source)
	if errors.Is(err, gitstore.ErrNotFound) {
		l.source = gitstore.ObjectID{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("bring the fork's commits: %w", err)
	}
	return nil
}

// compare fills version and trial of a request that is not stored yet, and tells who wrote it.
func (s *Service) compare(ctx context.Context, p, source *project.Project, m *MergeRequest) (contributors, error) {
	l, err := s.look(ctx, p, source, m)
	if err != nil {
		return contributors{}, err
	}
	if err := l.version(ctx, m); err != nil {
		return contributors{}, err
	}
	if err := l.trial(ctx, m); err != nil {
		return contributors{}, err
	}
	key, err := s.above.Approvals.OwnersKey(ctx, l.repo, m)
	if err != nil {
		return contributors{}, err
	}
	if key != "" { // the rules of code owners come with a trial merge of a stored request
		m.TrialResult, m.TrialSourceSHA, m.TrialTargetSHA = "", "", ""
	}
	return s.contributorsOf(ctx, l, source, m, "")
}

// refresh brings an open request up to date with its branches, in the row and in m: a
// new version where the source has moved, a trial merge where the last one was made
// for other commits. It costs a look at two references where nothing has happened.
func (s *Service) refresh(ctx context.Context, p *project.Project, m *MergeRequest) error {
	return s.refreshFor(ctx, authz.Actor{}, p, m)
}

// refreshFor is refresh after a push of by.
func (s *Service) refreshFor(ctx context.Context, by authz.Actor, p *project.Project, m *MergeRequest) error {
	return s.refreshIn(ctx, by, p, m, nil)
}

// refreshIn is refreshFor with a quarantine for the trial merge, nil for one that is
// thrown away.
func (s *Service) refreshIn(ctx context.Context, by authz.Actor, p *project.Project, m *MergeRequest, kept *gitcmd.Quarantine) error {
	if m.State != StateOpened {
		return nil
	}
	source, err := s.source(ctx, p, m)
	if err != nil {
		return err
	}
	l, err := s.look(ctx, p, source, m)
	if err != nil {
		return err
	}
	if l.outdated(m) {
		if err := s.renew(ctx, by, l, p, source, m); err != nil {
			return err
		}
		if err := s.readObstacle(ctx, p, m); err != nil {
			return err
		}
		if err := s.readPipelines(ctx, []*MergeRequest{m}, map[project.ID]*project.Project{p.ID: p}); err != nil {
			return err
		}
	}
	l.kept = kept
	if m.State == StateOpened && !l.tried(m) {
		if err := l.trial(ctx, m); err != nil {
			return err
		}
		if err := s.storeTrial(ctx, p, m); err != nil {
			return err
		}
		if m.ownersChanged {
			if err := s.readObstacle(ctx, p, m); err != nil {
				return err
			}
		}
	}
	m.Status = m.statusAt(hexOf(l.target))
	return nil
}

// moved reports that the source branch of a request is not where its newest version left it.
func (s *Service) moved(ctx context.Context, p *project.Project, m *MergeRequest) (bool, error) {
	source, err := s.source(ctx, p, m)
	if err != nil {
		return false, err
	}
	l, err := s.look(ctx, p, source, m)
	return err == nil && !l.source.IsZero() && hexOf(l.source) != m.HeadSHA, err
}

// outdated reports that the newest version is not of the source branch's tip, or was
// made before there was something to compare it with.
func (l look) outdated(m *MergeRequest) bool {
	if l.source.IsZero() {
		return false // the branch is gone: the last version stays
	}
	return hexOf(l.source) != m.HeadSHA || (m.BaseSHA == "" && !l.target.IsZero())
}

// version fills the fields of m that describe a version of the tips. Without a source
// branch m keeps what it has; without a target there is a head and nothing to compare.
func (l look) version(ctx context.Context, m *MergeRequest) error {
	if l.source.IsZero() {
		return nil
	}
	m.HeadSHA, m.BaseSHA, m.StartSHA, m.CommitsCount, m.ChangesCount = hexOf(l.source), "", "", 0, nil
	if l.target.IsZero() {
		return nil
	}
	base, err := l.repo.MergeBase(ctx, l.target, l.source)
	switch {
	case errors.Is(err, gitstore.ErrNotFound):
		base = l.target // no common history: compare with the target itself
	case err != nil:
		return fmt.Errorf("merge base: %w", err)
	}
	m.BaseSHA, m.StartSHA = hexOf(base), hexOf(l.target)
	n, err := l.repo.Count(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{l.source}, Not: []gitstore.ObjectID{l.target}})
	if err != nil {
		return fmt.Errorf("count commits: %w", err)
	}
	m.CommitsCount = int64(n)
	files, err := changedFiles(ctx, l.repo, base, l.source)
	if err != nil {
		return err
	}
	m.ChangesCount = &files
	return nil
}

// renew stores a new version. When another request was first, m becomes what the row says.
func (s *Service) renew(ctx context.Context, by authz.Actor, l look, p, source *project.Project, m *MergeRequest) error {
	old := m.HeadSHA
	next := *m
	if err := l.version(ctx, &next); err != nil {
		return err
	}
	news, err := l.newCommits(ctx, m, next.BaseSHA)
	if err != nil {
		return err
	}
	since := old
	if m.BaseSHA == "" {
		since = "" // there was nothing to compare with, or another branch
	}
	people, err := s.contributorsOf(ctx, l, source, &next, since)
	if err != nil {
		return err
	}
	if err := s.keepOld(ctx, l, p, old); err != nil {
		return err
	}
	won := false
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, s.row(m.ID), func(ctx context.Context, row *MergeRequest) error {
			if won = row.State == StateOpened && row.HeadSHA == m.HeadSHA && row.BaseSHA == m.BaseSHA; !won {
				return nil
			}
			row.BaseSHA, row.StartSHA, row.HeadSHA = next.BaseSHA, next.StartSHA, next.HeadSHA
			row.CommitsCount, row.ChangesCount, row.UpdatedAt = next.CommitsCount, next.ChangesCount, s.stamp()
			if news.draft != "" {
				row.Title, row.Draft = Drafted(row.Title, true), true
			}
			if row.BaseSHA == "" {
				return nil
			}
			return s.insertVersion(ctx, row, row.UpdatedAt)
		})
		if errors.Is(err, db.ErrNotFound) {
			won = false
			return nil
		}
		if err != nil || !won {
			return err
		}
		next.UpdatedAt, next.VersionID, next.Title, next.Draft = out.After.UpdatedAt, out.After.VersionID, out.After.Title, out.After.Draft
		if err := s.storeContributors(ctx, m.ID, people); err != nil {
			return err
		}
		if old == next.HeadSHA {
			return nil
		}
		if err := s.leave(ctx, by, p, &next); err != nil {
			return err
		}
		if news.Fact, err = s.fact(ctx, by, p, out); err != nil {
			return err
		}
		news.OldSHA, news.NewSHA = old, next.HeadSHA
		if next.VersionID != nil {
			news.VersionID = *next.VersionID
		}
		news.Rebased = equal(out.After.RebaseSHA, &next.HeadSHA)
		if err := s.Bus.Publish(ctx, news); err != nil || out.Before.Draft || !next.Draft {
			return err
		}
		return s.Bus.Publish(ctx, Updated{Fact: news.Fact, DraftCommit: news.draft})
	})
	if err != nil {
		return fmt.Errorf("store version: %w", err)
	}
	if !won {
		return s.reload(ctx, m)
	}
	*m = next
	return s.pinHead(context.WithoutCancel(ctx), p, m)
}

// reload reads the row of m again and keeps what hangs on it.
func (s *Service) reload(ctx context.Context, m *MergeRequest) error {
	now, err := s.load(ctx, "m.id = ?", m.ID)
	if err != nil {
		return err
	}
	now.Assignees, now.Reviewers, now.Labels, now.VisibleNotes, now.Status = m.Assignees, m.Reviewers, m.Labels, m.VisibleNotes, m.Status
	*m = *now
	return nil
}

// pinHead makes refs/merge-requests/:iid/head name the newest version, so that its
// commits stay and can be fetched.
func (s *Service) pinHead(ctx context.Context, p *project.Project, m *MergeRequest) error {
	if m.HeadSHA == "" {
		return nil
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	name := gitstore.RefName(m.prefix() + "head")
	now, err := r.Ref(ctx, name)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return fmt.Errorf("read head of merge request: %w", err)
	}
	if hexOf(now) == m.HeadSHA {
		return nil
	}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: name, New: idOf(m.HeadSHA), AnyOld: true}}); err != nil {
		return fmt.Errorf("keep head of merge request: %w", err)
	}
	return nil
}

// unpin drops the references of a request that was deleted.
func (s *Service) unpin(ctx context.Context, p *project.Project, m *MergeRequest) error {
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	refs, err := r.Refs(ctx, m.prefix())
	if err != nil {
		return fmt.Errorf("list references of merge request: %w", err)
	}
	var updates []gitstore.RefUpdate
	for _, ref := range refs {
		updates = append(updates, gitstore.RefUpdate{Ref: ref.Name, AnyOld: true})
	}
	if err := r.UpdateRefs(ctx, updates); err != nil {
		return fmt.Errorf("drop references of merge request: %w", err)
	}
	return nil
}

// Versions lists the versions of a request, newest first.
func (s *Service) Versions(ctx context.Context, as authz.Actor, p *project.Project, iid IID, r page.Range) (page.Page[Version], error) {
	m, err := s.Read(ctx, as, p, iid)
	if err != nil {
		return page.Page[Version]{}, err
	}
	q := page.Query{Columns: db.Columns[Version]("v"), From: "merge_request_versions v", Order: page.Order{page.ID("v.id").Desc()}}
	q.Where.And("v.merge_request_id = ?", m.ID)
	list, err := page.Select[Version](ctx, s.DB, q, r)
	if err != nil {
		return list, fmt.Errorf("list versions: %w", err)
	}
	return list, s.identify(ctx, p, list.Items)
}

// Version returns one version of a request.
func (s *Service) Version(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, id VersionID) (*Version, error) {
	if err := s.requireRead(ctx, as, p); err != nil {
		return nil, err
	}
	v, err := db.Get[Version](ctx, s.DB, "SELECT "+db.Columns[Version]("v")+
		" FROM merge_request_versions v WHERE v.merge_request_id = ? AND v.id = ?", m.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("read version: %w", err)
	}
	one := []Version{v}
	return &one[0], s.identify(ctx, p, one)
}

// keepOld keeps the head of a version that is about to be old, where the new head does not
// hold it: it would be pruned, and the version could not be shown.
func (s *Service) keepOld(ctx context.Context, l look, p *project.Project, old string) error {
	if old == "" {
		return nil
	}
	held, err := contains(ctx, l.repo, l.source, idOf(old))
	if err != nil || held {
		return err
	}
	if _, err := l.repo.Info(ctx, idOf(old)); errors.Is(err, gitstore.ErrNotFound) {
		return nil // it is gone already
	}
	return s.Repos.KeepAround(ctx, p, idOf(old))
}
