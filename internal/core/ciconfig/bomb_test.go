package ciconfig_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/ciconfig"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// bombs are hostile configurations of a size.
func bombs() map[string]func(n int) (string, files) {
	rep := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const job = "\nj: {script: x}\n"
	return map[string]func(n int) (string, files){
		"aliases": func(n int) (string, files) {
			var b strings.Builder
			b.WriteString(".a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
			for i := 1; i <= n; i++ {
				fmt.Fprintf(&b, ".a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
			}
			return b.String() + job, nil
		},
		"long aliases": func(n int) (string, files) {
			return ".a: &a " + strings.Repeat("x", 100*n) + "\n.b: [" + strings.Repeat("*a, ", 100*n) + "]" + job, nil
		},
		"merge keys": func(n int) (string, files) {
			return ".a: &a {" + rep(n, "k%d: 1, ") + "}\n" + rep(n, ".b%d: {<<: *a}\n") + job, nil
		},
		"merge keys in a list": func(n int) (string, files) {
			return ".a: &a {" + rep(n, "k%d: 1, ") + "}\n.b: {<<: [" + strings.Repeat("*a, ", n) + "]}" + job, nil
		},
		"nesting": func(n int) (string, files) {
			return ".a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + job, nil
		},
		"nested mappings": func(n int) (string, files) {
			return ".a: " + strings.Repeat("{a: ", n) + strings.Repeat("}", n) + job, nil
		},
		"nested dashes": func(n int) (string, files) { return ".a:\n  " + strings.Repeat("- ", n) + "x" + job, nil },
		"open brackets": func(n int) (string, files) { return strings.Repeat("[", 100*n), nil },
		"many values":   func(n int) (string, files) { return ".a: [" + strings.Repeat("a,", 400*n) + "]" + job, nil },
		"many pairs":    func(n int) (string, files) { return ".a: {" + rep(100*n, "\"%d\":0,") + "}" + job, nil },
		"comments":      func(n int) (string, files) { return strings.Repeat("# x\n", 100*n) + job, nil },
		"anchors":       func(n int) (string, files) { return ".a:\n" + rep(50*n, "- &a%d x\n") + job, nil },
		"long scalar":   func(n int) (string, files) { return ".a: '" + strings.Repeat("x\n\n", 200*n) + "'" + job, nil },
		"tags":          func(n int) (string, files) { return ".a: [" + strings.Repeat("!!str x, ", 50*n) + "]" + job, nil },
		"chain of extends": func(n int) (string, files) {
			return rep(n, ".a%[1]d: {extends: .b%[1]d}\n") + "j: {extends: [" + rep(n, ".a%d,") + "], script: x}\n" + rep(n, ".b%d: {"+rep(n, "k%d: 1,")+"}\n"), nil
		},
		"doubling extends": func(n int) (string, files) {
			var b strings.Builder
			b.WriteString(".e0: {variables: {" + rep(n, "k%d: 1, ") + "}}\n")
			for i := 1; i <= 9; i++ {
				fmt.Fprintf(&b, ".e%d: {extends: [%s]}\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf(".e%d, ", i-1), n), ", "))
			}
			return b.String() + "j: {extends: .e9, script: x}\n", nil
		},
		"references": func(n int) (string, files) {
			var b strings.Builder
			b.WriteString(".r0: {script: [x, x]}\n")
			for i := 1; i <= min(n, 9); i++ {
				one := fmt.Sprintf("!reference [.r%d, script], ", i-1)
				fmt.Fprintf(&b, ".r%d: {script: [%s]}\n", i, strings.TrimSuffix(strings.Repeat(one, n), ", "))
			}
			return b.String() + fmt.Sprintf("j: {script: !reference [.r%d, script]}\n", min(n, 9)), nil
		},
		"defaults": func(n int) (string, files) {
			return "default: {before_script: [" + strings.Repeat("xx, ", n) + "]}\n" + rep(n, "j%d: {script: x}\n"), nil
		},
		"global variables": func(n int) (string, files) {
			return "variables: {" + rep(n, "K%d: x, ") + "}\n" + rep(n, "j%d: {script: x, variables: {A: b}, rules: [{if: $K1}]}\n"), nil
		},
		"matrix": func(n int) (string, files) {
			return "j: {script: x, parallel: {matrix: [{A: " + list(n) + ", B: " + list(n) + ", C: " + list(n) + ", D: " + list(n) + "}]}}\n", nil
		},
		"many matrices": func(n int) (string, files) { return rep(n, "j%d: {script: x, parallel: 200}\n"), nil },
		"includes": func(n int) (string, files) {
			return "include: [a.yml, a.yml]", files{"a.yml": "include: [a.yml, a.yml]\n" + rep(n, "j%d: {script: x}\n")}
		},
		"large includes": func(n int) (string, files) {
			return "include: [" + rep(min(n, 150), "a%d.yml, ") + "]", func() files {
				f := files{}
				for i := range min(n, 150) {
					f[fmt.Sprintf("a%d.yml", i)] = fmt.Sprintf(".a%d: [", i) + strings.Repeat("a, ", 10*n) + "]"
				}
				return f
			}()
		},
		"inputs": func(n int) (string, files) {
			return "spec: {inputs: {a: {default: " + strings.Repeat("x", 10*n) + "}}}\n---\n.a: [" + strings.Repeat("\"$[[ inputs.a ]] x\", ", 10*n) + "]" + job, nil
		},
		"variables in each other": func(n int) (string, files) {
			var b strings.Builder
			b.WriteString("variables: {V0: xxxxxxxx")
			for i := 1; i <= n; i++ {
				fmt.Fprintf(&b, ", V%d: $V%d$V%d$V%d", i, i-1, i-1, i-1)
			}
			return b.String() + fmt.Sprintf("}\nj: {script: x, rules: [{if: $V%d == 'x'}, {when: always}]}\n", n), nil
		},
		"regular expressions": func(n int) (string, files) {
			return rep(n, "j%d: {script: x, rules: [{if: '$LONG =~ /^(a|a|aa){900}$/'}, {when: always}]}\n"), nil
		},
		"large regular expression": func(n int) (string, files) {
			return "j: {script: x, rules: [{if: '$LONG =~ /" + strings.Repeat(`[^x]{1000}`, min(n, 90)) + "/'}, {when: always}]}\n", nil
		},
		"long conditions": func(n int) (string, files) {
			return "j: {script: x, rules: [{if: '$A" + strings.Repeat(" || $A", 50*n) + "'}]}\n", nil
		},
		"parentheses": func(n int) (string, files) {
			return "j: {script: x, rules: [{if: '" + strings.Repeat("(", 100*n) + "'}]}\n", nil
		},
		"globs": func(n int) (string, files) {
			return rep(n, "j%d: {script: x, rules: [{exists: ['{a,b,**}/*a*a*a*a*a*a*a*a*b', 'x*']}, {when: always}]}\n"), nil
		},
		"needs": func(n int) (string, files) {
			return rep(min(n, 50), "a%d: {stage: build, script: x, parallel: 10}\n") + rep(n, "j%d: {script: x, needs: ["+rep(min(n, 50), "a%d, ")+"]}\n"), nil
		},
		"chain of needs": func(n int) (string, files) {
			var b strings.Builder
			b.WriteString("j0: {script: x}\n")
			for i := 1; i < n; i++ {
				fmt.Fprintf(&b, "j%d: {script: x, needs: [j%d]}\n", i, i-1)
			}
			return b.String(), nil
		},
		"problems": func(n int) (string, files) { return rep(10*n, "j%d: {script: x, foo: bar, stage: none}\n"), nil },
	}
}

// detonate composes and evaluates a configuration.
func detonate(t *testing.T, text string, f files) {
	t.Helper()
	c, err := ciconfig.Compose(t.Context(), []byte(text), ciconfig.Options{Files: f})
	if err != nil {
		t.Fatal(err)
	}
	run := branch("main", "LONG="+strings.Repeat("a", 10_000))
	run.Files = func(context.Context, string, string) ([]string, error) {
		return slices.Repeat([]string{strings.Repeat("a", 200)}, 20_000), nil
	}
	if _, err := c.Evaluate(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	c.Merged()
}

// TestCompose_bombs composes hostile configurations, twice as large ones, and much larger ones: what they allocate at
// most doubles, and ends at a bound. It counts what the program allocates, so it does not run beside others.
func TestCompose_bombs(t *testing.T) {
	const most = 100 << 20 // bytes allocated, of which most are free again before the end
	for name, make := range bombs() {
		t.Run(name, func(t *testing.T) {
			sizes := []int{100, 200, 1500}
			spent, bytes := []uint64{}, []int{}
			for _, n := range sizes {
				text, f := make(n)
				bytes = append(bytes, len(text))
				for _, included := range f {
					bytes[len(bytes)-1] += len(included)
				}
				if len(text) > ciconfig.MaxBytes {
					text = text[:ciconfig.MaxBytes]
				}
				spent = append(spent, allocated(func() { detonate(t, text, f) }))
			}
			if limit := 3 * spent[0] * uint64(bytes[1]) / uint64(bytes[0]) / 2; spent[1] > limit && spent[1] > 30<<20 {
				t.Errorf("%d bytes for %d, and %d for twice of it", spent[0], sizes[0], spent[1])
			}
			if spent[2] > most {
				t.Errorf("%d MB for %d", spent[2]>>20, sizes[2])
			}
			t.Logf("%s: %d, %d, %d KB", name, spent[0]>>10, spent[1]>>10, spent[2]>>10)
		})
	}
}

func TestCompose_bounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"bytes", "j: {script: " + strings.Repeat("x", ciconfig.MaxBytes) + "}", "The parsed YAML is too big"},
		{"depth", "j: {script: x}\n.a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "The parsed YAML is too big"},
		{"aliases", func() string { text, _ := bombs()["aliases"](10); return text }(), "The parsed YAML is too big"},
		{"alias of itself", "j: &a {script: [*a]}", "Invalid configuration format"},
		{"extends", func() string {
			text := "j: {extends: .a0, script: x}\n"
			for i := range 12 {
				text += fmt.Sprintf(".a%d: {extends: .a%d}\n", i, i+1)
			}
			return text + ".a12: {}\n"
		}(), ".a9: nesting too deep in `extends`"},
		{"extends, bases first", func() string {
			text := "a0: {script: x}\n"
			for i := range 12 {
				text += fmt.Sprintf("a%d: {extends: a%d}\n", i+1, i)
			}
			return text
		}(), "a11: nesting too deep in `extends`"},
	} {
		if got := texts(problems(t, tt.text, nil)); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: problems are %q, want %q", tt.name, got, tt.want)
		}
	}
	small, err := ciconfig.Compose(t.Context(), []byte("j: {script: x}"), ciconfig.Options{MaxBytes: 10})
	if err != nil || len(small.Problems) != 1 {
		t.Errorf("more than MaxBytes: %v, %+v", err, small)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ciconfig.Compose(ctx, []byte("j: {script: x}"), ciconfig.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func FuzzCompose(f *testing.F) {
	f.Add(everything)
	for _, text := range []string{"a: &a [*a]", "? a\n", "<<: {a: b}\n", "a: !reference [a]\n", "spec:\n---\na: $[[ inputs.x ]]", "include: [a.yml, {local: a.yml, rules: [{if: x}]}]", "\xff", "a: !!binary x", "j: {script: x, parallel: {matrix: [{A: []}]}}", "- - - x", "a: |\n x\n  y\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ciconfig.Compose(t.Context(), []byte(text), ciconfig.Options{Files: files{"a.yml": "x: {script: y}"}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Evaluate(t.Context(), branch("main"))
		if err != nil || len(p.Problems) == 0 && len(p.Jobs) == 0 {
			t.Fatalf("neither jobs nor problems: %v", err)
		}
		if !c.Valid() {
			return
		}
		again, err := ciconfig.Compose(t.Context(), []byte(c.Merged()), ciconfig.Options{})
		if err != nil || !again.Valid() || again.Merged() != c.Merged() {
			t.Errorf("merged again: %v, %+v\n%s\n---\n%s", err, again.Problems, c.Merged(), again.Merged())
		}
	})
}

// BenchmarkCompose reads 2,000 lines with 20 includes.
func BenchmarkCompose(b *testing.B) {
	f := files{}
	var root strings.Builder
	root.WriteString("include:\n")
	for i := range 20 {
		fmt.Fprintf(&root, "  - inc%d.yml\n", i)
		var text strings.Builder
		for k := range 10 {
			fmt.Fprintf(&text, "job-%d-%d:\n  extends: .base\n  stage: test\n  script:\n    - make test\n    - make more\n  rules:\n    - if: $CI_COMMIT_BRANCH == \"main\"\n    - when: never\n", i, k)
		}
		f[fmt.Sprintf("inc%d.yml", i)] = text.String()
	}
	root.WriteString(".base:\n  image: alpine\n  variables: {A: b}\nbuild:\n  script:\n")
	for range 150 {
		root.WriteString("    - echo a line of a script\n")
	}
	run := branch("main")
	b.ReportAllocs()
	for b.Loop() {
		c, err := ciconfig.Compose(b.Context(), []byte(root.String()), ciconfig.Options{Files: f})
		if err != nil || !c.Valid() {
			b.Fatal(err, c.Problems)
		}
		if p, err := c.Evaluate(b.Context(), run); err != nil || len(p.Jobs) != 201 {
			b.Fatal(err, p.Problems)
		}
	}
}
