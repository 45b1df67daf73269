package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/debian/debiantest"
	"tenon/internal/base/disktest"
	"tenon/internal/core/packages"
	"tenon/test/servertest"
)

// depot is a world whose project has a Debian distribution.
type depot struct {
	*world

	at   string // of the project
	keys openpgp.EntityList
}

func newDepot(t *testing.T, database string) *depot {
	t.Helper()
	w := newWorld(t, database)
	d := &depot{world: w, at: fmt.Sprintf("/projects/%d", w.project)}
	w.want(201, w.ann, "POST", d.at+"/debian_distributions?codename=sid", "")
	w.await("the key of the distribution", func() bool {
		a, err := w.call(t.Context(), w.ann, "GET", d.at+"/debian_distributions/sid/key.asc", "")
		if err != nil || a.status != 200 {
			return false
		}
		d.keys, err = openpgp.ReadArmoredKeyRing(bytes.NewReader(a.body))
		return err == nil
	})
	return d
}

// put uploads a file below packages.
func (d *depot) put(ctx context.Context, path string, content io.Reader) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, *d.url.Load()+"/api/v4"+d.at+"/packages/"+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Private-Token", d.ann)
	return d.send(req)
}

// puts uploads files, name and content in turn, and reports whether all were accepted.
func (d *depot) puts(files ...string) bool {
	for i := 0; i+1 < len(files); i += 2 {
		if a, err := d.put(d.t.Context(), files[i], strings.NewReader(files[i+1])); err != nil || a.status != 201 {
			return false
		}
	}
	return true
}

// source are the files of a source package with a binary one, whose .changes comes last.
func source(name string) []string {
	deb, dsc := debiantest.Deb(debiantest.Control(name, "1", "amd64", "")), debiantest.Source(name, "1", name+".tar.gz", "tar of "+name)
	files := []string{name + ".dsc", dsc, name + ".tar.gz", "tar of " + name, name + ".deb", deb}
	return debianFiles(append(files, name+"_1_amd64.changes", debiantest.Changes(name, "1", "sid", files...))...)
}

// debianFiles puts the names of files below the Debian repository.
func debianFiles(files ...string) []string {
	out := slices.Clone(files)
	for i := 0; i+1 < len(out); i += 2 {
		out[i] = "debian/" + out[i]
	}
	return out
}

// packagesOf are the packages with a status, by name.
func (d *depot) packagesOf(status string) map[string]string {
	d.t.Helper()
	type row struct {
		Name    string `json:"name"`
		Message string `json:"status_message"`
	}
	out := map[string]string{}
	for _, p := range all[row](d.world, "/packages?package_type=debian&status="+status) {
		out[p.Name] = p.Message
	}
	return out
}

// processed waits until no upload is processed any more.
func (d *depot) processed() {
	d.t.Helper()
	d.await("the uploads to be processed", func() bool { return len(d.packagesOf("processing")) == 0 })
}

// update reads the distribution as apt does: InRelease with its signature, and all that it names by its digest. It returns the indices by name, nil
// where nothing was published yet.
func (d *depot) update(ctx context.Context) (map[string]string, error) {
	dists := d.at + "/packages/debian/dists/sid/"
	a, err := d.call(ctx, d.ann, "GET", dists+"InRelease", "")
	if err != nil || a.status == 404 {
		return nil, err
	}
	block, _ := clearsign.Decode(a.body)
	if a.status != 200 || block == nil {
		return nil, fmt.Errorf("InRelease: %d %.300s", a.status, a.body)
	}
	if _, err := openpgp.CheckDetachedSignature(d.keys, bytes.NewReader(block.Bytes), block.ArmoredSignature.Body, nil); err != nil {
		return nil, fmt.Errorf("signature of InRelease: %w", err)
	}
	out := map[string]string{"InRelease": string(a.body)}
	_, list, _ := strings.Cut(string(block.Plaintext), "\nSHA256:\n")
	for line := range strings.Lines(list) {
		var sum, name string
		var size int
		if n, err := fmt.Sscan(line, &sum, &size, &name); n != 3 {
			return nil, fmt.Errorf("line %q of InRelease: %w", line, err)
		}
		a, err := d.call(ctx, d.ann, "GET", dists+filepath.Dir(name)+"/by-hash/SHA256/"+sum, "")
		if err != nil {
			return nil, err
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(a.body)); got != sum || len(a.body) != size || a.status != 200 && (size > 0 || a.status != 204) {
			return nil, fmt.Errorf("%s by its digest: %d, %d bytes, %s, but InRelease says %s", name, a.status, len(a.body), got, line)
		}
		out[name] = string(a.body)
	}
	return out, nil
}

