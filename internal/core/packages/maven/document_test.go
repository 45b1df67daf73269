package maven

import (
	"slices"
	"strings"
	"testing"
)

func among(versions ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(versions, v) }
}

// Versions that are not kept are cut out, all else stays as the client has written it.
func TestDocument_keep(t *testing.T) {
	t.Parallel()
	const head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- ours -->\n<metadata>\n  <groupId>com.example</groupId>\n  <artifactId>app</artifactId>\n  <versioning>\n"
	versions := func(latest, release, list, updated string) string {
		return head + latest + release + "    <versions>" + list + "\n    </versions>\n    <lastUpdated>" + updated + "</lastUpdated>\n  </versioning>\n</metadata>\n"
	}
	all := versions("    <latest>2.0-SNAPSHOT</latest>\n", "    <release> 1.1 </release>\n", "\n      <version>1.0</version>\n      <version>1.1</version>\n      <version>2.0-SNAPSHOT</version>", "20200101000000")
	for _, c := range []struct {
		name, text string
		kept       []string
		want       string
	}{
		{"all are there", all, []string{"1.0", "1.1", "2.0-SNAPSHOT"}, all},
		{
			"the release", all,
			[]string{"1.0", "2.0-SNAPSHOT"},
			versions("    <latest>2.0-SNAPSHOT</latest>\n", "    <release>1.0</release>\n", "\n      <version>1.0</version>\n      <version>2.0-SNAPSHOT</version>", "now"),
		},
		{"all releases", all, []string{"2.0-SNAPSHOT"}, strings.Replace(versions("    <latest>2.0-SNAPSHOT</latest>\n", "    <release>1.0</release>\n", "\n      <version>2.0-SNAPSHOT</version>", "now"), "\n    <release>1.0</release>", "", 1)},
		{"the latest", all, []string{"1.0"}, versions("    <latest>1.0</latest>\n", "    <release>1.0</release>\n", "\n      <version>1.0</version>", "now")},
		{"no versioning", "<metadata><plugins><plugin><name>x</name></plugin></plugins></metadata>", nil, "<metadata><plugins><plugin><name>x</name></plugin></plugins></metadata>"},
		{"a version with elements", "<metadata><versioning><versions><version>1<b/>2</version></versions></versioning></metadata>", nil, "<metadata><versioning><versions><version>1<b/>2</version></versions></versioning></metadata>"},
		{"an empty element", "<metadata><versioning><latest/><versions><version>1</version></versions></versioning></metadata>", nil, "<metadata><versioning><latest/><versions></versions></versioning></metadata>"},
		{
			"names are escaped", "<metadata><versioning><latest>x</latest><versions><version>1&amp;&lt;2</version></versions></versioning></metadata>",
			[]string{"1&<2"},
			"<metadata><versioning><latest>1&amp;&lt;2</latest><versions><version>1&amp;&lt;2</version></versions></versioning></metadata>",
		},
	} {
		d, err := parse([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, _, changed := d.keep(among(c.kept...), "now")
		if string(got) != c.want || changed != (c.text != c.want) {
			t.Errorf("%s: changed %v\n%s\nwant\n%s", c.name, changed, got, c.want)
		}
	}
	for _, text := range []string{"<", "<metadata>", "<a></b>", strings.Repeat("<a>", 101) + strings.Repeat("</a>", 101), `<?xml version="1.0" encoding="latin1"?><metadata/>`, "<metadata>&none;</metadata>"} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%.40q is read", text)
		}
	}
}

// What is cut out of a document that can be read leaves one that can be read, with the versions that are kept.
func FuzzDocument(f *testing.F) {
	f.Add("<metadata><versioning><latest>2</latest><release>2</release><versions><version>1</version>\n<version>2</version></versions><lastUpdated>1</lastUpdated></versioning></metadata>")
	f.Add("<metadata><versioning><latest>2</latest><latest>3</latest><release/></versioning></metadata>")
	f.Add("<metadata><versioning><versions><version><![CDATA[2]]></version><version>1<!-- x --></version></versions></versioning></metadata>")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse([]byte(text))
		if err != nil {
			return
		}
		out, left, changed := d.keep(among("1"), "now")
		again, err := parse(out)
		if err != nil {
			t.Fatalf("%v in %q, of %q", err, out, text)
		}
		var listed []string
		for _, v := range again.versions {
			listed = append(listed, v.text)
		}
		if !slices.Equal(listed, left) || slices.ContainsFunc(left, func(v string) bool { return v != "1" }) {
			t.Errorf("%q lists %q, want %q", out, listed, left)
		}
		if _, _, more := again.keep(among("1"), "now"); more || !changed && string(out) != text {
			t.Errorf("%q is changed again, of %q", out, text)
		}
	})
}
