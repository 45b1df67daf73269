package db

import (
	"regexp"
	"strings"
	"testing"
)

func TestRewrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query, want string
		writes      bool
	}{
		{"SELECT ?, ?", "SELECT $1, $2", false},
		{"SELECT '?' || ?", "SELECT '?' || $1", false},
		{"SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1", false},
		{`SELECT "a?b" FROM t WHERE c = ?`, `SELECT "a?b" FROM t WHERE c = $1`, false},
		{"SELECT 1 -- ? it's\n, ?", "SELECT 1 -- ? it's\n, $1", false},
		{"SELECT /* ? ' */ ? /* ?", "SELECT /* ? ' */ $1 /* ?", false},
		{`SELECT a FROM t WHERE b LIKE ? ESCAPE '\' AND c = ?`, `SELECT a FROM t WHERE b LIKE $1 ESCAPE '\' AND c = $2`, false},
		{"SELECT 7 / ? - ?", "SELECT 7 / $1 - $2", false},
		{"SELECT 'update' -- delete", "SELECT 'update' -- delete", false},
		{"SELECT updated_at, is_deleted FROM t", "SELECT updated_at, is_deleted FROM t", false},
		{"WITH x AS (SELECT 1) SELECT * FROM x", "WITH x AS (SELECT 1) SELECT * FROM x", false},
		{"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", true},
		{"\n insert into t values (?) returning id", "\n insert into t values ($1) returning id", true},
		{"UPDATE t SET a = ?", "UPDATE t SET a = $1", true},
		{"CREATE TABLE t (a INT)", "CREATE TABLE t (a INT)", true},
		{"", "", true},
	}
	for _, tt := range tests {
		if got := rewrite(Postgres, tt.query); got.sql != tt.want || got.writes != tt.writes {
			t.Errorf("rewrite(%q)\n got %q, writes %v\nwant %q, writes %v", tt.query, got.sql, got.writes, tt.want, tt.writes)
		}
		if got := rewrite(SQLite, tt.query); got.sql != tt.query {
			t.Errorf("rewrite(%q) for SQLite changed the text to %q", tt.query, got.sql)
		}
	}
}

// FuzzRewrite checks that rewriting only ever turns marks into numbers.
func FuzzRewrite(f *testing.F) {
	for _, seed := range []string{"SELECT ?", "'?", `"`, "--", "/*", "/**/?", "a'b''?'?", "\xff?é?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if strings.Contains(query, "$") || regexp.MustCompile(`\?[0-9]`).MatchString(query) {
			t.Skip("these cannot be told from numbers of ours")
		}
		numbered := rewrite(Postgres, query).sql
		if back := regexp.MustCompile(`\$[0-9]+`).ReplaceAllString(numbered, "?"); back != query {
			t.Errorf("%q became %q", query, numbered)
		}
	})
}

func TestTextCache_bounded(t *testing.T) {
	t.Parallel()
	var c textCache
	for i := range 10_000 {
		if got := c.get(Postgres, strings.Repeat(" ", i%4500)+"?").sql; !strings.HasSuffix(got, "$1") {
			t.Fatalf("got %q", got)
		}
	}
	if len(c.texts) > 4000 {
		t.Errorf("%d texts are kept", len(c.texts))
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"Abc": "abc", "STRASSE": "strasse", "Straße": "strasse", "ÄPFEL": "äpfel", "A\u0308pfel": "äpfel",
		"ﬁne": "fine", "ΣΊΣΥΦΟΣ": "σίσυφοσ", "①": "1", "": "",
	} {
		if got := Fold(s); got != want || Fold(got) != got {
			t.Errorf("Fold(%q) = %q, then %q, want %q", s, got, Fold(got), want)
		}
	}
}
