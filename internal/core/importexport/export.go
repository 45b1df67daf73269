package importexport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

// ID identifies an export.
type ID int64

// Status says how far an export has come.
type Status string

// The statuses: of an export, and besides None and Regeneration of a project.
const (
	None         Status = "none"
	Queued       Status = "queued"
	Started      Status = "started"
	Finished     Status = "finished"
	Failed       Status = "failed"                   // answered as None
	Regeneration Status = "regeneration_in_progress" // there is an archive, and another one is on its way
)

// lifetime is how long an archive is kept.
const lifetime = 24 * time.Hour

const (
	maxDescription = 2000 // characters, as of a project
	maxURL         = 2048
)

// Export is one archive that a user asked for.
type Export struct {
	ID          ID                `db:"id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"`        // of the project or group
	ProjectID   *project.ID       `db:"project_id,readonly"` // nil for a group
	UserID      authz.UserID      `db:"user_id"`
	Status      Status            `db:"status"`

	Description  *string `db:"description"` // in place of that of the project
	SealedUpload *string `db:"sealed_upload"`
	UploadMethod string  `db:"upload_method"`

	Object    string  `db:"object"` // key of the archive, "" before it is begun
	Name      string  `db:"name"`   // of the file
	Size      int64   `db:"size"`
	Attempts  int64   `db:"attempts"`
	Error     *string `db:"error"`
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

var exportColumns = db.Columns[Export]("e") + ", p.id AS project_id"

const exportFrom = "exports e LEFT JOIN projects p ON p.namespace_id = e.namespace_id"

// uploadSecret is the place that the URL of an upload is sealed for.
func uploadSecret(of authz.NamespaceID, user authz.UserID) string {
	return fmt.Sprintf("exports.upload:%d:%d", of, user)
}

// Input is what an export is made of.
type Input struct {
	Description *string // in place of that of the project
	Upload      *Upload // nil sends the archive nowhere
}

// Upload says where an archive is sent to.
type Upload struct {
	URL    string
	Method string // PUT or POST
}

// find returns a project whose exports the actor may ask for.
func (s *Service) find(ctx context.Context, as authz.Actor, ref string) (*project.Project, error) {
	p, err := s.Projects.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.require(ctx, as, p.Place()); err != nil {
		return nil, err
	}
	return p, nil
}

// findGroup returns a group whose exports the actor may ask for.
func (s *Service) findGroup(ctx context.Context, as authz.Actor, ref string) (authz.Place, error) {
	g, err := s.Namespaces.Find(ctx, as, ref)
	if err != nil {
		return authz.Place{}, err
	}
	return g.Place(), s.require(ctx, as, g.Place())
}

// place returns the project or group with a namespace.
func (s *Service) place(ctx context.Context, as authz.Actor, id authz.NamespaceID) (authz.Place, error) {
	projects, err := s.Projects.ByNamespaces(ctx, as, []authz.NamespaceID{id})
	if err != nil {
		return authz.Place{}, err
	}
	if p := projects[id]; p != nil {
		return p.Place(), s.require(ctx, as, p.Place())
	}
	return s.findGroup(ctx, as, fmt.Sprint(int64(id)))
}

// require refuses those who may not export a project or group.
func (s *Service) require(ctx context.Context, as authz.Actor, at authz.Place) error {
	if err := s.Policy.Require(ctx, as, at.Ability(authz.ExportProject, authz.ExportGroup), at.Subject); err != nil {
		return err
	}
	if !at.Group && !s.Settings.Current().ProjectExportEnabled {
		return errs.Missing("")
	}
	return nil
}

// Schedule has a project exported for the actor. One that waits for its turn is replaced.
func (s *Service) Schedule(ctx context.Context, as authz.Actor, ref string, in Input) error {
	p, err := s.find(ctx, as, ref)
	if err != nil {
		return err
	}
	if err := s.Limits.Check(limit.ProjectExport, as); err != nil {
		return err
	}
	return s.schedule(ctx, as, p.Place(), in)
}

// ScheduleGroup is Schedule for a group with all that is below it, projects left out.
func (s *Service) ScheduleGroup(ctx context.Context, as authz.Actor, ref string) error {
	at, err := s.findGroup(ctx, as, ref)
	if err != nil {
		return err
	}
	if err := s.Limits.Check(limit.GroupExport, as); err != nil {
		return err
	}
	return s.schedule(ctx, as, at, Input{})
}

func (s *Service) schedule(ctx context.Context, as authz.Actor, at authz.Place, in Input) error {
	e := &Export{NamespaceID: at.Namespace, UserID: as.UserID, Status: Queued, Description: in.Description}
	if err := s.validate(e, in); err != nil {
		return err
	}
	if err := s.fits(ctx, as, at); err != nil {
		return err
	}
	e.CreatedAt = db.At(s.Now())
	e.UpdatedAt = e.CreatedAt
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.DB.Lock(ctx, fmt.Sprintf("exports:%d", at.Namespace)); err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, "DELETE FROM exports WHERE namespace_id = ? AND user_id = ? AND status = ?", at.Namespace, as.UserID, Queued); err != nil {
			return fmt.Errorf("replace export: %w", err)
		}
		if err := db.Create(ctx, s.DB, "exports", e); err != nil {
			return fmt.Errorf("schedule export: %w", err)
		}
		return s.Jobs.Enqueue(ctx, Run{ID: e.ID})
	})
}

