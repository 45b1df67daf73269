package ciconfig

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
)

// Compose reads a configuration and resolves include, inputs, references, extends, default and inherit. What is wrong with it
// is in Problems of the result; an error is one of ctx or a failure of Options.Files.
func Compose(ctx context.Context, text []byte, o Options) (*Config, error) {
	c := &Config{options: o}
	c.write = sync.OnceValue(func() string { return "" })
	err := c.compose(ctx, text)
	if r := (*refusal)(nil); errors.As(err, &r) {
		c.Problems = append(c.Problems, r.Problem)
		return c, nil
	}
	return c, err
}

func (c *Config) compose(ctx context.Context, text []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root := &source{place: c.options.Location, name: c.options.Location.Path}
	at := position{file: root}
	if len(bytes.TrimSpace(text)) == 0 {
		return refuse(at, textEmpty)
	}
	if len(text) > cmp.Or(c.options.MaxBytes, MaxBytes) {
		return refuse(at, textTooBig)
	}
	given, err := fromGo(at, c.options.Inputs, 0)
	if err != nil {
		return err
	}
	m := &composer{ctx: ctx, c: c, o: c.options, steps: budget{maxSteps}}
	tree, err := m.read(text, root, given)
	if err != nil {
		return err
	}
	if tree, err = m.extend(tree); err != nil {
		return err
	}
	if tree.tooLarge(c.options.depth()) {
		return refuse(at, textTooBig)
	}
	if tree, err = resolveReferences(tree); err != nil {
		return err
	}
	if tree.tooLarge(c.options.depth()) {
		return refuse(at, textTooBig)
	}
	c.write = sync.OnceValue(tree.yaml)
	c.declare(tree)
	return ctx.Err()
}

// ruled tells whether an include with rules counts.
func (m *composer) ruled(v *value, file *source) (bool, error) {
	b := &builder{c: &Config{}, root: v}
	rules := b.rules("include:rules", v, includeRules)
	if len(b.c.Problems) > 0 {
		return false, &refusal{Problem: b.c.Problems[0]}
	}
	e := &evaluation{
		ctx: m.ctx, c: b.c, steps: m.steps, changed: map[string]changed{}, files: map[[2]string][]string{}, globs: map[string]glob{},
		run: Run{Changes: m.o.Changes, Files: func(ctx context.Context, project, ref string) ([]string, error) {
			switch {
			case m.o.Files == nil:
				return nil, nil
			case project != "":
				return m.o.Files.Paths(ctx, Location{Project: project, Commit: ref})
			}
			return m.o.Files.Paths(ctx, file.place)
		}},
	}
	r, _, err := e.first(rules, m.o.Variables, &Explanation{Job: "include"})
	m.steps = e.steps
	return r != nil && r.when != "never", err
}

// fromGo makes a value of one that encoding/json may give.
func fromGo(at position, v any, depth int) (*value, error) {
	if depth > MaxDepth {
		return nil, refuse(at, textTooBig)
	}
	switch v := v.(type) {
	case nil:
		return &value{kind: null, at: at, size: 1}, nil
	case string:
		return newText(at, v), nil
	case bool:
		return &value{kind: boolean, text: fmt.Sprint(v), at: at, size: 1}, nil
	case int, int64:
		return &value{kind: integer, text: fmt.Sprint(v), at: at, size: 1}, nil
	case float64:
		k := float
		if v == float64(int64(v)) {
			return &value{kind: integer, text: fmt.Sprint(int64(v)), at: at, size: 1}, nil
		}
		return &value{kind: k, text: fmt.Sprint(v), at: at, size: 1}, nil
	case []any:
		items := make([]*value, len(v))
		for i := range v {
			var err error
			if items[i], err = fromGo(at, v[i], depth+1); err != nil {
				return nil, err
			}
		}
		return newList(sequence, at, items), nil
	case map[string]any:
		b := newMap(at, len(v))
		for _, name := range sortedKeys(v) {
			item, err := fromGo(at, v[name], depth+1)
			if err != nil {
				return nil, err
			}
			b.set(key{name, at}, item)
		}
		return b.done(), nil
	}
	return nil, refuse(at, fmt.Sprintf("inputs of type %T are not supported", v))
}
