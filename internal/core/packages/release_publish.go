package packages

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/gzip"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/project"
)

// publishRelease is the job that publishes a distribution. One that waits publishes what came until it begins.
type publishRelease struct {
	Distribution DistributionID `json:"distribution"`
}

// Kind names the job.
func (publishRelease) Kind() string { return "debian_publish" }

// Renew is the periodic job that has Release files published before they expire, and those of distributions that have none.
type Renew struct{}

// Kind names the job.
func (Renew) Kind() string { return "debian_renew" }

const (
	indexObjects = "debian" // prefix of the keys of indices
	retiredFor   = time.Hour
	publishTries = 5
	readAtOnce   = 4 << 20 // bytes of stanzas
	rowsAtOnce   = 2000    // stanzas
)

var errOvertaken = errors.New("another job published the distribution meanwhile")

// Renew has distributions published whose Release file has to be renewed, or who have none. It forgets keys that were replaced.
func (s *Service) Renew(ctx context.Context, _ Renew) error {
	if err := s.dropRetiredKeys(ctx); err != nil {
		return err
	}
	for after := DistributionID(0); ; {
		due, err := db.Select[DistributionID](ctx, s.DB, `SELECT d.id FROM debian_distributions d LEFT JOIN debian_releases l ON l.distribution_id = d.id
			WHERE d.id > ? AND (l.id IS NULL OR l.renew_at IS NOT NULL AND l.renew_at <= ?) ORDER BY d.id LIMIT ?`, after, db.At(s.Now()), republishBatch)
		if err != nil {
			return fmt.Errorf("look for Release files to renew: %w", err)
		}
		if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.republish(ctx, due...) }); err != nil {
			return errs.Wrap(err, "renew Release files")
		}
		if len(due) < republishBatch {
			return nil
		}
		after = due[len(due)-1]
	}
}

// publishRelease publishes a distribution. Where another job does so at the same time, the later one begins again with what is there by then.
func (s *Service) publishRelease(ctx context.Context, args publishRelease) error {
	for try := range publishTries {
		err := s.publishOnce(ctx, &made{id: args.Distribution, frozen: try == publishTries-1, indices: map[string]*index{}})
		if errors.Is(err, errNoDistribution) {
			return nil
		}
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return errOvertaken
}

// made is a distribution as it is about to be published.
type made struct {
	id           DistributionID
	frozen       bool // all is read at one moment, whatever is deleted meanwhile
	distribution Distribution
	below        db.Where                  // selects the distributions whose packages it shows, as countsOf does
	counts       map[DistributionID]counts // of these, from before a stanza was read
	group        bool
	same         bool              // it shows the projects that it showed before
	safe         bool              // readers may see all that it showed before
	projects     []project.ID      // of a group: whose packages it shows
	before       *release          // nil where there was none
	indices      map[string]*index // by path
	current      map[string]*index // likewise, those that are published
	fresh        []*index          // those that are new
}

func (s *Service) publishOnce(ctx context.Context, m *made) (err error) {
	keys, err := s.signers(ctx, m.id)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // what stays is swept
			for _, x := range m.fresh {
				_ = s.Objects.Delete(context.WithoutCancel(ctx), x.Object)
			}
		}
	}()
	// Stanzas are read in parts, those of publications that were there at the beginning. Only where packages are deleted again and again meanwhile is
	// all read at one moment.
	if m.frozen {
		err = s.DB.Snapshot(ctx, func(ctx context.Context) error { return s.build(ctx, m) })
	} else {
		err = s.build(ctx, m)
	}
	if err != nil {
		return err
	}
	if err := s.pack(ctx, m); err != nil {
		return err
	}
	now := s.Now().UTC().Truncate(time.Second)
	content := digestOf(releaseText(&m.distribution, m.indices, time.Time{}) + fingerprints(keys))
	due := m.before != nil && m.before.RenewAt != nil && !s.Now().Before(m.before.RenewAt.Time)
	if m.before != nil && m.before.Content == content && !due && m.same {
		return nil
	}
	text := releaseText(&m.distribution, m.indices, now)
	next := &release{DistributionID: m.id, Generation: 1, Content: content, Release: text, Projects: int64(len(m.projects)), ModifiedAt: db.At(now)}
	if next.InRelease, next.Signature, err = sign(text, keys, now); err != nil {
		return err
	}
	if m.before != nil {
		next.Generation = m.before.Generation + 1
		if !now.After(m.before.ModifiedAt.Time) { // a client that asks by seconds must see that there is a new one
			next.ModifiedAt = db.At(m.before.ModifiedAt.Time.Add(time.Second))
		}
	}
	if v := m.distribution.ValidTime; v != nil {
		at := db.At(now.Add(time.Duration(*v) * time.Second * 2 / 3))
		next.RenewAt = &at
	}
	return s.swap(ctx, m, next)
}

