package maven

import (
	"fmt"
	"strings"
	"testing"
)

const (
	build1 = "1.0-20260102.030405-1"
	build2 = "1.0-20260103.030405-2"
	build3 = "1.0-20260103.030406-10"
)

func snapshotMetadata(timestamp, number, updated string, builds ...string) string {
	var list strings.Builder
	for i := 0; i < len(builds); i += 3 {
		kind := "\n        <extension>" + builds[i] + "</extension>"
		if classifier, extension, ok := strings.Cut(builds[i], " "); ok {
			kind = "\n        <classifier>" + classifier + "</classifier>\n        <extension>" + extension + "</extension>"
		}
		fmt.Fprintf(&list, "\n      <snapshotVersion>%s\n        <value>%s</value>\n        <updated>%s</updated>\n      </snapshotVersion>", kind, builds[i+1], builds[i+2])
	}
	return "<metadata modelVersion=\"1.1.0\">\n  <version>1.0-SNAPSHOT</version>\n  <versioning>\n    <snapshot>\n      <timestamp>" + timestamp + "</timestamp>\n      <buildNumber>" + number +
		"</buildNumber>\n    </snapshot>\n    <lastUpdated>" + updated + "</lastUpdated>\n    <snapshotVersions>" + list.String() + "\n    </snapshotVersions>\n  </versioning>\n</metadata>\n"
}

// Metadata of a snapshot names the newest file of each kind that is there.
func TestDocument_keepBuilds(t *testing.T) {
	t.Parallel()
	now := snapshotMetadata("20260103.030406", "10", "20260103030406", "jar", build3, "20260103030406", "sources jar", build3, "20260103030406", "pom", build3, "20260103030406")
	files := func(names ...string) []string { return names }
	for _, c := range []struct {
		name  string
		there []string
		want  string
		left  int
	}{
		{"all are there", files("app-"+build3+".jar", "app-"+build3+"-sources.jar", "app-"+build3+".pom"), now, 3},
		{
			"a file has one before it", files("app-"+build1+".jar", "app-"+build2+".jar", "app-"+build3+"-sources.jar", "app-"+build3+".pom"),
			snapshotMetadata("20260103.030406", "10", "now", "jar", build2, "20260103030405", "sources jar", build3, "20260103030406", "pom", build3, "20260103030406"), 3,
		},
		{
			"a file has none before it", files("app-"+build3+".jar", "app-"+build3+".pom", "app-"+build1+"-tests.jar"),
			snapshotMetadata("20260103.030406", "10", "now", "jar", build3, "20260103030406", "pom", build3, "20260103030406"), 2,
		},
		{
			"a build", files("app-"+build1+".jar", "app-"+build2+".jar", "app-"+build1+".pom", "app-2"+build2+"-sources.jar", "other-"+build2+".pom", "app-1.0-sources.jar"),
			snapshotMetadata("20260103.030405", "2", "now", "jar", build2, "20260103030405", "pom", build1, "20260102030405"), 2,
		},
		{"nothing is there", files("app-1.0.jar"), snapshotMetadata("20260103.030406", "10", "now"), 0},
	} {
		d, err := parse([]byte(now))
		if err != nil {
			t.Fatal(err)
		}
		got, left, changed := d.keepBuilds("app", "1.0-SNAPSHOT", c.there, "now")
		if string(got) != c.want || left != c.left || changed != (c.want != now) {
			t.Errorf("%s: %d are left, changed %v\n%s\nwant\n%s", c.name, left, changed, got, c.want)
		}
	}
	// What names no file is left alone.
	for _, text := range []string{
		"<metadata><versioning><snapshotVersions><snapshotVersion><value>" + build3 + "</value></snapshotVersion><snapshotVersion/></snapshotVersions></versioning></metadata>",
		"<metadata><versioning><snapshot><localCopy>true</localCopy></snapshot></versioning></metadata>",
		"<metadata><snapshotVersions><snapshotVersion><extension>jar</extension><value>" + build3 + "</value></snapshotVersion></snapshotVersions></metadata>",
	} {
		d, err := parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, _, changed := d.keepBuilds("app", "1.0-SNAPSHOT", nil, "now"); changed || string(got) != text {
			t.Errorf("%s: changed to %s", text, got)
		}
	}
}

// What is changed in a document that can be read leaves one that can be read, and names files that are there.
func FuzzSnapshot(f *testing.F) {
	f.Add(snapshotMetadata("20260103.030406", "10", "20260103030406", "jar", build3, "20260103030406", "sources jar", build2, "x"))
	f.Add("<metadata><versioning><snapshotVersions><snapshotVersion><extension>jar</extension><value>a</value><value>b</value><snapshotVersion/></snapshotVersion></snapshotVersions></versioning></metadata>")
	there := []string{"app-" + build1 + ".jar", "app-" + build2 + ".jar", "app-" + build1 + "-sources.jar"}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse([]byte(text))
		if err != nil {
			return
		}
		out, left, changed := d.keepBuilds("app", "1.0-SNAPSHOT", there, "now")
		again, err := parse(out)
		if err != nil {
			t.Fatalf("%v in %q, of %q", err, out, text)
		}
		if len(again.builds) != left {
			t.Errorf("%q lists %d builds, want %d, of %q", out, len(again.builds), left, text)
		}
		if _, _, more := again.keepBuilds("app", "1.0-SNAPSHOT", there, "now"); more || !changed && string(out) != text {
			t.Errorf("%q is changed again, of %q", out, text)
		}
	})
}
