package importexport

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/safehttp"
	"tenon/internal/base/scratch"
	"tenon/internal/core/tree"
)

// Bounds of reading the repositories of an entity by git.
const (
	maxRepositories = 10_000
	gitWithin       = 2 * time.Hour // for one
	gitMost         = 50 << 30      // bytes of one, where the settings have no bound
)

// fetchRepositories stores bundles of the repositories that no file of a relation has. Those that cannot be read are noted as failures.
func (r *entityRun) fetchRepositories(ctx context.Context) error {
	for _, c := range r.s.Carriers() {
		for _, f := range c.Moving() {
			if f.Fetch == nil || !r.reads(f) {
				continue
			}
			if err := r.fetchOf(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// gitMark is the first part of the name under which it is noted that all repositories of a kind are here.
const gitMark = "git:"

func (r *entityRun) fetchOf(ctx context.Context, f tree.Files) error {
	there, err := db.Select[string](ctx, r.s.DB, "SELECT relation FROM bulk_import_files WHERE entity_id = ? AND (relation = ? OR relation LIKE '%.bundle') ORDER BY relation",
		r.e.ID, gitMark+f.Name)
	if err != nil {
		return fmt.Errorf("files of entity: %w", err)
	}
	if slices.Contains(there, gitMark+f.Name) {
		return nil
	}
	list, err := f.Fetch(ctx, elsewhere{r})
	if err != nil {
		return sourceError{err}
	}
	var why error
	if len(list) > maxRepositories {
		list, why = list[:maxRepositories], failure{fmt.Sprintf("The source has more than %d repositories.", maxRepositories)}
	}
	known := map[string]bool{}
	for _, name := range there {
		known[name] = true
	}
	list = slices.DeleteFunc(list, func(one tree.Repository) bool {
		twice := known[one.Name]
		known[one.Name] = true
		return twice
	})
	if err := r.fetchEach(ctx, list); err != nil {
		return err
	}
	return r.have(ctx, gitMark+f.Name, "", why)
}

// fetchEach stores bundles of repositories, one after the other.
func (r *entityRun) fetchEach(ctx context.Context, list []tree.Repository) (err error) {
	if len(list) == 0 {
		return nil
	}
	dir, err := scratch.Make(r.s.Scratch, "fetch-")
	if err != nil {
		return fmt.Errorf("fetch repositories: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	git, err := gitcmd.New(ctx, gitcmd.Config{Root: dir.Path, MaxProcesses: 1, MaxServices: 1, KeptOpen: 1, CacheBytes: 1 << 20, Logger: r.s.Log})
	if err != nil {
		return fmt.Errorf("fetch repositories: %w", err)
	}
	defer func() { err = errors.Join(err, git.Close()) }()
	for _, one := range list {
		key, err := r.fetchRepository(ctx, git.Repo("fetched.git"), one)
		_, broken := errors.AsType[*gitcmd.Error](err)
		if broken && ctx.Err() == nil {
			err = failure{"The repository could not be read from the source."}
		}
		if _, known := errors.AsType[failure](err); err != nil && !known {
			return err
		}
		if err := r.have(ctx, one.Name, key, err); err != nil {
			return err
		}
	}
	return nil
}

// fetchRepository stores a bundle of a repository by way of one that is removed, and returns its key; "" for one that is empty.
func (r *entityRun) fetchRepository(ctx context.Context, repo *gitcmd.Repo, from tree.Repository) (key string, err error) {
	s := r.s
	address, err := r.from.own(from.Address)
	if err != nil {
		return "", failure{"The source names a repository at an address that cannot be read."}
	}
	at, err := s.Outbound.CheckURL(address)
	if err != nil {
		return "", failure{"The source names a repository at an address that is not allowed."}
	}
	ctx, end := context.WithTimeoutCause(ctx, gitWithin, failure{"The repository did not come in time."})
	defer end()
	most := int64(s.Settings.Current().BulkImportMaxDownloadFileSize) << 20
	if most <= 0 {
		most = gitMost
	}
	tunnel, err := s.Outbound.Open(at, most, s.Waits.Pace)
	if err != nil {
		return "", fmt.Errorf("fetch repository: %w", err)
	}
	defer func() {
		err = errors.Join(tunnel.Blocked(), err, tunnel.Close())
		if errors.Is(err, safehttp.ErrTooMuch) {
			err = failure{fmt.Sprintf("The repository exceeds the limit of %d bytes", most)}
		}
	}()
	if err := repo.Init(ctx, "main"); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, repo.Remove(context.WithoutCancel(ctx))) }()
	err = repo.FetchAll(ctx, gitcmd.Remote{
		URL: address, Proxy: tunnel.Address(), Stall: s.Waits.Pace.Stall(), Authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte("oauth2:"+r.from.token)),
	})
	if err != nil {
		return "", err
	}
	refs, err := repo.Refs(ctx, "refs/")
	if err != nil || len(refs) == 0 {
		return "", err
	}
	return r.keepBundle(ctx, repo, refs)
}

// own is the address of a path below the source, or a whole address with the source as its host, whatever host it names: the token is for the
// source alone.
func (c *sourceServer) own(address string) (string, error) {
	base, err := url.Parse(c.url + "/")
	if err != nil {
		return "", err
	}
	named, err := base.Parse(address)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: named.Path}).String(), nil
}

func (r *entityRun) keepBundle(ctx context.Context, repo *gitcmd.Repo, refs []gitstore.Ref) (_ string, err error) {
	key := Uploaded + "/" + blob.Random()
	bundle := gitcmd.Streamed(func(out io.Writer) error { return repo.Bundle(ctx, refs, out) })
	_, err = r.s.Objects.Put(ctx, key, bundle, blob.Wanted{})
	if err = errors.Join(err, bundle.Close()); err != nil {
		r.s.remove(ctx, key)
		return "", fmt.Errorf("keep repository: %w", err)
	}
	return key, nil
}

// elsewhere is the entity at the source, as those who own what it has ask it.
type elsewhere struct{ r *entityRun }

func (e elsewhere) Path() string  { return e.r.e.SourcePath }
func (e elsewhere) IsGroup() bool { return e.r.e.Kind == groupEntity }

func (e elsewhere) Number() int64 {
	if e.r.e.SourceID == nil {
		return 0
	}
	return *e.r.e.SourceID
}

func (e elsewhere) Before(major, minor int) bool { return before(e.r.bulk.Version, major, minor) }

func (e elsewhere) Lists(ctx context.Context, route string) (bool, error) {
	var list []json.RawMessage
	_, err := e.r.from.get(ctx, e.r.from.at(e.r.e)+"/"+route+"?per_page=1", &list)
	if refused, ok := errors.AsType[*statusError](err); ok && (refused.status == 403 || refused.status == 404) {
		return false, nil
	}
	return len(list) > 0, err
}

func (e elsewhere) Query(ctx context.Context, query string, next func(data json.RawMessage) (string, error)) error {
	variables := map[string]any{"full_path": e.r.e.SourcePath, "cursor": nil}
	for range maxPages {
		var data json.RawMessage
		if err := e.r.from.graphql(ctx, query, variables, &data); err != nil {
			return err
		}
		cursor, err := next(data)
		if cursor == "" || err != nil {
			return err
		}
		variables["cursor"] = cursor
	}
	return errEndless
}
