package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
)

const (
	maxEvidences      = 100   // of one release
	maxEvidenceIssues = 2_000 // in one piece of evidence
	maxEvidenceText   = 4_000 // bytes of each description
	maxReports        = 500   // in one piece of evidence
	evidenceDeadline  = time.Minute
)

// EvidenceID identifies evidence among all.
type EvidenceID int64

// Evidence is a snapshot of a release, whose content is served apart.
type Evidence struct {
	ID          EvidenceID `db:"id"`
	ReleaseID   ID         `db:"release_id"`
	SHA         string     `db:"sha"`        // SHA-256 of the content
	Milestones  bool       `db:"milestones"` // whether the content has any, with their issues
	CollectedAt db.Time    `db:"collected_at"`
}

// evidenceRow is evidence with its content.
type evidenceRow struct {
	Evidence
	Content []byte `db:"content"`
}

var evidenceColumns = db.Columns[Evidence]("e")

// snapshot is the content of evidence. Truncated is for one that reached a bound.
type snapshot struct {
	Release   releaseSnapshot `json:"release"`
	Truncated bool            `json:"truncated,omitempty"`
}

type releaseSnapshot struct {
	ID          ID                  `json:"id"`
	Tag         string              `json:"tag_name"`
	Name        string              `json:"name"`
	Description *string             `json:"description"`
	CreatedAt   string              `json:"created_at"`
	Project     projectSnapshot     `json:"project"`
	Milestones  []milestoneSnapshot `json:"milestones"`
	Reports     []reportSnapshot    `json:"report_artifacts"`
}

type projectSnapshot struct {
	ID          project.ID `json:"id"`
	Name        string     `json:"name"`
	Description *string    `json:"description"`
	CreatedAt   string     `json:"created_at"`
}

type milestoneSnapshot struct {
	ID          milestone.ID    `json:"id"`
	Title       string          `json:"title"`
	Description *string         `json:"description"`
	State       string          `json:"state"`
	DueDate     *string         `json:"due_date"`
	CreatedAt   string          `json:"created_at"`
	Issues      []issueSnapshot `json:"issues"`
}

type issueSnapshot struct {
	ID           int64   `json:"id"`
	Title        string  `json:"title"`
	Description  *string `json:"description"`
	State        string  `json:"state"`
	IID          int64   `json:"iid"`
	Confidential bool    `json:"confidential"`
	CreatedAt    string  `json:"created_at"`
	DueDate      *string `json:"due_date"`
}

type reportSnapshot struct {
	URL string `json:"url"`
}

func stamp(t db.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// collecting is the job that collects the evidence of a release.
type collecting struct {
	ReleaseID ID `json:"release_id"`
}

// Kind names the job.
func (collecting) Kind() string { return "collect_release_evidence" }

// RegisterJobs says how evidence is collected.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.collectDue, job.On(job.Maintenance), job.Timeout(evidenceDeadline))
}

// schedule lets evidence of a release be collected when it is released; never where that was before it was created.
func (s *Service) schedule(ctx context.Context, r *Release) error {
	if r.Historical() {
		return nil
	}
	if err := s.Jobs.Enqueue(ctx, collecting{r.ID}, job.At(r.ReleasedAt.Time)); err != nil {
		return fmt.Errorf("enqueue evidence of release: %w", err)
	}
	return nil
}

// collectDue collects the evidence of a release that is due and has none since it was released.
func (s *Service) collectDue(ctx context.Context, args collecting) error {
	r, err := db.Get[Release](ctx, s.DB, "SELECT "+columns+" FROM releases r WHERE r.id = ? AND "+there, args.ReleaseID)
	if errors.Is(err, db.ErrNotFound) {
		return nil // deleted since
	}
	if err != nil {
		return fmt.Errorf("find release: %w", err)
	}
	if r.Upcoming(s.Now()) || r.Historical() {
		return nil // it was put off: that has a job of its own
	}
	found, err := s.Projects.Load(ctx, []project.ID{r.ProjectID})
	if err != nil || found[r.ProjectID] == nil {
		return err
	}
	err = s.collect(ctx, found[r.ProjectID], &r, &r.ReleasedAt)
	if errs.KindOf(err) != errs.Internal {
		return nil // deleted meanwhile, or full
	}
	return err
}