const (
	sources = "main/source/Sources"
	debs    = "main/binary-amd64/Packages"
)

// shown are the names of packages in an index.
func shown(indices map[string]string, name string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(indices[name]) {
		if of, ok := strings.CutPrefix(line, "Package: "); ok {
			out[strings.TrimSpace(of)] = true
		}
	}
	return out
}

// wantShown waits until packages are in the distribution.
func (d *depot) wantShown(index string, names ...string) {
	d.t.Helper()
	d.await(fmt.Sprintf("%s to have %v", index, names), func() bool {
		indices, err := d.update(d.t.Context())
		if err != nil {
			d.t.Fatal(err)
		}
		there := shown(indices, index)
		return !slices.ContainsFunc(names, func(n string) bool { return !there[n] })
	})
}

// sweep stops the server, sweeps as if two days had passed, and compares the objects with the rows: none is without the other.
func (d *depot) sweep() {
	d.t.Helper()
	d.s.Stop()
	base, ctx := d.open(), d.t.Context()
	folder := filepath.Join(d.s.Data, "objects")
	objects, err := blob.Open(folder)
	if err != nil {
		d.t.Fatal(err)
	}
	swept := packages.New(packages.Deps{DB: base, Objects: objects, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(48 * time.Hour) }})
	if err := swept.Sweep(ctx, packages.Sweep{}); err != nil {
		d.t.Fatal(err)
	}
	for prefix, query := range map[string]string{
		"package": "SELECT DISTINCT CASE WHEN object = '' THEN 'package/' || SUBSTR(sha256, 1, 2) || '/' || sha256 ELSE object END AS key FROM package_files ORDER BY key",
		"debian":  "SELECT object FROM debian_indices ORDER BY object",
	} {
		rows, err := db.Select[string](ctx, base, query)
		if err != nil {
			d.t.Fatal(err)
		}
		var there []string
		for info, err := range objects.List(ctx, prefix) {
			if err != nil {
				d.t.Fatal(err)
			}
			there = append(there, info.Key)
		}
		slices.Sort(there)
		slices.Sort(rows)
		if !slices.Equal(rows, there) {
			d.t.Errorf("%d objects of %q and %d rows: %v and %v", len(there), prefix, len(rows), there, rows)
		}
	}
	if n := count(d.t, base, "SELECT COUNT(*) FROM package_object_claims"); n != 0 {
		d.t.Errorf("%d claims of objects are left", n)
	}
}

// TestPackages_replaced reads a distribution as apt does while it is published again and again: no index differs from what its Release file says.
func TestPackages_replaced(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		d := newDepot(t, database)
		publications, reads := servertest.Times(t, "TENON_PACKAGE_PUBLICATIONS", 10), servertest.Times(t, "TENON_PACKAGE_READS", 30)
		var group sync.WaitGroup
		read, generations := 0, map[string]bool{}
		written := make(chan struct{})
		group.Go(func() { // ends with the publications
			for {
				select {
				case <-written:
					if read >= reads {
						return
					}
				default:
				}
				indices, err := d.update(t.Context())
				if err != nil {
					t.Errorf("update %d: %v", read, err)
					return
				}
				generations[indices["InRelease"]] = true
				read++
			}
		})
		for i := range publications {
			name := fmt.Sprintf("p%d", i)
			if !d.puts("debian/"+name+"_1_amd64.deb?distribution=sid&component=main", debiantest.Deb(debiantest.Control(name, "1", "amd64", ""))) {
				t.Error("an upload was refused")
			}
			d.wantShown(debs, name)
		}
		close(written)
		group.Wait()
		if len(generations) < publications/2 {
			t.Errorf("%d Release files were read, of %d publications", len(generations), publications)
		}
		t.Logf("%d updates, %d Release files, %d publications", read, len(generations), publications)
	})
}

// largeUploads are files of every kind that are staged on the disk while they arrive.
func largeUploads() []sending {
	content := strings.Repeat("\x00", 6<<20)
	out := []sending{{method: http.MethodPut, path: "generic/tool/1/tool.bin", body: content}, {method: http.MethodPut, path: "debian/tool.tar.gz", body: content}}
	for _, r := range registries() {
		out = append(out, r.version("large", 0, content)[0])
	}
	return out
}

