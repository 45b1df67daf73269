package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// ArtifactID identifies an artifact.
type ArtifactID int64

// Artifact is a file that a job left: an archive of files, or a report.
type Artifact struct {
	ID        ArtifactID `db:"id"`
	JobID     StatusID   `db:"job_id"`
	ProjectID project.ID `db:"project_id"`
	Type      string     `db:"type"`
	Format    string     `db:"format"` // zip, gzip or raw
	Filename  string     `db:"filename"`
	Key       string     `db:"object_key"`
	Size      int64      `db:"size"` // bytes
	SHA256    string     `db:"sha256"`
	Access    string     `db:"access"` // PublicAccess and the others
	ExpireAt  *db.Time   `db:"expire_at"`
	CreatedAt db.Time    `db:"created_at"`
}

// Archive is the type of what a job says its artifacts are.
const Archive = "archive"

// Who may get artifacts.
const (
	PublicAccess     = "public"     // all who may read the job
	PrivateAccess    = "private"    // Developers and above
	MaintainerAccess = "maintainer" // Maintainers and above
	NoAccess         = "none"
)

// accessOf is what artifacts:access of a configuration stands for.
var accessOf = map[string]string{"all": PublicAccess, "developer": PrivateAccess, "maintainer": MaintainerAccess, "none": NoAccess}

// needs returns the ability that getting artifacts with this access requires: open, which reading the job requires, or more. It does not tell
// NoAccess apart: callers refuse that first.
func needs(access string, open authz.Ability) authz.Ability {
	switch access {
	case PublicAccess:
		return open
	case MaintainerAccess:
		return authz.ReadMaintainerArtifacts
	}
	return authz.ReadPrivateArtifacts
}

// artifactTypes are the kinds of artifacts that are no reports.
var artifactTypes = map[string]ciconfig.ReportType{
	Archive: {Format: "zip", Filename: "artifacts.zip"}, "metadata": {Format: "gzip", Filename: "metadata.gz"}, "trace": {Format: "raw", Filename: "job.log"},
	"metrics_referee": {Format: "gzip", Filename: "metrics_referee.json.gz"}, "network_referee": {Format: "gzip", Filename: "network_referee.json.gz"},
}

// typeOfArtifact finds a kind that a runner may send.
func typeOfArtifact(name string) (ciconfig.ReportType, bool) {
	if t, ok := artifactTypes[name]; ok {
		return t, true
	}
	return ciconfig.TypeOfReport(name)
}

// ArtifactName is the name of the file that a report of a type has.
func ArtifactName(kind string) string {
	t, _ := typeOfArtifact(kind)
	return t.Filename
}

// ArtifactInput is a file that a runner sends.
type ArtifactInput struct {
	Type     string // "" is Archive
	Format   string // "" is zip
	Filename string
	ExpireIn string // as the configuration has it; "" is the server's default, "never" and "0" are never
	Access   string // as the runner says, "" for PublicAccess; what the configuration says is above it
	Content  io.Reader
}

// ErrArtifactTooLarge is what an artifact above the limit gets.
var ErrArtifactTooLarge = errs.New(errs.TooLarge, "file size has reached maximum size limit")