// build reads all that a distribution shows and stores its indices. It reads alone.
func (s *Service) build(ctx context.Context, m *made) error {
	id := m.id
	d, err := db.Get[Distribution](ctx, s.DB, "SELECT "+distributionColumns+" FROM debian_distributions d WHERE d.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return errNoDistribution
	}
	if err != nil {
		return fmt.Errorf("find distribution: %w", err)
	}
	m.distribution = d
	if m.before, err = s.releaseOf(ctx, id); err != nil {
		return err
	}
	shown, err := s.shown(ctx, m)
	if err != nil {
		return err
	}
	there, err := db.Select[index](ctx, s.DB, "SELECT "+db.Columns[index]("x")+" FROM debian_indices x WHERE x.distribution_id = ? AND x.retired_at IS NULL ORDER BY x.id", id)
	if err != nil {
		return fmt.Errorf("look for indices: %w", err)
	}
	m.current = map[string]*index{}
	for i := range there {
		m.current[there[i].Directory+"/"+there[i].Name] = &there[i]
	}
	used, err := s.directories(ctx, shown)
	if err != nil {
		return err
	}
	for _, f := range d.folders() {
		if !used[f.directory] {
			continue
		}
		if err := s.buildIndex(ctx, m, f, shown); err != nil {
			return err
		}
	}
	return nil
}

// directories are the folders that have stanzas.
func (s *Service) directories(ctx context.Context, shown db.Where) (map[string]bool, error) {
	list, err := db.Select[string](ctx, s.DB, "SELECT DISTINCT t.directory"+stanzasFrom+shown.SQL()+" ORDER BY t.directory", shown.Args()...)
	if err != nil {
		return nil, fmt.Errorf("look for stanzas: %w", err)
	}
	out := make(map[string]bool, len(list))
	for _, d := range list {
		out[d] = true
	}
	return out, nil
}

const stanzasFrom = ` FROM debian_stanzas t JOIN package_files f ON f.id = t.file_id JOIN packages k ON k.id = f.package_id`

// entry is a stanza with what depends on the repository.
type entry struct {
	DistributionID DistributionID `db:"distribution_id"`
	Publication    int64          `db:"publication"`

	FileID    FileID     `db:"file_id"`
	Stanza    string     `db:"stanza"`
	Name      string     `db:"name"`
	Size      int64      `db:"size"`
	SHA256    string     `db:"sha256"`
	Package   string     `db:"package"`
	Version   string     `db:"version"`
	ProjectID project.ID `db:"project_id"`
}

// write writes a stanza into an index.
func (e *entry) write(to io.Writer, m *made, source bool) error {
	below := "pool/" + m.distribution.Codename
	if m.group {
		below += fmt.Sprintf("/%d", e.ProjectID)
	}
	var err error
	if source {
		_, err = fmt.Fprintf(to, "%sDirectory: %s\n", e.Stanza, poolPath(below, e.Package, e.Version, ""))
	} else {
		_, err = fmt.Fprintf(to, "%sFilename: %s\nSize: %d\nSHA256: %s\n", e.Stanza, poolPath(below, e.Package, e.Version, e.Name), e.Size, e.SHA256)
	}
	return err
}

