package db_test

import (
	"slices"
	"testing"

	"tenon/internal/base/db"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ words, want []string }{
		{nil, nil},
		{[]string{"a"}, []string{"a"}},
		{[]string{"B", "a", "b"}, []string{"b", "a"}},
		{[]string{"log", "LOGIN", "in", "gin"}, []string{"login"}},
		{[]string{"login", "log", "logs"}, []string{"login", "logs"}},
		{[]string{"ab", "bc", "abc"}, []string{"abc"}},
		{[]string{"\u00c4PFEL", "\u00e4pf"}, []string{"\u00e4pfel"}},
	} {
		if got := db.Terms(c.words); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.words, got, c.want)
		}
	}
}