// validate checks what is asked for, and seals the address of an upload.
func (s *Service) validate(e *Export, in Input) error {
	var bad errs.Fields
	bad.Length("description", in.Description, maxDescription)
	if in.Upload != nil {
		e.UploadMethod = in.Upload.Method
		_, err := s.Outbound.CheckURL(in.Upload.URL)
		blocked, refused := errors.AsType[*safehttp.BlockedError](err)
		switch {
		case len(in.Upload.URL) > maxURL:
			bad.Add("url", "is too long (maximum is 2048 characters)")
		case refused && strings.Contains(blocked.Reason, "URI is invalid"):
			bad.Add("url", "must be a valid URL")
		case refused:
			bad.Add("url", blocked.Error())
		case err != nil:
			return fmt.Errorf("check address of upload: %w", err)
		default:
			sealed := s.Box.Seal(uploadSecret(e.NamespaceID, e.UserID), in.Upload.URL)
			e.SealedUpload = &sealed
		}
	}
	return bad.Err()
}

// fits refuses a project that is larger than an export may be. Of a group the archive is measured.
func (s *Service) fits(ctx context.Context, as authz.Actor, at authz.Place) error {
	most, p := int64(s.Settings.Current().MaxExportSize)<<20, project.Of(at)
	if most == 0 || p == nil {
		return nil
	}
	views, err := s.Projects.Views(ctx, as, []*project.Project{p}, project.ViewOptions{Statistics: true})
	if err != nil {
		return err
	}
	if size := views[0].Full; size != nil && size.Statistics != nil && size.Statistics.Total() > most {
		return errs.Plain(tooLarge)
	}
	return nil
}

const tooLarge = "The project size exceeds the export limit."

// View is how far the export of a project has come, for one caller.
type View struct {
	Project *project.Project
	Status  Status
}

// Find returns the status of a project's export: of the caller's own, or else of the newest.
func (s *Service) Find(ctx context.Context, as authz.Actor, ref string) (*View, error) {
	p, err := s.find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	own, err := s.list(ctx, p.NamespaceID, &as.UserID)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		if own, err = s.list(ctx, p.NamespaceID, nil); err != nil {
			return nil, err
		}
	}
	own, err = s.stored(ctx, own)
	return &View{p, statusOf(own)}, err
}

// stored leaves out exports whose archive is not there any more, such as those of a backup that was restored.
func (s *Service) stored(ctx context.Context, all []Export) ([]Export, error) {
	var out []Export
	for _, e := range all {
		if e.Status == Finished {
			_, err := s.Objects.Stat(ctx, e.Object)
			if errors.Is(err, blob.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look for archive: %w", err)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// maxListed bounds how many exports of a project or group are looked at; a sweep deletes those that have expired.
const maxListed = 100

// list reads the exports of a project or group that have not expired, of all users or of one, the newest first.
func (s *Service) list(ctx context.Context, id authz.NamespaceID, user *authz.UserID) ([]Export, error) {
	var w db.Where
	w.And("e.namespace_id = ? AND e.updated_at > ?", id, db.At(s.Now().Add(-lifetime)))
	if user != nil {
		w.And("e.user_id = ?", *user)
	}
	found, err := db.Select[Export](ctx, s.DB, "SELECT "+exportColumns+" FROM "+exportFrom+w.SQL()+" ORDER BY e.id DESC LIMIT ?",
		append(w.Args(), maxListed)...)
	if err != nil {
		return nil, fmt.Errorf("read exports: %w", err)
	}
	return found, nil
}

// statusOf is the status that exports make together.
func statusOf(all []Export) Status {
	has := map[Status]bool{}
	for i := range all {
		has[all[i].Status] = true
	}
	switch {
	case has[Finished] && (has[Queued] || has[Started]):
		return Regeneration
	case has[Queued]:
		return Queued
	case has[Started]:
		return Started
	case has[Finished]:
		return Finished
	}
	return None
}

// Why there is nothing to download.
const (
	CodeNoArchive     errs.Code = "no export archive" // none was made, or it has expired
	CodeNotReady      errs.Code = "export archive is being made"
	CodeGroupNotReady errs.Code = "export archive of group is being made"
)

// Archive is an archive that is open for reading.
type Archive struct {
	*blob.Object
	Export
}

// Download opens the newest archive that the actor may have: one that it asked for, or any where it is an owner of the project or an
// administrator.
func (s *Service) Download(ctx context.Context, as authz.Actor, ref string) (*Archive, error) {
	p, err := s.find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	return s.download(ctx, as, p.Place())
}

// DownloadGroup is Download for a group.
func (s *Service) DownloadGroup(ctx context.Context, as authz.Actor, ref string) (*Archive, error) {
	at, err := s.findGroup(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	return s.download(ctx, as, at)
}

func (s *Service) download(ctx context.Context, as authz.Actor, at authz.Place) (*Archive, error) {
	class, notReady := limit.ProjectExportDownload, CodeNotReady
	if at.Group {
		class, notReady = limit.GroupExportDownload, CodeGroupNotReady
	}
	found, err := s.list(ctx, at.Namespace, &as.UserID)
	if err == nil && statusOf(found) != Finished && statusOf(found) != Regeneration && (as.Admin || at.Subject.Level >= authz.Owner) {
		var all []Export
		if all, err = s.list(ctx, at.Namespace, nil); statusOf(all) != None {
			found = all
		}
	}
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		if e.Status != Finished {
			continue
		}
		object, err := s.Objects.Open(ctx, e.Object)
		if errors.Is(err, blob.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("open archive: %w", err)
		}
		if err := s.Limits.CheckIn(class, as, at.ID, ""); err != nil {
			return nil, errors.Join(err, object.Close())
		}
		return &Archive{object, e}, nil
	}
	if statusOf(found) == Started {
		return nil, errs.Coded(errs.NotFound, notReady, "")
	}
	return nil, errs.Coded(errs.NotFound, CodeNoArchive, "")
}