// TestPackages_stop has a client stop in the middle of an upload: nothing is left of it.
func TestPackages_stop(t *testing.T) {
	t.Parallel()
	d := newDepot(t, "")
	staging := filepath.Join(d.s.Data, "objects", ".staging")
	for _, f := range largeUploads() {
		path := f.path
		from, to := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { // ends with the request
			_, err := d.sends(ctx, f, from)
			done <- err
		}()
		if _, err := to.Write([]byte(f.body[:len(f.body)/2])); err != nil {
			t.Fatal(err)
		}
		d.await("the upload to begin", func() bool { left, _ := os.ReadDir(staging); return len(left) == 1 })
		stop()
		_ = to.CloseWithError(errors.New("stopped"))
		if err := <-done; err == nil {
			t.Errorf("%s: the upload was answered", path)
		}
		d.await("the staged bytes to be removed", func() bool { left, _ := os.ReadDir(staging); return len(left) == 0 })
	}
	if list := all[json.RawMessage](d.world, "/packages?status=default&include_versionless=true"); len(list) != 0 {
		t.Errorf("packages of uploads that stopped: %s", list)
	}
	d.sweep()
}

// TestPackages_two uploads a version twice at once, and a file that two .changes name: one is published, the other is told why not.
func TestPackages_two(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		d := newDepot(t, database)
		both := func(one, two []string) {
			var group sync.WaitGroup
			for _, files := range [][]string{one, two} {
				group.Go(func() {
					if !d.puts(files...) {
						t.Errorf("%s was refused", files[0])
					}
				})
			}
			group.Wait()
			d.processed()
		}
		deb := func(more string) []string {
			return []string{"debian/twice_1_amd64.deb?distribution=sid&component=main", debiantest.Deb(debiantest.Control("twice", "1", "amd64", more))}
		}
		both(deb(""), deb("Depends: libc6\n"))
		published, failed := d.packagesOf("default"), d.packagesOf("error")
		if _, ok := published["twice"]; !ok || len(published) != 1 || !strings.Contains(failed["twice"], "has a file twice_1_amd64.deb with other content already") {
			t.Errorf("published %v, failed %v", published, failed)
		}
		if !d.puts("debian/common.tar.gz", "tar of both") {
			t.Fatal("the common file was refused")
		}
		changes := func(name string) []string {
			return debianFiles(name+"_1_source.changes", debiantest.Changes(name, "1", "sid", "common.tar.gz", "tar of both"))
		}
		both(changes("ones"), changes("others"))
		published, failed = d.packagesOf("default"), d.packagesOf("error")
		_, first := published["ones"]
		_, second := published["others"]
		reason := failed["ones"] + failed["others"]
		if first == second || !strings.Contains(reason, "common.tar.gz is listed in Files but was not uploaded") {
			t.Errorf("published %v, failed %v", published, failed)
		}
		d.wantShown(debs, "twice")
		d.sweep()
	})
}

// packageFiles lists the objects of packages, and what is staged.
func packageFiles(t *testing.T, disk string) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(filesBelow(t, disk)) {
		if strings.Contains(line, "/objects/package/") || strings.Contains(line, "/.staging/") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

// TestFullDisk_packages fills the disk under a server: uploads are refused with the reason, nothing is left of them, and what is uploaded once there is
// room is published.
func TestFullDisk_packages(t *testing.T) {
	servertest.Binary(t) // not onto the small disk
	disk := disktest.Small(t, "64m")
	t.Setenv("TMPDIR", disk)
	d := newDepot(t, "")
	if !d.puts(source("before")...) {
		t.Fatal("refused before the disk is full")
	}
	d.wantShown(sources, "before")
	before := packageFiles(t, disk)
	filler := disktest.Fill(t, disk, 0)
	for _, f := range largeUploads() {
		a, err := d.sends(t.Context(), f, strings.NewReader(f.body))
		if err != nil {
			t.Fatal(err)
		}
		if a.status != http.StatusServiceUnavailable && a.status != http.StatusInsufficientStorage || !strings.Contains(string(a.body), "disk") {
			t.Errorf("%s on a full disk: %d %s", f.path, a.status, a.body)
		}
	}
	if indices, err := d.update(t.Context()); err != nil || !shown(indices, sources)["before"] {
		t.Errorf("the distribution while the disk is full: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if after := packageFiles(t, disk); after != before {
		t.Errorf("files that are left of what was refused: got\n%s\nwant\n%s", after, before)
	}
	if !d.puts(append(source("after"), "generic/tool/1/tool.bin", "tool")...) {
		t.Error("refused once there is room")
	}
	for _, r := range registries() {
		if !d.publishes(r, "after", 0) {
			t.Errorf("%s: refused once there is room", r.kind)
		}
		d.whole(r, "after", 1)
	}
	d.wantShown(sources, "before", "after")
	d.wantShown(debs, "before", "after")
	d.sweep()
}