// buildIndex writes an index and stores it, unless it is the one that is there.
func (s *Service) buildIndex(ctx context.Context, m *made, f folder, shown db.Where) error {
	shown.And("t.directory = ?", f.directory)
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.writeIndex(ctx, writer, m, f, shown)
		_ = writer.CloseWithError(err)
		done <- err
	}()
	staged, err := s.Objects.Stage(ctx, reader, blob.Wanted{})
	_ = reader.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if werr := <-done; werr != nil {
		err = errors.Join(err, werr)
	}
	if err != nil {
		return fmt.Errorf("write index %s: %w", f.directory, err)
	}
	defer staged.Discard()
	path := f.directory + "/" + f.name
	if staged.Size == 0 {
		return nil
	}
	if old, packed := m.current[path], m.current[path+".gz"]; old != nil && packed != nil && old.SHA256 == staged.SHA256 {
		m.indices[path], m.indices[path+".gz"] = old, packed
		return nil
	}
	x := &index{DistributionID: m.distribution.ID, Directory: f.directory, Name: f.name, Size: staged.Size, SHA256: staged.SHA256, Object: newObject()}
	m.indices[path], m.fresh = x, append(m.fresh, x)
	return staged.Keep(ctx, x.Object)
}

// newObject is a key that no object has: a name is in no row before all that it names is stored.
func newObject() string {
	random := blob.Random()
	return indexObjects + "/" + random[:2] + "/" + random
}

// writeIndex writes the stanzas of an index, with an empty line between them.
func (s *Service) writeIndex(ctx context.Context, to io.Writer, m *made, f folder, shown db.Where) error {
	w := bufio.NewWriterSize(to, 64<<10)
	first := true
	for after := FileID(0); ; {
		part := shown
		part.And("t.file_id > ?", after)
		list, _, whole, err := db.SelectSome[entry](ctx, s.DB, readAtOnce, nil, `SELECT t.distribution_id, t.publication, t.file_id, t.stanza, f.name, f.size, f.sha256,
			k.name AS package, k.version, k.project_id`+stanzasFrom+part.SQL()+" ORDER BY t.file_id LIMIT ?", append(part.Args(), rowsAtOnce)...)
		if err != nil {
			return fmt.Errorf("read stanzas: %w", err)
		}
		for i := range list {
			after = list[i].FileID
			if list[i].Publication > m.counts[list[i].DistributionID].Publications {
				continue // it came meanwhile, and its upload has the distribution published again
			}
			if !first {
				_ = w.WriteByte('\n') // Flush returns the error
			}
			first = false
			if err := list[i].write(w, m, f.name == "Sources"); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if whole && len(list) < rowsAtOnce {
			return w.Flush()
		}
	}
}

// pack stores each new index in a compressed form as well.
func (s *Service) pack(ctx context.Context, m *made) error {
	for _, plain := range m.fresh[:len(m.fresh):len(m.fresh)] {
		o, err := s.Objects.Open(ctx, plain.Object)
		if err != nil {
			return err
		}
		x := &index{DistributionID: plain.DistributionID, Directory: plain.Directory, Name: plain.Name + ".gz", Object: newObject()}
		reader, writer := io.Pipe()
		go func() {
			z, _ := gzip.NewWriterLevel(writer, gzip.BestSpeed)
			_, err := io.Copy(z, o)
			_ = writer.CloseWithError(errors.Join(err, z.Close(), o.Close()))
		}()
		staged, err := s.Objects.Put(ctx, x.Object, reader, blob.Wanted{})
		_ = reader.CloseWithError(io.ErrClosedPipe)
		if err != nil {
			return fmt.Errorf("compress index: %w", err)
		}
		x.Size, x.SHA256 = staged.Size, staged.SHA256
		m.indices[x.Directory+"/"+x.Name], m.fresh = x, append(m.fresh, x)
	}
	return nil
}

// swap makes what was built the distribution that readers see, in one transaction.
func (s *Service) swap(ctx context.Context, m *made, next *release) error {
	var gone []string
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.DB.Lock(ctx, fmt.Sprintf("debian release %d", next.DistributionID)); err != nil {
			return err
		}
		if err := s.requireDistribution(ctx, next.DistributionID); err != nil {
			return err
		}
		now, err := s.releaseOf(ctx, next.DistributionID)
		if err != nil {
			return err
		}
		if (now == nil) != (m.before == nil) || now != nil && now.Generation != m.before.Generation {
			return errOvertaken
		}
		if torn, err := s.torn(ctx, m); err != nil || torn {
			return cmp.Or[error](err, errOvertaken)
		}
		retired, err := s.replaceIndices(ctx, m)
		if err != nil {
			return err
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "debian_releases", Key: "distribution_id", ID: next.DistributionID}); err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "debian_releases", next); err != nil {
			return err
		}
		gone = retired
		if m.group {
			return s.keepProjects(ctx, m)
		}
		return s.republishAbove(ctx, &m.distribution)
	})
	if err != nil {
		return errs.Wrap(err, "publish distribution")
	}
	for _, object := range gone {
		if err := s.Objects.Delete(ctx, object); err != nil {
			s.Log.WarnContext(ctx, "delete index", "object", object, "error", err) // it is swept
		}
	}
	return nil
}

