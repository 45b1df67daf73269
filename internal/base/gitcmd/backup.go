package gitcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"tenon/internal/base/gitstore"
)

// Names of what Export gives.
const (
	exportRefs = "refs"
	exportLink = "linked"
)

// backupFolder is where exports keep object files from being removed meanwhile.
const backupFolder = "@backup"

// exportedName is what the objects are called: no index is among them, since an index can
// be made of its pack.
var exportedName = regexp.MustCompile(`^objects/(?:[0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]{40}\.pack)$`)

// Export hands everything that makes up the repository to put: its references first, then
// every object, so that nothing that a reference names is missing whatever is pushed or
// packed meanwhile. Configuration, hooks and logs are left out. Where keep allows it, a
// repository that borrows objects says only that it does; otherwise it gets them itself.
// A repository that is not there, or goes before anything was put, is ErrNotFound.
func (r *Repo) Export(ctx context.Context, keep func(pool *Repo) bool, put func(name string, size int64, content io.Reader) error) error {
	scratch, files, refs, linked, err := r.pin(ctx, keep)
	if scratch != "" {
		defer os.RemoveAll(scratch) // SweepExports removes what is left
	}
	if err != nil {
		return fmt.Errorf("export repository: %w", err)
	}
	if err := put(exportRefs, int64(len(refs)), strings.NewReader(refs)); err != nil {
		return err
	}
	if linked {
		if err := put(exportLink, 0, strings.NewReader("")); err != nil {
			return err
		}
	}
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := putFile(filepath.Join(scratch, filepath.FromSlash(name)), name, put); err != nil {
			return err
		}
	}
	return nil
}

func putFile(file, name string, put func(name string, size int64, content io.Reader) error) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("export repository: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("export repository: %w", err)
	}
	return put(name, info.Size(), f)
}

// pin returns the objects of the repository names in a folder of its own, while housekeeping
// waits: from then on nothing can remove them.
func (r *Repo) pin(ctx context.Context, keep func(pool *Repo) bool) (scratch string, files []string, refs string, linked bool, err error) {
	release, err := r.tend(ctx)
	if err != nil {
		return "", nil, "", false, err
	}
	defer release()
	if refs, err = r.exportedRefs(ctx); err != nil {
		return "", nil, "", false, err
	}
	folders := []string{filepath.Join(r.Path(), "objects")}
	pool, err := r.Linked()
	if err != nil {
		return "", nil, "", false, err
	}
	if pool != nil {
		if linked = keep(pool); !linked {
			folders = append(folders, filepath.Join(pool.Path(), "objects"))
		}
	}
	root := filepath.Join(r.git.config.Root, backupFolder)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", nil, "", false, err
	}
	if scratch, err = os.MkdirTemp(root, ""); err != nil {
		return "", nil, "", false, err
	}
	known := map[string]bool{}
	for _, objects := range folders {
		found, err := exported(objects)
		if err != nil {
			return scratch, nil, "", false, err
		}
		for _, name := range found {
			if known[name] {
				continue
			}
			to := filepath.Join(scratch, filepath.FromSlash(name))
			if !known[path.Dir(name)] {
				known[path.Dir(name)] = true
				if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
					return scratch, nil, "", false, err
				}
			}
			err := gitstore.LinkOrCopy(filepath.Join(objects, strings.TrimPrefix(name, "objects/")), to)
			if err != nil {
				return scratch, nil, "", false, err
			}
			known[name] = true
			files = append(files, name)
		}
	}
	return scratch, files, refs, linked, nil
}

