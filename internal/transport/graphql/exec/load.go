package exec

import (
	"context"
	"reflect"
)

// memory is what one operation has read, by the name of the read and its key. A mutation forgets it
// before each of its fields.
type memory map[string]any

// Load returns what a name and keys stand for. Of a request, each key is read once under one name:
// read gets those that were not read before, without repetitions, and what it does not give is
// remembered as absent.
func Load[A any, K comparable, V any](ctx context.Context, c *Call[A], name string, keys []K, read func(ctx context.Context, keys []K) (map[K]V, error)) (map[K]V, error) {
	all, ok := c.run.memory[name].(map[K]loaded[V])
	if !ok {
		all = map[K]loaded[V]{}
		c.run.memory[name] = all
	}
	var missing []K
	for _, k := range keys {
		if _, known := all[k]; !known && !reflect.ValueOf(k).IsZero() {
			all[k] = loaded[V]{}
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		found, err := read(ctx, missing)
		if err != nil {
			for _, k := range missing {
				delete(all, k)
			}
			return nil, err
		}
		for k, v := range found {
			all[k] = loaded[V]{v, true}
		}
	}
	out := make(map[K]V, len(keys))
	for _, k := range keys {
		if v := all[k]; v.found {
			out[k] = v.value
		}
	}
	return out, nil
}

type loaded[V any] struct {
	value V
	found bool
}

// LoadEach is [Load] for a field whose parents have a key each: it returns a value for every parent,
// the zero value where there is none.
func LoadEach[A, P any, K comparable, V any](ctx context.Context, c *Call[A], name string, parents []P, key func(p P) K, read func(ctx context.Context, keys []K) (map[K]V, error)) ([]V, error) {
	keys := make([]K, len(parents))
	for i, p := range parents {
		keys[i] = key(p)
	}
	found, err := Load(ctx, c, name, keys, read)
	if err != nil {
		return nil, err
	}
	out := make([]V, len(parents))
	for i, k := range keys {
		out[i] = found[k]
	}
	return out, nil
}
