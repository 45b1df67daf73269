package db

import (
	"errors"
	"testing"
)

func TestDB_Loosely(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	during := ""
	failed := errors.New("failed")
	err := d.Loosely(t.Context(), func() error {
		during = pragma(t, d.writer, "synchronous")
		if _, err := d.Exec(t.Context(), "CREATE TABLE t (a INT)"); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("got %v, want the closure's error", err)
	}
	if after := pragma(t, d.writer, "synchronous"); during != "1" || after != "2" {
		t.Errorf("synchronous is %s inside and %s after, want 1 and 2", during, after)
	}
}
