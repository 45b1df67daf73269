package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/scratch"
	"tenon/internal/base/secret"
	"tenon/internal/core"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/importexport"
	"tenon/internal/core/namespace"
)

// ImportCheck says what is tried.
type ImportCheck struct {
	File       string
	Admin      bool             // as an administrator
	Visibility authz.Visibility // of the group that it is imported into
	Build      Build
	Tell       func(line string)
	Lines      io.Writer // of the rows that would be changed or lost, with their text; nil for none
}

// UnreadableError says that an archive cannot be imported at all.
type UnreadableError struct{ Reason string }

// Error is the reason.
func (e *UnreadableError) Error() string { return e.Reason }

const checkPrefix = "tenon-import-"

// CheckImport imports an archive of a project or group on a server in a temporary folder that serves no request, and returns the report
// of it. The folder is gone when it returns. An archive that cannot be imported is an UnreadableError.
func CheckImport(ctx context.Context, in ImportCheck, log *slog.Logger) (_ *importexport.Report, err error) {
	f, err := os.Open(in.File)
	if err != nil {
		return nil, &UnreadableError{err.Error()}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	group, err := importexport.OfGroup(ctx, f)
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		return nil, &UnreadableError{in.File + ": " + err.Error()}
	}
	scratch.Sweep(ctx, "", checkPrefix)
	dir, err := scratch.Make("", checkPrefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	c, err := config.Load(config.Sources{
		Environ: []string{"TENON_ROOT_TOKEN=" + secret.NewToken(secret.AccessTokenPrefix), "TENON_ROOT_PASSWORD=" + rand.Text()},
		Flags:   map[string]string{"data": filepath.Join(dir.Path, "data"), "http": "127.0.0.1:0", "ssh": "off", "rate-limits": "off"},
	})
	if err != nil {
		return nil, err
	}
	a := &App{config: c, build: in.Build, log: log, now: time.Now, brief: true}
	defer func() { err = errors.Join(err, a.Close(context.WithoutCancel(ctx))) }()
	in.Tell("preparing an empty server")
	if err := a.unserved(ctx); err != nil {
		return nil, err
	}
	return a.tryImport(ctx, in, group, f)
}

// tryImport imports into an empty group, as a new user.
func (a *App) tryImport(ctx context.Context, in ImportCheck, group bool, f *os.File) (*importexport.Report, error) {
	s := core.Part[*importexport.Service](a.core)
	u, err := a.core.Accounts.Create(ctx, authz.System(), account.Input{
		Username: "importer", Email: "importer@localhost.invalid", Name: "Importer", Password: rand.Text(), Admin: in.Admin, SkipConfirmation: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make user: %w", err)
	}
	as, err := a.core.Accounts.Admit(ctx, u.ID)
	if err != nil {
		return nil, fmt.Errorf("make user: %w", err)
	}
	into, err := a.core.Namespaces.Create(ctx, as, namespace.GroupInput{GroupChanges: namespace.GroupChanges{Name: new("Into"), Path: new("into"), Visibility: &in.Visibility}})
	if err != nil {
		return nil, fmt.Errorf("make group: %w", err)
	}
	report := func(ctx context.Context) (*importexport.Report, error) {
		return s.ProjectReport(ctx, as, "into/imported")
	}
	if group {
		report = func(ctx context.Context) (*importexport.Report, error) {
			return s.GroupReport(ctx, as, "into/imported")
		}
		_, err = s.ImportGroup(ctx, as, importexport.GroupImportInput{FileName: "export.tar.gz", File: f, Name: "Imported", Path: "imported", ParentID: &into.ID})
	} else {
		_, err = s.Import(ctx, as, importexport.ImportInput{FileName: "export.tar.gz", File: f, Namespace: "into", Path: "imported"})
	}
	if err != nil {
		return nil, fmt.Errorf("begin import: %w", err)
	}
	watching, unwatch := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { // ends with unwatch
		defer close(watched)
		tellRows(watching, report, in.Tell)
	}()
	failed := a.jobs.Drain(ctx) // an import that fails says why by itself
	unwatch()
	<-watched
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out, err := report(ctx)
	if err != nil {
		return nil, errors.Join(err, failed)
	}
	if out.Failure != "" {
		return nil, &UnreadableError{in.File + ": " + strings.TrimSuffix(out.Failure, ".")}
	}
	if in.Lines == nil {
		return out, nil
	}
	lines, err := out.Lines(ctx)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(in.Lines, lines)
	return out, errors.Join(err, lines.Close())
}

// tellRows tells each second how many rows were read, until ctx ends.
func tellRows(ctx context.Context, report func(ctx context.Context) (*importexport.Report, error), tell func(line string)) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	before := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		r, err := report(ctx)
		if err != nil {
			continue
		}
		if rows := r.Sum().Read; rows != before {
			before = rows
			tell(fmt.Sprintf("%d rows read", rows))
		}
	}
}
