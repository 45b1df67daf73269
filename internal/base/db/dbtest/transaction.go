package dbtest

import (
	"context"
	"sync"
	"testing"

	"tenon/internal/base/db"
)

// Transactions runs fn and returns the transactions of a database that ended meanwhile, in the
// order in which they ended, those of jobs as well. There is one such fn at a time.
func Transactions(tb testing.TB, d *db.DB, fn func()) []db.Transaction {
	tb.Helper()
	var mu sync.Mutex
	var out []db.Transaction
	d.ObserveTransactions(func(_ context.Context, t db.Transaction) {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, t)
	})
	defer d.ObserveTransactions(func(context.Context, db.Transaction) {})
	fn()
	mu.Lock()
	defer mu.Unlock()
	return out
}

// Largest returns the transaction with the most statements, and the most rows that one wrote.
func Largest(all []db.Transaction) (statements int, rows int64) {
	for _, t := range all {
		statements, rows = max(statements, t.Statements), max(rows, t.Rows)
	}
	return statements, rows
}

// Few and Many are the sizes with which Flat runs an operation.
const (
	Few  = 3
	Many = 40
)

// Flat fails where one transaction of an operation has more statements the more rows it
// works on. Prepare makes a fresh state with n rows, which is not counted, and returns the operation,
// with whatever it leaves to jobs. Each is called twice: what is cached afterwards is cached for both sizes.
func Flat(tb testing.TB, d *db.DB, prepare func(n int) (operation func())) {
	tb.Helper()
	const slack = 1 // of what another part of the program does at the same time
	least := func(n int) int {
		out := 0
		for i := range 2 {
			operation := prepare(n)
			statements, _ := Largest(Transactions(tb, d, operation))
			if i == 0 || statements < out {
				out = statements
			}
		}
		return out
	}
	few := least(Few)
	many := least(Many)
	tb.Logf("largest transaction: %d statements for %d rows, %d for %d", few, Few, many, Many)
	if many > few+slack {
		tb.Errorf("one transaction has %d statements for %d rows and %d for %d, want the same number", few, Few, many, Many)
	}
}
