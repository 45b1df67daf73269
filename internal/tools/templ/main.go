// Command templ makes the Go code of pages and mails from their templates: for each x.templ of
// the folder that it runs in an x_templ.go beside it.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"

	"github.com/a-h/templ/generator"
	"github.com/a-h/templ/parser/v2"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "templ:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := generate(".")
	if err != nil {
		return err
	}
	for name, code := range files {
		if err := os.WriteFile(name, code, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the code of every template in a folder, by the name of its file.
func generate(dir string) (map[string][]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.templ"))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range names {
		tree, err := parser.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var b bytes.Buffer
		if _, err := generator.Generate(tree, &b, generator.WithFileName(filepath.Base(name))); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		code, err := format.Source(b.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[strings.TrimSuffix(name, ".templ")+"_templ.go"] = code
	}
	return out, nil
}
