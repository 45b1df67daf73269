package importexport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
)

// Run is the job that makes the archive of an export.
type Run struct {
	ID ID `json:"id"`
}

// Kind names the job.
func (Run) Kind() string { return "project_export" }

const (
	longest     = 6 * time.Hour // that one attempt at an archive, with its upload, may take
	maxAttempts = 5             // begun, and ended by the end of the process
)

// Objects is the first part of the keys of archives. Backups leave them out.
const Objects = "exports"

// failure is why an export failed, in words for its user.
type failure struct{ text string }

func (f failure) Error() string { return f.text }

// row names an export for a change of it.
func (s *Service) row(id ID) db.Row {
	return db.Row{
		Table: "exports", ID: int64(id), Now: s.Now, Columns: exportColumns, From: exportFrom, Alias: "e",
		Missing: errs.Missing("Export"),
	}
}

// run makes the archive of an export. An attempt that the end of the process interrupts is made again, from the beginning; any other
// failure is the end, of which the user is notified.
func (s *Service) run(ctx context.Context, args Run) error {
	if _, twice := s.running.LoadOrStore(args.ID, true); twice {
		return nil
	}
	defer s.running.Delete(args.ID)
	e, err := s.begin(ctx, args.ID)
	if e == nil || err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	err = s.export(limited, e)
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, errs.ErrAway) {
		return err
	}
	after := context.WithoutCancel(ctx)
	if err == nil {
		return s.finish(after, e, Finished, "")
	}
	text := "The archive could not be made."
	known, ok := errors.AsType[failure](err)
	switch {
	case ok:
		text = known.text
	case errors.Is(err, blob.ErrTooLarge):
		text = tooLarge
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		text = "The export took too long."
	}
	if noted := s.finish(after, e, Failed, text); noted != nil {
		return errors.Join(err, noted)
	}
	if ok {
		s.Log.InfoContext(ctx, "export failed", slog.Int64("export", int64(e.ID)), slog.String("reason", text))
		return nil
	}
	return job.Permanent(fmt.Errorf("export: %w", err))
}

// begin notes that an attempt begins; nil where there is nothing to do any more. The key of the archive is stored before the archive
// is, so that one of an attempt that was interrupted is known.
func (s *Service) begin(ctx context.Context, id ID) (*Export, error) {
	given := false
	changed, err := db.Update(ctx, s.DB, s.row(id), func(_ context.Context, e *Export) error {
		given = e.Status == Queued || e.Status == Started
		if !given {
			return nil
		}
		e.Status, e.Attempts = Started, e.Attempts+1
		if e.Object == "" {
			e.Object = Objects + "/" + blob.Random()
		}
		return nil
	})
	if errs.Is(err, errs.NotFound) || err == nil && !given {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("begin export: %w", err)
	}
	e := &changed.After
	if e.Attempts > maxAttempts {
		return nil, s.finish(ctx, e, Failed, "The export was interrupted too often.")
	}
	return e, nil
}

// admitted returns a user, and the project or group that the user may still export.
func (s *Service) admitted(ctx context.Context, user authz.UserID, of authz.NamespaceID) (authz.Actor, authz.Place, error) {
	as, err := s.Accounts.Admit(ctx, user)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		err = failure{"The user may not sign in any more."}
	}
	if err != nil {
		return as, authz.Place{}, err
	}
	at, err := s.place(ctx, as, of)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		err = failure{"The user may not export it any more."}
	}
	return as, at, err
}

// export makes the archive, and sends it where the user wants it.
func (s *Service) export(ctx context.Context, e *Export) error {
	as, at, err := s.admitted(ctx, e.UserID, e.NamespaceID)
	if err != nil {
		return err
	}
	if err := s.fits(ctx, as, at); err != nil {
		return failure{tooLarge}
	}
	made, err := s.store(ctx, as, at, e)
	if err != nil {
		return err
	}
	e.Name, e.Size = fileName(at, s.Now()), made.Size
	return s.send(ctx, e)
}

// store writes the archive to its key. No part of it can be read before it is whole.
func (s *Service) store(ctx context.Context, as authz.Actor, at authz.Place, e *Export) (*blob.Staged, error) {
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() { // ends when the archive is written, or nothing reads it any more
		defer close(done)
		to.CloseWithError(s.write(ctx, as, at, e, to))
	}()
	made, err := s.Objects.Put(ctx, e.Object, from, blob.Wanted{Limit: int64(s.Settings.Current().MaxExportSize) << 20})
	from.CloseWithError(err)
	<-done
	return made, err
}

// send uploads the archive where the user asked for that.
func (s *Service) send(ctx context.Context, e *Export) (err error) {
	if e.SealedUpload == nil {
		return nil
	}
	to, err := s.Box.Open(uploadSecret(e.NamespaceID, e.UserID), *e.SealedUpload)
	if err != nil {
		return fmt.Errorf("address of upload: %w", err)
	}
	object, err := s.Objects.Open(ctx, e.Object)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	answer, err := s.Outbound.Upload(ctx, safehttp.Sending{
		Method: e.UploadMethod, URL: to, Type: "application/gzip", Body: object, Size: object.Size, Timeout: longest,
	})
	switch {
	case err != nil:
		return failure{"Error uploading the project. " + err.Error()}
	case answer.Status < 200 || answer.Status >= 300:
		return failure{fmt.Sprintf("Error uploading the project. Code %d: %s", answer.Status, answer.Text)}
	}
	return nil
}

// finish ends an export. The archive of one that failed is deleted, as are the user's older ones once there is a new one.
func (s *Service) finish(ctx context.Context, e *Export, status Status, text string) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Update(ctx, s.DB, s.row(e.ID), func(_ context.Context, row *Export) error {
			row.Status, row.Name, row.Size, row.SealedUpload, row.UpdatedAt = status, e.Name, e.Size, nil, db.At(s.Now())
			if text != "" {
				row.Error = &text
			}
			return nil
		})
		if errs.Is(err, errs.NotFound) {
			return nil // what it is of was deleted; the sweep takes the archive
		}
		if err != nil {
			return fmt.Errorf("end export: %w", err)
		}
		if status == Finished {
			if err := s.drop(ctx, "namespace_id = ? AND user_id = ? AND id < ? AND status IN (?, ?)", e.NamespaceID, e.UserID, e.ID, Finished, Failed); err != nil {
				return err
			}
		} else {
			s.DB.AfterCommit(ctx, func() { s.remove(ctx, e.Object) })
		}
		if e.ProjectID == nil {
			return s.Mailer.GroupExported(ctx, e.NamespaceID, e.UserID, text)
		}
		return s.Mailer.ProjectExported(ctx, *e.ProjectID, e.UserID, text)
	})
	return err
}