// Store keeps a file that a job left. The same file twice is no error; another one of the same type is Invalid.
func (s *Service) Store(ctx context.Context, h *AuthenticatedJob, in ArtifactInput) error {
	kind, ok := typeOfArtifact(cmp.Or(in.Type, Archive))
	if !ok || cmp.Or(in.Format, "zip") != kind.Format {
		return errs.Plain("file_type or file_format is invalid")
	}
	in.Type, in.Format = cmp.Or(in.Type, Archive), kind.Format
	if !slices.Contains([]string{"", PublicAccess, PrivateAccess, NoAccess}, in.Access) {
		return errs.Plain("accessibility is invalid")
	}
	c, err := h.Config()
	if err != nil {
		return err
	}
	if c.Artifacts != nil && c.Artifacts.Access != "" {
		in.Access = accessOf[c.Artifacts.Access]
	}
	expires, err := s.expiry(in.ExpireIn)
	if err != nil {
		return err
	}
	most, err := s.artifactLimit(ctx, h.project)
	if err != nil {
		return err
	}
	staged, err := s.Objects.Stage(ctx, in.Content, blob.Wanted{Limit: most})
	if errors.Is(err, blob.ErrTooLarge) {
		return ErrArtifactTooLarge
	}
	if err != nil {
		return fmt.Errorf("receive artifact: %w", err)
	}
	defer staged.Discard()
	row := &Artifact{
		JobID: h.ID, ProjectID: h.ProjectID, Type: in.Type, Format: in.Format, Filename: cmp.Or(cleanName(in.Filename), kind.Filename),
		Key: fmt.Sprintf("jobs/%d/%d/%s-%s", h.ProjectID, h.ID, in.Type, blob.Random()), Size: staged.Size, SHA256: staged.SHA256,
		Access: cmp.Or(in.Access, PublicAccess), ExpireAt: expires, CreatedAt: db.At(s.Now()),
	}
	if err := staged.Keep(ctx, row.Key); err != nil {
		return fmt.Errorf("keep artifact: %w", err)
	}
	kept, err := s.record(ctx, h, row)
	if !kept {
		s.forget(ctx, []string{row.Key})
	}
	return err
}

// artifactLimit returns how many bytes an artifact of a project may have: what the project says, else the nearest group above that says
// something, else the instance.
func (s *Service) artifactLimit(ctx context.Context, p *project.Project) (int64, error) {
	if own := p.Settings().MaxArtifactsSize; own != nil {
		return *own << 20, nil
	}
	above, err := s.Namespaces.SettingsAbove(ctx, p.NamespaceID, namespace.SettingMaxArtifactsSize)
	if err != nil {
		return 0, err
	}
	for _, set := range above {
		if set.MaxArtifactsSize != nil {
			return *set.MaxArtifactsSize << 20, nil
		}
	}
	return int64(s.Settings.Current().MaxArtifactsSize) << 20, nil
}

// record writes the row of an artifact, and what a report of variables or tests says.
func (s *Service) record(ctx context.Context, h *AuthenticatedJob, row *Artifact) (kept bool, err error) {
	var vars []Variable
	var tests TestCounts
	switch row.Type {
	case "dotenv":
		vars, err = s.readDotenv(ctx, row.Key)
	case "junit":
		tests, err = s.countTests(ctx, row.Key)
	}
	if err != nil {
		return false, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		kept = false
		if _, err := db.ForUpdate[Build](ctx, s.DB, jobRow(h.ID)); err != nil {
			return err
		}
		old, err := db.Select[Artifact](ctx, s.DB, "SELECT "+db.Columns[Artifact]("a")+" FROM job_artifacts a WHERE a.job_id = ? AND a.type = ?", h.ID, row.Type)
		switch {
		case err != nil:
			return err
		case len(old) > 0 && old[0].SHA256 == row.SHA256:
			return nil
		case len(old) > 0:
			return errs.Plain("another artifact of the same type already exists")
		}
		if err := db.Create(ctx, s.DB, "job_artifacts", row); err != nil {
			return err
		}
		kept = true
		if row.Type == "junit" {
			return s.keepTests(ctx, row, &tests)
		}
		return s.keepVariables(ctx, h.ID, vars, true)
	})
	if err != nil {
		kept = false
	}
	return kept, errs.Wrap(err, "record artifact")
}

// expiry says when artifacts are deleted, nil for never.
func (s *Service) expiry(in string) (*db.Time, error) {
	if in == "" {
		in = s.Settings.Current().DefaultArtifactsExpireIn
	}
	if in == "never" || in == "0" || in == "" {
		return nil, nil
	}
	d, ok := ciconfig.ParseDuration(in)
	if !ok {
		return nil, errs.Plain("expire_in is invalid")
	}
	at := db.At(s.Now().Add(d))
	return &at, nil
}

// ArtifactsOf lists the artifacts of jobs that were read for the actor, in the order in which they came.
func (s *Service) ArtifactsOf(ctx context.Context, jobs []StatusID) (map[StatusID][]Artifact, error) {
	out := make(map[StatusID][]Artifact, len(jobs))
	if len(jobs) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("a.job_id", jobs)
	rows, err := db.Select[Artifact](ctx, s.DB, "SELECT "+db.Columns[Artifact]("a")+" FROM job_artifacts a"+w.SQL()+" ORDER BY a.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("artifacts of jobs: %w", err)
	}
	for _, a := range rows {
		out[a.JobID] = append(out[a.JobID], a)
	}
	return out, nil
}

