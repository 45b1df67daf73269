package db

import (
	"reflect"
	"testing"
)

func TestShareQueries(t *testing.T) {
	t.Parallel()
	reach := Shared("SELECT id FROM m WHERE u = ? AND l >= ?")
	tests := []struct {
		name, query string
		args        []any
		want        string
		bound       []any
	}{
		{
			"equal", "SELECT a FROM t WHERE b = ? AND (c IN (" + reach + ") OR d IN (" + reach + ")) LIMIT ?",
			[]any{1, 7, 10, 7, 10, 20},
			"WITH shared_1 AS MATERIALIZED (SELECT id FROM m WHERE u = $1 AND l >= $2) " +
				"SELECT a FROM t WHERE b = $3 AND (c IN (SELECT * FROM shared_1) OR d IN (SELECT * FROM shared_1)) LIMIT $4",
			[]any{7, 10, 1, 20},
		},
		{
			"different arguments", "SELECT a FROM t WHERE c IN (" + reach + ") OR d IN (" + reach + ")",
			[]any{7, 10, 7, 20},
			"WITH shared_1 AS MATERIALIZED (SELECT id FROM m WHERE u = $1 AND l >= $2), shared_2 AS MATERIALIZED (SELECT id FROM m WHERE u = $3 AND l >= $4) " +
				"SELECT a FROM t WHERE c IN (SELECT * FROM shared_1) OR d IN (SELECT * FROM shared_2)",
			[]any{7, 10, 7, 20},
		},
		{
			"alone", "SELECT a FROM t WHERE c IN (" + reach + ") OR d = ?",
			[]any{7, 10, 1},
			"WITH shared_1 AS MATERIALIZED (SELECT id FROM m WHERE u = $1 AND l >= $2) SELECT a FROM t WHERE c IN (SELECT * FROM shared_1) OR d = $3",
			[]any{7, 10, 1},
		},
		{
			"two kinds, and other arguments",
			"SELECT a FROM t WHERE c IN (" + reach + ") OR d IN (" + reach + ") OR e IN (" + reach + ") OR f IN (" + Shared("SELECT 1") + ") OR g IN (" + reach + ")" +
				" OR h IN (" + Shared("SELECT 1") + ")",
			[]any{7, 10, 7, 20, 7, 30, 7, 10},
			"WITH shared_1 AS MATERIALIZED (SELECT id FROM m WHERE u = $1 AND l >= $2), shared_2 AS MATERIALIZED (SELECT id FROM m WHERE u = $3 AND l >= $4), " +
				"shared_3 AS MATERIALIZED (SELECT id FROM m WHERE u = $5 AND l >= $6), shared_4 AS MATERIALIZED (SELECT 1) " +
				"SELECT a FROM t WHERE c IN (SELECT * FROM shared_1) OR d IN (SELECT * FROM shared_2)" +
				" OR e IN (SELECT * FROM shared_3) OR f IN (SELECT * FROM shared_4) OR g IN (SELECT * FROM shared_1) OR h IN (SELECT * FROM shared_4)",
			[]any{7, 10, 7, 20, 7, 30},
		},
		{
			"a mark in a literal", "SELECT '?' WHERE a IN (" + Shared("SELECT '/*end*/?'") + ") OR a IN (" + Shared("SELECT '/*end*/?'") + ") -- ?", nil,
			"WITH shared_1 AS MATERIALIZED (SELECT '/*end*/?') SELECT '?' WHERE a IN (SELECT * FROM shared_1) OR a IN (SELECT * FROM shared_1) -- ?", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, bound := shareQueries(cut(tt.query), tt.args)
			if got != tt.want || !reflect.DeepEqual(bound, tt.bound) {
				t.Errorf("\n got %q %v\nwant %q %v", got, bound, tt.want, tt.bound)
			}
		})
	}
}

// What writes, has a WITH of its own, or has no shared query, is left as it is.
func TestCut_none(t *testing.T) {
	t.Parallel()
	reach := "(" + Shared("SELECT 1") + ")"
	for _, query := range []string{
		"SELECT 1", "DELETE FROM t WHERE a IN " + reach + " OR b IN " + reach, "WITH x AS (SELECT 1) SELECT 1 IN " + reach + " OR 2 IN " + reach,
	} {
		if got := cut(query); got != nil {
			t.Errorf("%q is cut into %v", query, got)
		}
	}
}