// exported lists the objects of a folder, the loose ones first.
func exported(objects string) ([]string, error) {
	var out []string
	folders, err := os.ReadDir(objects)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if !folder.IsDir() || folder.Name() != "pack" && len(folder.Name()) != 2 {
			continue
		}
		files, err := os.ReadDir(filepath.Join(objects, folder.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was empty
			return nil, err
		}
		for _, f := range files {
			if name := "objects/" + folder.Name() + "/" + f.Name(); f.Type().IsRegular() && exportedName.MatchString(name) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// exportedRefs writes HEAD and the references as lines.
func (r *Repo) exportedRefs(ctx context.Context) (string, error) {
	if !r.Exists() {
		return "", gitstore.ErrNotFound
	}
	head, err := r.Head(ctx)
	if err != nil {
		return "", err
	}
	refs, err := r.Refs(ctx, "refs/")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("HEAD " + string(head) + "\n")
	for _, ref := range refs {
		out.WriteString(ref.ID.String() + " " + string(ref.Name) + "\n")
	}
	return out.String(), nil
}

// SweepExports removes what an export that was killed left.
func (g *Git) SweepExports() error {
	if err := os.RemoveAll(filepath.Join(g.config.Root, backupFolder)); err != nil {
		return fmt.Errorf("sweep exports: %w", err)
	}
	return nil
}

// maxRefs bounds what is read of references, in bytes.
const maxRefs = 1 << 30

// Import makes the repository, where nothing may stand yet, of what Export gave. next gives
// the name and content of one file after the other, then io.EOF. Nothing of what it reads is
// run or taken as configuration: packs are read through and indexed by git, references are
// parsed and written again. Objects that are borrowed are those of the pool, nil for none:
// what was exported as linked needs one. Files are durable after Git.Sync.
func (r *Repo) Import(ctx context.Context, pool *Repo, next func() (name string, content io.Reader, err error)) error {
	if r.Exists() {
		return fmt.Errorf("import repository: %w", gitstore.ErrExists)
	}
	if err := os.MkdirAll(filepath.Dir(r.Path()), 0o750); err != nil {
		return fmt.Errorf("import repository: %w", err)
	}
	if err := r.importAll(ctx, pool, next); err != nil {
		return fmt.Errorf("import repository: %w", err)
	}
	return nil
}

func (r *Repo) importAll(ctx context.Context, pool *Repo, next func() (name string, content io.Reader, err error)) error {
	name, content, err := next()
	if err != nil {
		return err
	}
	if name != exportRefs {
		return fmt.Errorf("%q comes before the references: %w", clip(name), gitstore.ErrMalformed)
	}
	head, refs, err := readRefs(content)
	if err != nil {
		return err
	}
	if err := r.Init(ctx, head.Short()); err != nil {
		return err
	}
	for {
		name, content, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case err != nil:
			return err
		case name == exportLink:
			if pool == nil {
				return fmt.Errorf("it borrows objects of a pool that is not known: %w", gitstore.ErrMalformed)
			}
			err = r.Link(ctx, pool)
		case !exportedName.MatchString(name):
			err = fmt.Errorf("%q is no file of a repository: %w", clip(name), gitstore.ErrMalformed)
		case strings.HasSuffix(name, ".pack"):
			err = r.importPack(ctx, content)
		default:
			err = r.importLoose(name, content)
		}
		if err != nil {
			return err
		}
	}
	if refs == "" {
		return nil
	}
	// Without peeled values, which are git's to say.
	if err := os.WriteFile(filepath.Join(r.Path(), "packed-refs"), []byte("# pack-refs with: sorted \n"+refs), 0o640); err != nil {
		return err
	}
	return r.git.run(ctx, call{repo: r, args: []string{"pack-refs", "--all"}, load: long})
}

// readRefs parses what exportedRefs wrote.
func readRefs(content io.Reader) (head gitstore.RefName, packed string, err error) {
	in := bufio.NewScanner(io.LimitReader(content, maxRefs))
	in.Buffer(nil, 64<<10)
	var out strings.Builder
	var last gitstore.RefName
	for in.Scan() {
		id, name, _ := strings.Cut(in.Text(), " ")
		ref, err := gitstore.ParseRefName(name)
		if err != nil {
			return "", "", err
		}
		if id == "HEAD" && head == "" && ref.IsBranch() {
			head = ref
			continue
		}
		if _, err := gitstore.ParseObjectID(id); err != nil || head == "" || ref <= last || !strings.HasPrefix(name, "refs/") {
			return "", "", fmt.Errorf("reference %q: %w", clip(in.Text()), gitstore.ErrMalformed)
		}
		last = ref
		out.WriteString(id + " " + name + "\n")
	}
	if err := in.Err(); err != nil {
		return "", "", err
	}
	if head == "" {
		return "", "", fmt.Errorf("no HEAD: %w", gitstore.ErrMalformed)
	}
	return head, out.String(), nil
}

// importPack has git read a pack and make its index.
func (r *Repo) importPack(ctx context.Context, content io.Reader) error {
	from, to := io.Pipe()
	var both errgroup.Group
	both.Go(func() error { // ends with the content, or when the process has ended
		_, err := io.Copy(to, content)
		_ = to.CloseWithError(err)
		if errors.Is(err, io.ErrClosedPipe) {
			return nil // the process says why
		}
		return err
	})
	err := r.git.run(ctx, call{repo: r, config: modest(), args: []string{"index-pack", "--stdin"}, stdin: from, stdout: io.Discard, load: long})
	_ = from.Close()
	return errors.Join(both.Wait(), err)
}

// importLoose writes the file of an object.
func (r *Repo) importLoose(name string, content io.Reader) error {
	file := filepath.Join(r.Path(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o440)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// Sync makes durable whatever was written to the file system of the repositories.
func (g *Git) Sync() error {
	d, err := os.Open(g.config.Root)
	if err != nil {
		return fmt.Errorf("sync repositories: %w", err)
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