// OpenArtifact opens an artifact of a job: its archive where kind is "". Close its content. One is Forbidden for actors
// who may not get it; one with NoAccess is NotFound, as what is not there.
func (s *Service) OpenArtifact(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, kind string) (*Artifact, *blob.Object, error) {
	a, err := s.openable(ctx, as, p, id, cmp.Or(kind, Archive))
	if err != nil {
		return nil, nil, err
	}
	return s.openArtifact(ctx, a)
}

// openable finds an artifact of a job that the actor may open.
func (s *Service) openable(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, kind string) (*Artifact, error) {
	if _, _, err := s.FindJob(ctx, as, p, id); err != nil {
		return nil, err
	}
	a, err := s.artifact(ctx, id, kind)
	if err != nil {
		return nil, err
	}
	if a.Access == NoAccess {
		return nil, errs.Missing("")
	}
	may, err := s.Policy.Can(ctx, as, needs(a.Access, authz.ReadPipeline), p.Subject())
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, errs.Denied("")
	}
	return a, nil
}

// OpenForJob opens the archive of a job for another job of the same pipeline, which depends on it, or for one that needs jobs of other
// pipelines, as far as it reaches.
func (s *Service) OpenForJob(ctx context.Context, h *AuthenticatedJob, id StatusID) (*Artifact, *blob.Object, error) {
	j, err := s.loadJob(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil, errs.Missing("")
	}
	if err != nil {
		return nil, nil, err
	}
	if j.PipelineID != h.pipeline {
		return s.openForeign(ctx, h, j)
	}
	a, err := s.artifact(ctx, id, Archive)
	if err != nil {
		return nil, nil, err
	}
	return s.openArtifact(ctx, a)
}

func (s *Service) artifact(ctx context.Context, id StatusID, kind string) (*Artifact, error) {
	list, err := db.Select[Artifact](ctx, s.DB, "SELECT "+db.Columns[Artifact]("a")+" FROM job_artifacts a WHERE a.job_id = ? AND a.type = ?", id, kind)
	if err != nil {
		return nil, fmt.Errorf("find artifact: %w", err)
	}
	if len(list) == 0 {
		return nil, errs.Missing("")
	}
	a := &list[0]
	if a.ExpireAt == nil || a.ExpireAt.After(s.Now()) {
		return a, nil
	}
	lasting, err := s.lasting(ctx, []StatusID{id})
	if err != nil {
		return nil, err
	}
	if !lasting[id] {
		return nil, errs.Missing("")
	}
	return a, nil
}

func (s *Service) openArtifact(ctx context.Context, a *Artifact) (*Artifact, *blob.Object, error) {
	o, err := s.Objects.Open(ctx, a.Key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, nil, errs.Missing("")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open artifact: %w", err)
	}
	return a, o, nil
}