// CollectEvidence adds evidence to the release of a tag and returns the release.
func (s *Service) CollectEvidence(ctx context.Context, as authz.Actor, p *project.Project, tag string) (*Release, error) {
	r, err := s.changeable(ctx, as, p, authz.CreateRelease, tag)
	if err != nil {
		return nil, err
	}
	return r, s.collect(ctx, p, r, nil)
}

// collect makes evidence of a release and stores it: only where there is none since a time, always where that is nil.
func (s *Service) collect(ctx context.Context, p *project.Project, r *Release, since *db.Time) error {
	content, withMilestones, err := s.snapshot(ctx, p, r)
	if err != nil {
		return fmt.Errorf("collect evidence of release: %w", err)
	}
	sum := sha256.Sum256(content)
	row := evidenceRow{Evidence{ReleaseID: r.ID, SHA: hex.EncodeToString(sum[:]), Milestones: withMilestones, CollectedAt: db.At(s.Now())}, content}
	bound := db.Bound{Table: "release_evidences", Most: maxEvidences, Full: errs.Sentences(errs.Invalid, "Evidences are too many (maximum is 100)")}
	bound.Of.And("release_id = ?", r.ID)
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.DB.Lock(ctx, fmt.Sprintf("evidence of release %d", r.ID)); err != nil {
			return err
		}
		if since != nil {
			n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM release_evidences e WHERE e.release_id = ? AND e.collected_at >= ?", r.ID, *since)
			if err != nil || n > 0 {
				return err
			}
		}
		n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM releases r WHERE r.id = ?", r.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return errs.Missing("")
		}
		return db.Create(ctx, s.DB, "release_evidences", &row, bound)
	})
	return errs.Wrap(err, "store evidence of release")
}

// snapshot returns the content of evidence, and whether it has milestones. Confidential issues and those of other projects are left out.
func (s *Service) snapshot(ctx context.Context, p *project.Project, r *Release) ([]byte, bool, error) {
	out := snapshot{Release: releaseSnapshot{
		ID: r.ID, Tag: r.Tag, Name: r.Name, Description: r.Description, CreatedAt: stamp(r.CreatedAt), Milestones: []milestoneSnapshot{}, Reports: []reportSnapshot{},
		Project: projectSnapshot{ID: p.ID, Name: p.Name, Description: p.Description, CreatedAt: stamp(p.CreatedAt)},
	}}
	if err := s.milestonesInto(ctx, r, &out); err != nil {
		return nil, false, err
	}
	if err := s.issuesInto(ctx, r, &out); err != nil {
		return nil, false, err
	}
	if err := s.reportsInto(ctx, p, r, &out); err != nil {
		return nil, false, err
	}
	content, err := json.Marshal(&out)
	return content, len(out.Release.Milestones) > 0, err
}

