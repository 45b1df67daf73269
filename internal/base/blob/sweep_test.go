package blob_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/blob"
)

func TestStore_SweepUnnamed(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for _, key := range []string{"file/a", "file/b", "file/c", "filed/a", "other/b"} {
		put(t, s, key, key)
	}
	named := func(names ...string) func(context.Context, []string) ([]string, error) {
		return func(context.Context, []string) ([]string, error) { return names, nil }
	}
	later := time.Now().Add(time.Hour)
	broken := errors.New("broken")
	unknown := func(context.Context, []string) ([]string, error) { return nil, broken }
	stuck := func(ctx context.Context, key string) error {
		if key == "file/a" {
			return broken
		}
		return s.Delete(ctx, key)
	}
	for _, tt := range []struct {
		name  string
		sweep blob.Unnamed
		err   error
		left  []string
	}{
		{"young", blob.Unnamed{Prefix: "file", Before: time.Now().Add(-time.Hour), Named: named()}, nil, []string{"file/a", "file/b", "file/c"}},
		{"names are not known", blob.Unnamed{Prefix: "file", Before: later, Named: unknown}, broken, []string{"file/a", "file/b", "file/c"}},
		{"one cannot be deleted", blob.Unnamed{Prefix: "file", Before: later, Named: named("file/b"), Remove: stuck}, broken, []string{"file/a", "file/b"}},
		{"unnamed", blob.Unnamed{Prefix: "file", Before: later, Named: named("file/b", "file/gone")}, nil, []string{"file/b"}},
	} {
		if err := s.SweepUnnamed(t.Context(), tt.sweep); !errors.Is(err, tt.err) {
			t.Errorf("%s: got error %v, want %v", tt.name, err, tt.err)
		}
		if got := keys(t, s, "file"); !slices.Equal(got, tt.left) {
			t.Errorf("%s: %v are left, want %v", tt.name, got, tt.left)
		}
	}
	if got := keys(t, s, ""); !slices.Equal(got, []string{"file/b", "filed/a", "other/b"}) {
		t.Errorf("%v are left", got)
	}
}

func TestStore_SweepUnnamed_batches(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	const count = 501
	for i := range count {
		put(t, s, fmt.Sprintf("file/%03d", i), "")
	}
	var asked []int
	err := s.SweepUnnamed(t.Context(), blob.Unnamed{
		Prefix: "file", Before: time.Now().Add(time.Hour),
		Named: func(_ context.Context, keys []string) ([]string, error) {
			asked = append(asked, len(keys))
			return keys[:1], nil
		},
	})
	if err != nil || !slices.Equal(asked, []int{500, 1}) {
		t.Errorf("asked about %v objects, %v, want 500 and 1", asked, err)
	}
	if left := keys(t, s, "file"); len(left) != 2 {
		t.Errorf("%d objects are left, want the 2 that are named", len(left))
	}
}