// KeepArtifacts takes the expiry from the artifacts of a job. It requires UpdatePipeline, and the right to run pipelines of a protected
// reference.
func (s *Service) KeepArtifacts(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	j, _, err := s.writable(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	n, err := s.DB.Exec(ctx, "UPDATE job_artifacts SET expire_at = NULL WHERE job_id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("keep artifacts: %w", err)
	}
	if n == 0 {
		return nil, errs.Missing("")
	}
	return j, nil
}

// DeleteArtifacts deletes the artifacts of a job and says how many there were. It requires ErasePipeline.
func (s *Service) DeleteArtifacts(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (deleted int, err error) {
	if err := s.Policy.Require(ctx, as, authz.ErasePipeline, p.Subject()); err != nil {
		return 0, err
	}
	if _, _, err := s.findJob(ctx, as, p, id); err != nil {
		return 0, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		keys, err := s.dropArtifacts(ctx, id)
		if err == nil {
			deleted = len(keys)
			s.forgetLater(ctx, keys)
		}
		return err
	})
	return deleted, err
}

// dropArtifacts deletes the rows of a job's artifacts and returns the keys of their objects.
func (s *Service) dropArtifacts(ctx context.Context, id StatusID) ([]string, error) {
	keys, err := db.Select[string](ctx, s.DB, "DELETE FROM job_artifacts WHERE job_id = ? RETURNING object_key", id)
	if err != nil {
		return nil, fmt.Errorf("delete artifacts: %w", err)
	}
	return keys, nil
}

// expireEvery is how often expired artifacts are looked for, and expireBatch how many are deleted at once.
const (
	expireEvery = 10 * time.Minute
	expireBatch = 500
)

// expire is the job that deletes expired artifacts.
type expire struct{}

// Kind names the job.
func (expire) Kind() string { return "expire_job_artifacts" }

// Expire deletes artifacts whose time is over, but for those of the latest pipeline of each reference that has succeeded, where the project
// keeps them.
func (s *Service) Expire(ctx context.Context, _ expire) error {
	return s.expireWhere(ctx, "a.expire_at <= ?", db.At(s.Now()))
}

// expireWhere deletes the artifacts that a condition selects, but for those that last.
func (s *Service) expireWhere(ctx context.Context, cond string, args ...any) error {
	for after := ArtifactID(0); ; {
		rows, err := db.Select[Artifact](ctx, s.DB, "SELECT "+db.Columns[Artifact]("a")+" FROM job_artifacts a WHERE "+cond+" AND a.id > ? ORDER BY a.id LIMIT ?",
			append(slices.Clip(args), after, expireBatch)...)
		if err != nil {
			return fmt.Errorf("find artifacts to delete: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		after = rows[len(rows)-1].ID
		if err := s.expireSome(ctx, rows); err != nil {
			return err
		}
	}
}

func (s *Service) expireSome(ctx context.Context, rows []Artifact) error {
	ids := make([]StatusID, len(rows))
	for i, a := range rows {
		ids[i] = a.JobID
	}
	lasting, err := s.lasting(ctx, ids)
	if err != nil {
		return err
	}
	var gone []ArtifactID
	var keys []string
	for _, a := range rows {
		if !lasting[a.JobID] {
			gone, keys = append(gone, a.ID), append(keys, a.Key)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	marks, args := db.Marks(gone)
	if _, err := s.DB.Exec(ctx, "DELETE FROM job_artifacts WHERE id IN ("+marks+")", args...); err != nil {
		return fmt.Errorf("delete expired artifacts: %w", err)
	}
	s.forget(ctx, keys)
	return nil
}

// lasting returns those of the jobs whose artifacts are there although their time is over: those of the latest pipeline of a reference that
// has succeeded, and of its child pipelines, where the project keeps them.
func (s *Service) lasting(ctx context.Context, jobs []StatusID) (map[StatusID]bool, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	type row struct {
		ID        StatusID   `db:"id"`
		ProjectID project.ID `db:"project_id"`
	}
	marks, args := db.Marks(jobs)
	latest, err := db.Select[row](ctx, s.DB, `SELECT s.id, l.project_id FROM commit_statuses s JOIN pipelines l ON l.id = s.pipeline_id
		LEFT JOIN commit_statuses b ON b.id = l.upstream_job_id AND l.source = 'parent_pipeline' LEFT JOIN pipelines u ON u.id = b.pipeline_id
		LEFT JOIN commit_statuses c ON c.id = u.upstream_job_id AND u.source = 'parent_pipeline'
		WHERE s.id IN (`+marks+`) AND COALESCE(c.pipeline_id, b.pipeline_id, l.id) = (SELECT MAX(x.id) FROM pipelines x
			WHERE x.project_id = l.project_id AND x.ref = l.ref AND x.status = 'success' AND x.source NOT IN ('external', 'parent_pipeline')) ORDER BY s.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("latest pipelines: %w", err)
	}
	places := make([]project.ID, len(latest))
	for i, r := range latest {
		places[i] = r.ProjectID
	}
	projects, err := s.Projects.Load(ctx, places)
	if err != nil {
		return nil, err
	}
	out := make(map[StatusID]bool, len(latest))
	for _, r := range latest {
		p := projects[r.ProjectID]
		out[r.ID] = p != nil && p.Settings().KeepLatestArtifact
	}
	return out, nil
}