func (s *Service) milestonesInto(ctx context.Context, r *Release, out *snapshot) error {
	type row struct {
		ID          milestone.ID `db:"id"`
		Title       string       `db:"title"`
		Description *string      `db:"description"`
		State       string       `db:"state"`
		DueDate     *string      `db:"due_date"`
		CreatedAt   db.Time      `db:"created_at"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+db.Columns[row]("m")+` FROM milestones m JOIN release_milestones t ON t.milestone_id = m.id
		WHERE t.release_id = ? ORDER BY m.id LIMIT ?`, r.ID, maxMilestones)
	if err != nil {
		return fmt.Errorf("milestones of release: %w", err)
	}
	for _, m := range rows {
		out.Release.Milestones = append(out.Release.Milestones, milestoneSnapshot{
			ID: m.ID, Title: m.Title, Description: out.text(m.Description), State: m.State, DueDate: m.DueDate, CreatedAt: stamp(m.CreatedAt), Issues: []issueSnapshot{},
		})
	}
	return nil
}

// text cuts a description.
func (s *snapshot) text(of *string) *string {
	if of == nil || len(*of) <= maxEvidenceText {
		return of
	}
	s.Truncated = true
	return new(budget.Begin(*of, maxEvidenceText))
}

func (s *Service) issuesInto(ctx context.Context, r *Release, out *snapshot) error {
	type row struct {
		ID          int64        `db:"id"`
		IID         int64        `db:"iid"`
		Title       string       `db:"title"`
		Description *string      `db:"description"`
		State       string       `db:"state"`
		DueDate     *string      `db:"due_date"`
		CreatedAt   db.Time      `db:"created_at"`
		MilestoneID milestone.ID `db:"milestone_id"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT i.id, i.iid, i.title, SUBSTR(i.description, 1, ?) AS description, i.state, i.due_date, i.created_at, i.milestone_id FROM issues i
		JOIN release_milestones t ON t.milestone_id = i.milestone_id WHERE t.release_id = ? AND i.project_id = ? AND NOT i.confidential
		ORDER BY i.milestone_id, i.id LIMIT ?`, maxEvidenceText+1, r.ID, r.ProjectID, maxEvidenceIssues+1)
	if err != nil {
		return fmt.Errorf("issues of release: %w", err)
	}
	if len(rows) > maxEvidenceIssues {
		rows, out.Truncated = rows[:maxEvidenceIssues], true
	}
	at := map[milestone.ID]*milestoneSnapshot{}
	for i := range out.Release.Milestones {
		at[out.Release.Milestones[i].ID] = &out.Release.Milestones[i]
	}
	for _, i := range rows {
		if m := at[i.MilestoneID]; m != nil {
			m.Issues = append(m.Issues, issueSnapshot{
				ID: i.ID, IID: i.IID, Title: i.Title, Description: out.text(i.Description), State: i.State, CreatedAt: stamp(i.CreatedAt), DueDate: i.DueDate,
			})
		}
	}
	return nil
}

// reportsInto names the artifacts of jobs that left public reports in the last pipeline of the tag's commit.
func (s *Service) reportsInto(ctx context.Context, p *project.Project, r *Release, out *snapshot) error {
	if r.SHA == nil {
		return nil
	}
	jobs, err := db.Select[int64](ctx, s.DB, `SELECT DISTINCT c.id FROM commit_statuses c JOIN job_artifacts a ON a.job_id = c.id
		WHERE c.pipeline_id = (SELECT MAX(l.id) FROM pipelines l WHERE l.project_id = ? AND l.sha = ?) AND NOT c.retried AND a.access = 'public'
			AND a.type NOT IN ('archive', 'metadata', 'trace', 'metrics_referee', 'network_referee')
		ORDER BY c.id LIMIT ?`, r.ProjectID, *r.SHA, maxReports)
	if err != nil {
		return fmt.Errorf("reports of release: %w", err)
	}
	for _, id := range jobs {
		out.Release.Reports = append(out.Release.Reports, reportSnapshot{s.URLs.JobArtifacts(p.FullPath, id)})
	}
	return nil
}

// Evidence returns the content of evidence of the release of a tag. It requires the right to read the code, and the issues where the content has any.
func (s *Service) Evidence(ctx context.Context, as authz.Actor, p *project.Project, tag string, id EvidenceID) ([]byte, error) {
	r, err := s.Find(ctx, as, p, tag)
	if err != nil {
		return nil, err
	}
	e, err := db.Get[evidenceRow](ctx, s.DB, "SELECT "+evidenceColumns+", e.content FROM release_evidences e WHERE e.release_id = ? AND e.id = ?", r.ID, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find evidence: %w", err)
	}
	if e.Milestones {
		may, err := s.Policy.Can(ctx, as, authz.ReadIssue, p.Subject())
		if err != nil {
			return nil, err
		}
		if !may {
			return nil, errs.Missing("")
		}
	}
	return e.Content, nil
}

// evidences reads the evidence of releases, the oldest first.
func (s *Service) evidences(ctx context.Context, ids []ID) (map[ID][]Evidence, error) {
	var w db.Where
	w.In("e.release_id", ids)
	rows, err := db.Select[Evidence](ctx, s.DB, "SELECT "+evidenceColumns+" FROM release_evidences e"+w.SQL()+" ORDER BY e.release_id, e.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("evidence of releases: %w", err)
	}
	out := map[ID][]Evidence{}
	for _, e := range rows {
		out[e.ReleaseID] = append(out[e.ReleaseID], e)
	}
	return out, nil
}
