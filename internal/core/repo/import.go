package repo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/job"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/project"
)

// Import fills the repository of a new project from another server. What a crash left
// undone, another run does. A failure is the end: from then on people may push, and
// nothing may take their references away.
func (s *Service) Import(ctx context.Context, args project.Import) error {
	defer s.locks.lock(fillLock(args.ProjectID))()
	all, err := s.projects.ByIDs(ctx, []project.ID{args.ProjectID})
	if err != nil {
		return err
	}
	p := all[args.ProjectID]
	if p == nil || !p.Filling() {
		return nil
	}
	if err := s.projects.RecordImport(ctx, p.ID, project.ImportStarted, ""); err != nil {
		return err
	}
	err = s.importFrom(ctx, p, args)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) { // the server stops: the next start goes on
		return err
	}
	noted := s.projects.RecordImport(context.WithoutCancel(ctx), p.ID, project.ImportFailed, importFailure(err))
	err = fmt.Errorf("import: %w", err)
	if noted != nil { // still being filled
		return errors.Join(err, noted)
	}
	return job.Permanent(err)
}

func (s *Service) importFrom(ctx context.Context, p *project.Project, args project.Import) (err error) {
	remote, err := s.remote(args)
	if err != nil {
		return err
	}
	at, err := s.outbound.CheckURL(args.URL)
	if err != nil {
		return err //nolint:wrapcheck // its text is shown
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	tunnel, err := s.outbound.Open(at, s.maxImport)
	if err != nil {
		return err //nolint:wrapcheck // the sentence stands
	}
	defer func() { err = errors.Join(tunnel.Blocked(), err, tunnel.Close()) }()
	remote.Proxy = tunnel.Address()
	head, err := r.RemoteHead(ctx, remote)
	if err != nil {
		return err //nolint:wrapcheck // git's own error
	}
	if err := r.FetchAll(ctx, remote); err != nil {
		return err //nolint:wrapcheck // git's own error
	}
	note, err := s.importLFS(ctx, p, r, at, remote.Authorization)
	if err != nil {
		return err
	}
	return s.finishImport(ctx, p, r, head, note)
}

// remote opens the sealed credentials.
func (s *Service) remote(args project.Import) (gitcmd.Remote, error) {
	m := gitcmd.Remote{URL: args.URL}
	if args.Sealed == "" {
		return m, nil
	}
	text, err := s.box.Open(project.ImportSecret(args.ProjectID), args.Sealed)
	if err != nil {
		return m, fmt.Errorf("credentials of import: %w", err)
	}
	u, err := url.Parse("http://" + text + "@host")
	if err != nil {
		return m, errors.New("credentials of import cannot be read")
	}
	password, _ := u.User.Password()
	m.Authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	return m, nil
}

// finishImport gives the project its default branch, protected like that of any other.
// The note says what did not come along, "" for nothing.
func (s *Service) finishImport(ctx context.Context, p *project.Project, r *gitcmd.Repo, head, note string) error {
	if err := dropMisleading(ctx, r); err != nil {
		return err
	}
	refs, err := r.Refs(ctx, gitcmd.Branches)
	if err != nil {
		return fmt.Errorf("list branches: %w", err)
	}
	branch := ""
	for _, ref := range refs {
		if name := ref.Name.Short(); branch == "" || name == head {
			branch = name
		}
	}
	if branch != "" {
		ref, err := gitcmd.BranchRef(branch)
		if err != nil {
			return fmt.Errorf("default branch of import: %w", err)
		}
		if err := r.SetHead(ctx, ref); err != nil {
			return fmt.Errorf("default branch of import: %w", err)
		}
	}
	return s.db.InTx(ctx, func(ctx context.Context) error {
		if err := s.projects.RecordPush(ctx, p.ID, branch, s.now()); err != nil {
			return err
		}
		if branch != "" {
			if err := s.protectFirst(ctx, p.ID, branch); err != nil {
				return err
			}
		}
		if err := s.projects.RecordImport(ctx, p.ID, project.ImportFinished, note); err != nil {
			return err
		}
		return s.jobs.Enqueue(ctx, Measuring{ProjectID: p.ID})
	})
}

// dropMisleading removes what no push may bring: branches and tags whose names look like
// a commit's or like full names.
func dropMisleading(ctx context.Context, r *gitcmd.Repo) error {
	var gone []gitcmd.RefUpdate
	for prefix, valid := range map[string]func(string) bool{
		gitcmd.Branches: gitcmd.ValidBranchName, gitcmd.Tags: gitcmd.ValidTagName,
	} {
		refs, err := r.Refs(ctx, prefix)
		if err != nil {
			return fmt.Errorf("list imported references: %w", err)
		}
		for _, ref := range refs {
			if !valid(ref.Name.Short()) {
				gone = append(gone, gitcmd.RefUpdate{Ref: ref.Name, AnyOld: true})
			}
		}
	}
	if err := r.UpdateRefs(ctx, gone); err != nil {
		return fmt.Errorf("remove misleading references: %w", err)
	}
	return nil
}

// importFailure says in words that may be shown why an import failed.
func importFailure(err error) string {
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return "Import url " + blocked.Error()
	}
	switch {
	case errors.Is(err, safehttp.ErrTooMuch):
		return "The repository is too large."
	case errors.Is(err, context.DeadlineExceeded):
		return "The import took too long."
	}
	failed, ok := errors.AsType[*gitcmd.Error](err)
	if !ok {
		return "The repository could not be imported."
	}
	for _, known := range []struct{ said, reason string }{
		{"Authentication failed", "The server asks for a user name and a password, or does not accept those given."},
		{"could not read Username", "The server asks for a user name and a password, or does not accept those given."},
		{"error: 403", "The server asks for a user name and a password, or does not accept those given."},
		{"not found", "There is no git repository at the address."},
		{"not valid: is this a git repository", "There is no git repository at the address."},
		{"error: 30", "The address leads to another one, which has to be given instead."},
		{"redirect", "The address leads to another one, which has to be given instead."},
		{"fsck error", "The repository has objects that are broken."},
		{"mismatched algorithms", "The repository has objects of another format."},
	} {
		if strings.Contains(failed.Stderr, known.said) {
			return known.reason
		}
	}
	return "The repository could not be fetched."
}
