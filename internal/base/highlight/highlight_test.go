package highlight_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/highlight"
)

func TestBudget_HTML(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, language, code, want string }{
		{"keywords", "go", "package a // <b>\n", `<span class="kn">package</span> <span class="nx">a</span> <span class="c1">// &lt;b&gt;</span>` + "\n"},
		{"a name in other case", "Golang", "1", `<span class="mi">1</span>`},
		{"a comment over lines", "c", "/* a\n\nb */", `<span class="cm">/* a</span>` + "\n\n" + `<span class="cm">b */</span>`},
		{"what comes before", "python", "a.self self", `<span class="n">a</span><span class="o">.</span><span class="n">self</span> <span class="bp">self</span>`},
		{"a language within another", "html", "<script>let a</script>", `<span class="p">&lt;</span><span class="nt">script</span><span class="p">&gt;</span>` +
			`<span class="kd">let</span> <span class="nx">a</span><span class="p">&lt;</span><span class="p">/</span><span class="nt">script</span><span class="p">&gt;</span>`},
		{"what is no code", "json", "\ue000\x00\xff \"", "\ue000\x00\xff &#34;"},
		{"nothing", "yaml", "", ""},
	} {
		if got, ok := highlight.NewBudget(highlight.Document).HTML(c.language, c.code); !ok || got != c.want {
			t.Errorf("%s:\n got %q, %v\nwant %q", c.name, got, ok, c.want)
		}
	}
	for _, language := range []string{"", "brainf", "mermaid", "../names", "=*.go ", strings.Repeat("go", 1000)} {
		if got, ok := highlight.NewBudget(highlight.Document).HTML(language, "a"); ok {
			t.Errorf("%.20q is no language, got %q", language, got)
		}
	}
}

func TestOfFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"main.go": "go", "a.b.PY": "python", "Dockerfile": "docker", "Makefile": "makefile", "a.unknown": "", "": "", "go": "", ".": "", "x.": "",
	} {
		if got := highlight.OfFile(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// atoms are what strings, comments, names and tags begin and end with.
var atoms = []string{`"`, "'", "`", `\`, "/*", "*/", "//", "#", "<", "<a ", "</", ">", "a", "1", "_", "=", ".", "(", "{", "}", "[", "${", "<?", "<!--", "-", " ", "\n", "\t", "@", "$", "%q", "&", ":", "~", "\u00e9", "\xff"}

var tag = regexp.MustCompile(`</?span[^>]*>`)

// The attack: code for which patterns go back and forth takes time that grows much faster than its
// length. Each language ends within its steps, whatever it is given, and shows what it was given.
func TestBudget_HTML_bounded(t *testing.T) {
	t.Parallel()
	languages := highlight.Languages()
	if len(languages) < 60 || !slices.IsSorted(languages) {
		t.Errorf("there are %d languages", len(languages))
	}
	for _, language := range languages {
		for i, a := range atoms {
			code := strings.Repeat(a+atoms[(i*7+3)%len(atoms)], 200)
			const steps = 30_000
			budget := highlight.NewBudget(steps)
			got, ok := budget.HTML(language, code)
			if left := budget.Steps(); left < 0 || ok && left == steps {
				t.Errorf("%s: %.8q left %d steps of %d", language, code, left, steps)
			}
			if shown := html.UnescapeString(tag.ReplaceAllString(got, "")); ok && shown != strings.ReplaceAll(code, "\x00", "\ufffd") {
				t.Errorf("%s: %.8q is shown as other text: %.60q", language, code, shown)
			}
			again := highlight.NewBudget(steps)
			if second, _ := again.HTML(language, code); second != got || again.Steps() != budget.Steps() {
				t.Errorf("%s: %.8q is shown in two ways", language, code)
			}
		}
	}
}

// A document has one budget: what its blocks took is gone, and the blocks after it stay plain.
func TestBudget_HTML_spent(t *testing.T) {
	t.Parallel()
	budget := highlight.NewBudget(200_000)
	block := strings.Repeat("a = b\n", 20)
	shown := 0
	for range 100 {
		if _, ok := budget.HTML("python", block); ok {
			shown++
		}
	}
	if shown == 0 || shown == 100 {
		t.Errorf("%d of 100 blocks are highlighted", shown)
	}
}

func FuzzBudget_HTML(f *testing.F) {
	f.Add("go", "package a\n")
	f.Add("html", "<script>'</script>")
	f.Fuzz(func(t *testing.T, language, code string) {
		got, ok := highlight.NewBudget(100_000).HTML(language, code)
		if !ok {
			return
		}
		if text := html.UnescapeString(tag.ReplaceAllString(got, "")); text != html.UnescapeString(html.EscapeString(code)) {
			t.Errorf("%s: %q is shown as %q", language, code, text)
		}
	})
}
