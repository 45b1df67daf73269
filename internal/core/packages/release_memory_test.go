package packages

import (
	"context"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// Release files are read from memory, by the one statement that finds the distribution. Another server that publishes is noticed at once.
func TestService_Dist_memory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newDepot(t, d), t.Context()
		two := w.server(w.one.Box)
		made, err := w.one.CreateDistribution(ctx, w.as, w.p.Place(), "sid", DistributionChanges{})
		w.must(err)
		w.run()
		asked := func(on *Service, file string) (text string, statements int) {
			t.Helper()
			statements = dbtest.Count(t, d, func() {
				f, err := on.Dist(ctx, w.as, w.p.Place(), "sid/"+file)
				w.must(err)
				text = f.Text
			})
			return text, statements
		}
		signed, first := asked(two, "InRelease")
		if lines := strings.Split(strings.TrimSuffix(signed, "-----END PGP SIGNATURE-----\n"), "\n"); len(lines) < 2 || len(lines[len(lines)-2]) != 5 || lines[len(lines)-2][0] != '=' {
			t.Errorf("the signature ends without a checksum, which GnuPG 2.2 needs:\n%s", signed)
		}
		for _, file := range []string{"InRelease", "Release", "Release.gpg"} {
			if _, n := asked(two, file); n != first-1 {
				t.Errorf("%s: %d statements, want %d: the text is in memory", file, n, first-1)
			}
		}
		permission := dbtest.Count(t, d, func() { w.must(two.readDistributions(ctx, w.as, w.p.Place())) })
		if first != permission+2 {
			t.Errorf("%d statements with an empty memory, want 2 beside the %d of the permission", first, permission)
		}
		for _, label := range []string{"first", "second"} {
			_, err := d.Exec(ctx, "UPDATE debian_distributions SET label = ?", label)
			w.must(err)
			w.must(w.one.publishRelease(ctx, publishRelease{made.ID}))
			for _, on := range []*Service{w.one, two} {
				for _, file := range []string{"InRelease", "Release"} {
					if text, _ := asked(on, file); !strings.Contains(text, "Label: "+label+"\n") {
						t.Errorf("%s after a publication with the label %s:\n%s", file, label, text)
					}
				}
			}
		}
		if used := two.texts.Stats().Bytes; used == 0 || used > textBytes {
			t.Errorf("%d bytes in memory, at most %d", used, textBytes)
		}

		// What is read in a transaction may be undone, and is not kept.
		three := w.server(w.one.Box)
		w.must(d.InSavepoint(ctx, func(inside context.Context) error {
			_, err := three.Dist(inside, w.as, w.p.Place(), "sid/InRelease")
			return err
		}))
		if got := three.texts.Stats().Bytes; got != 0 {
			t.Errorf("%d bytes are kept of what a transaction read", got)
		}
	})
}