// replaceIndices writes the rows of new indices, and retires those that they replace. It returns the objects that no row names any more.
func (s *Service) replaceIndices(ctx context.Context, m *made) ([]string, error) {
	now := s.Now()
	var replaced []int64
	for path, x := range m.current {
		if m.indices[path] != x {
			replaced = append(replaced, x.ID)
		}
	}
	slices.Sort(replaced)
	for part := range slices.Chunk(replaced, destroyBatch) {
		var w db.Where
		w.In("id", part)
		if _, err := s.DB.Exec(ctx, "UPDATE debian_indices SET retired_at = ?"+w.SQL(), append([]any{db.At(now)}, w.Args()...)...); err != nil {
			return nil, fmt.Errorf("retire indices: %w", err)
		}
	}
	fresh := make([]index, len(m.fresh))
	for i, x := range m.fresh {
		fresh[i] = *x
	}
	if _, err := db.InsertAll(ctx, s.DB, "debian_indices", fresh); err != nil {
		return nil, fmt.Errorf("write indices: %w", err)
	}
	until := now.Add(-retiredFor)
	if m.group && !m.safe {
		until = now.Add(time.Hour) // none of those that were replaced
	}
	gone, err := db.Select[string](ctx, s.DB, "SELECT x.object FROM debian_indices x WHERE x.distribution_id = ? AND x.retired_at < ? ORDER BY x.id", m.distribution.ID, db.At(until))
	if err != nil {
		return nil, fmt.Errorf("look for retired indices: %w", err)
	}
	_, err = s.DB.Exec(ctx, "DELETE FROM debian_indices WHERE distribution_id = ? AND retired_at < ?", m.distribution.ID, db.At(until))
	return gone, errs.Wrap(err, "delete retired indices")
}

// sweepIndices deletes indices that were replaced long ago, and objects that no row names.
func (s *Service) sweepIndices(ctx context.Context) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM debian_indices WHERE retired_at < ?", db.At(s.Now().Add(-retiredFor))); err != nil {
		return fmt.Errorf("delete retired indices: %w", err)
	}
	// An object is named soon after it was stored, or never: its key is given once.
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{
		Prefix: indexObjects, Before: s.Now().Add(-24 * time.Hour), Remove: s.Objects.Delete,
		Named: func(ctx context.Context, keys []string) ([]string, error) {
			var w db.Where
			w.In("x.object", keys)
			found, err := db.Select[string](ctx, s.DB, "SELECT DISTINCT x.object FROM debian_indices x"+w.SQL()+" ORDER BY x.object", w.Args()...)
			return found, errs.Wrap(err, "look for indices")
		},
	})
}
