package securefile_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/project"
	"tenon/internal/core/securefile"
)

type world struct {
	*coretest.World
	files                           *securefile.Service
	dir                             string
	later                           time.Duration
	maintainer, developer, reporter authz.Actor
	stranger                        authz.Actor
	p                               *project.Project
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d), dir: t.TempDir()}
	objects, err := blob.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	w.files = securefile.New(securefile.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Objects: objects, Box: box, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return w.Now().Add(w.later) },
	})
	w.maintainer, w.developer, w.reporter, w.stranger = w.User("maintainer"), w.User("developer"), w.User("reporter"), w.User("stranger")
	id := w.Project("p", authz.Private, w.Group("g", authz.Private, 0))
	w.Join(id, w.maintainer, authz.Maintainer)
	w.Join(id, w.developer, authz.Developer)
	w.Join(id, w.reporter, authz.Reporter)
	w.p = w.Find(w.maintainer, id)
	w.p.LevelKnown = false // one project for all
	return w
}

// objects returns what the files of the store hold.
func (w *world) objects() []string {
	w.T.Helper()
	var out []string
	err := filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out = append(out, string(b))
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return out
}

func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		ctx := context.Background()
		content := "planted secret\x00" + strings.Repeat("x", 1000)
		f, err := w.files.Create(ctx, w.maintainer, w.p, "upload-keystore.jks", strings.NewReader(content))
		if err != nil || f.Size != int64(len(content)) || len(f.Checksum) != 64 || *f.Extension() != "jks" || f.Metadata() != nil {
			t.Fatalf("create: %+v, %v", f, err)
		}
		if all := w.objects(); len(all) != 1 || strings.Contains(all[0], "planted") {
			t.Errorf("%d objects, or one that is not sealed", len(all))
		}
		got, read, err := w.files.Read(ctx, w.developer, w.p, f.ID)
		if err != nil || string(read) != content || got.Checksum != f.Checksum {
			t.Errorf("read: %d bytes, %v", len(read), err)
		}
		list, err := w.files.List(ctx, w.developer, w.p, page.Range{Limit: 20})
		if err != nil || len(list.Items) != 1 {
			t.Errorf("list: %+v, %v", list, err)
		}
		for _, tt := range []struct{ name, content, want string }{
			{"upload-keystore.jks", "x", "name has already been taken"},
			{"", "x", "name can't be blank"},
			{"../x", "x", "name can contain only letters, digits, spaces and any of _-.@+=()"},
			{"..", "x", "name can contain only letters, digits, spaces and any of _-.@+=()"},
			{strings.Repeat("n", 256), "x", "name is too long (maximum is 255 characters)"},
			{"empty", "", "file can't be blank"},
			{"large", strings.Repeat("x", securefile.MaxSize+1), "too large"},
			{"just", strings.Repeat("x", securefile.MaxSize), ""},
		} {
			said := ""
			if _, err := w.files.Create(ctx, w.maintainer, w.p, tt.name, strings.NewReader(tt.content)); err != nil {
				said = err.Error()
			}
			if said != tt.want {
				t.Errorf("%.20q: %q, want %q", tt.name, said, tt.want)
			}
		}
		for as, want := range map[*authz.Actor]errs.Kind{&w.reporter: errs.Forbidden, &w.stranger: errs.NotFound} {
			_, create := w.files.Create(ctx, *as, w.p, "x", strings.NewReader("x"))
			_, list := w.files.List(ctx, *as, w.p, page.Range{Limit: 20})
			_, find := w.files.Find(ctx, *as, w.p, f.ID)
			_, _, read := w.files.Read(ctx, *as, w.p, f.ID)
			for what, err := range map[string]error{"create": create, "list": list, "find": find, "read": read, "delete": w.files.Delete(ctx, *as, w.p, f.ID)} {
				if !errs.Is(err, want) {
					t.Errorf("%s by %s: %v", what, as.Username, err)
				}
			}
		}
		if err := w.files.Delete(ctx, w.developer, w.p, f.ID); !errs.Is(err, errs.Forbidden) {
			t.Errorf("delete by a developer: %v", err)
		}
		if err := w.files.Delete(ctx, w.maintainer, w.p, f.ID); err != nil {
			t.Error(err)
		}
		if _, err := w.files.Find(ctx, w.maintainer, w.p, f.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("after it was deleted: %v", err)
		}
		if n := len(w.objects()); n != 1 {
			t.Errorf("%d objects after one of two was deleted", n)
		}
		// What no row names goes with the next sweep.
		if _, err := d.Exec(ctx, "DELETE FROM secure_files"); err != nil {
			t.Fatal(err)
		}
		w.later = time.Since(w.Now()) + 48*time.Hour
		if err := w.files.Sweep(ctx, securefile.Sweep{}); err != nil {
			t.Error(err)
		}
		if n := len(w.objects()); n != 0 {
			t.Errorf("%d objects after the sweep", n)
		}
	})
}

func TestFile_Metadata(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		ends := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		c := &x509.Certificate{
			SerialNumber: big.NewInt(42), NotBefore: ends.AddDate(-1, 0, 0), NotAfter: ends,
			Subject: pkix.Name{CommonName: "Signing", Organization: []string{"Acme"}, Country: []string{"AT"}},
		}
		der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{"a.cer": der, "b.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})} {
			f, err := w.files.Create(context.Background(), w.maintainer, w.p, name, bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			m := f.Metadata()
			if m == nil || m.ID != "42" || m.Subject["CN"] != "Signing" || m.Issuer["O"] != "Acme" || !f.ExpiresAt.Equal(ends) || m.ExpiresAt != "2030-01-02T03:04:05.000Z" {
				t.Errorf("%s: %+v, %v", name, m, f.ExpiresAt)
			}
		}
		if f, err := w.files.Create(context.Background(), w.maintainer, w.p, "c.cer", strings.NewReader("none")); err != nil || f.Metadata() != nil {
			t.Errorf("what is no certificate: %+v, %v", f, err)
		}
	})
}
