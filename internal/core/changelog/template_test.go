package changelog

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	t.Parallel()
	data := map[string]any{
		"name": "Ann", "count": 3, "yes": true, "no": false, "empty": "", "none": []any{},
		"list": []any{"a", "b"}, "people": []any{map[string]any{"name": "X", "tags": []any{"p", "q"}}, map[string]any{"name": "Y"}},
	}
	for _, tt := range []struct{ name, template, want string }{
		{"text", "a { b } {c\n", "a { b } {c\n"},
		{"output", "{{ name }} {{count}}\n{{yes}}", "Ann 3\ntrue"},
		{"unknown name", "[{{ nobody }}]", "[]"},
		{"index", "{{ list.1 }}{{ people.0.tags.0 }}{{ list.7 }}", "bp"},
		{"if", "{% if yes %}y{% end %}{% if no %}n{% else %}m{% end %}", "ym"},
		{"what is empty", "{% if empty %}a{% end %}{% if none %}b{% end %}{% if nobody %}c{% end %}{% if count %}d{% end %}", "d"},
		{"each", "{% each list %}({{ it }}){% end %}", "(a)(b)"},
		{"names inside", "{% each people %}{{ name }}{{ count }}{% each tags %}{{ it }}{% end %};{% end %}", "Xpq;Y;"},
		{"each of no list", "{% each name %}x{% end %}", ""},
		{"swallowed line ends", "{% if yes %}\na\n{% end %}\nb\n{{ name }}\n", "a\nb\nAnn\n"},
		{"one line end only", "{% if yes %}\n\na{% end %}", "\na"},
		{"backslash", "a\\\nb\\c", "ab\\c"},
	} {
		nodes, err := parse(tt.template)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, err := render(nodes, data); err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestParse_refusals(t *testing.T) {
	t.Parallel()
	each := func(n int) string { return strings.Repeat("{% each it %}", n) + strings.Repeat("{% end %}", n) }
	for _, tt := range []struct{ template, want string }{
		{"{{ name", "Failed to parse the template: "},
		{"{% if x", "Failed to parse the template: "},
		{"{% if x %}", "Failed to parse the template: "},
		{"{% end %}", "Failed to parse the template: "},
		{"{% else %}", "Failed to parse the template: "},
		{"{% each x %}{% else %}{% end %}", "Failed to parse the template: "},
		{"{% while x %}{% end %}", "Failed to parse the template: "},
		{"{{ }}", "Failed to parse the template: "},
		{"{{ a1 }}", "Failed to parse the template: "},
		{"{{ a..b }}", "Failed to parse the template: "},
		{"{{ a b }}", "Failed to parse the template: "},
		{"{% if a-b %}{% end %}", "Failed to parse the template: "},
		{strings.Repeat("{% if x %}", 100), "Failed to parse the template: statements are nested too deep"},
		{each(5), "You can only nest up to 4 loops"},
		{strings.Repeat("x", 100_000), "Template parser timeout. Consider reducing the size of the template"},
	} {
		if _, err := parse(tt.template); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%.40q: got %v, want %s", tt.template, err, tt.want)
		}
	}
	if _, err := parse(each(4)); err != nil {
		t.Error(err)
	}
}

// No template and no data make the evaluation run away.
func TestRender_bounds(t *testing.T) {
	t.Parallel()
	many := make([]any, 2000)
	for i := range many {
		many[i] = many[:i]
	}
	for _, template := range []string{
		"{% each it %}{% each it %}{% each it %}x{% end %}{% end %}{% end %}",
		"{% each it %}" + strings.Repeat("y", 60_000) + "{% end %}",
	} {
		nodes, err := parse(template)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := render(nodes, many); err == nil || err.Error() != errTooLong.Error() {
			t.Errorf("%.20q: got %d bytes, %v", template, len(out), err)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add(defaultTemplate)
	f.Add("{% each it %}{{ it.0 }}\\\n{% if a %}{% else %}{% end %}{% end %}")
	f.Fuzz(func(t *testing.T, template string) {
		nodes, err := parse(template)
		if err != nil {
			return
		}
		out, err := render(nodes, []any{"a", []any{true, 1}, map[string]any{"a": "b"}})
		if err == nil && len(out) > maxOutput {
			t.Errorf("%d bytes", len(out))
		}
	})
}

func TestReadConfig(t *testing.T) {
	t.Parallel()
	c, err := readConfig("f.yml", []byte("date_format: '%d.%m.%Y'\ncategories:\n  feature: Added\n  bug: Fixed\ninclude_groups: [a/b]\n"))
	if err != nil || c.dateFormat != "%d.%m.%Y" || strings.Join(c.order, " ") != "Added Fixed" || c.categories["bug"] != "Fixed" || len(c.groups) != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		if _, err := readConfig("f.yml", []byte(empty)); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
	for _, tt := range []struct{ content, want string }{
		{"a: [", "f.yml does not contain valid YAML"},
		{"- a\n", "f.yml does not contain valid YAML"},
		{"a: &x [1]\nb: [*x, *x]\n", "f.yml does not contain valid YAML"},
		{"categories: [a]", `The "categories" configuration key must be a Hash`},
		{"tag_regex: '('", "The regular expression to use for finding the previous tag for a version is invalid: "},
		{"template: '{{'", "Failed to parse the template: "},
	} {
		if _, err := readConfig("f.yml", []byte(tt.content)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.content, err, tt.want)
		}
	}
}

func TestVersion_less(t *testing.T) {
	t.Parallel()
	order := []string{"0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "v1.2.0", "1.10.0+x"}
	for i, a := range order {
		for k, b := range order {
			v, ok := parseVersion(a)
			w, fine := parseVersion(b)
			if !ok || !fine || v.less(w) != (i < k) {
				t.Errorf("%s < %s: %v", a, b, v.less(w))
			}
		}
	}
	for _, bad := range []string{"", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3.4", "x1.2.3", "1.2.3 "} {
		if _, ok := parseVersion(bad); ok {
			t.Errorf("%q is no version", bad)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	section := "## 1.5.0 (2023-05-22)\n\nnew\n"
	v, _ := parseVersion("1.5.0")
	for _, tt := range []struct{ name, file, want string }{
		{"new file", "", section},
		{"before the lower", "# Log\n\n## 2.0.0 (x)\n\ntwo\n\n## v1.4.0\n\nold\n\n## 1.3.0\n", "# Log\n\n## 2.0.0 (x)\n\ntwo\n\n" + section + "\n## v1.4.0\n\nold\n\n## 1.3.0\n"},
		{"at the end", "## 2.0.0\n\ntwo", "## 2.0.0\n\ntwo\n\n" + section},
		{"no versions", "text\n", "text\n\n" + section},
		{"there already", "## 1.5.0\n\nold\n", ""},
	} {
		got, changed := place(tt.file, section, v)
		if changed != (tt.want != "") || changed && got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, changed, tt.want)
		}
	}
}
