package db

import (
	"context"
	"errors"
)

// Delete is the one way to delete a row by its key: it opens or joins a transaction, reads the row, locks it until the
// transaction ends, lets allow refuse, deletes it, and returns it as it was. What allow returns as an error undoes the
// transaction; nil allows. A row that is not there is ErrNotFound, after which a transaction that was joined may go on.
func Delete[T any](ctx context.Context, d *DB, r Row, allow func(ctx context.Context, row *T) error) (T, error) {
	var out T
	missing := false
	err := d.InTx(ctx, func(ctx context.Context) error {
		missing = false
		row, err := lock[T](ctx, d, r)
		if errors.Is(err, ErrNotFound) {
			missing = true
			return nil
		}
		if err == nil && allow != nil {
			err = allow(ctx, &row)
		}
		if err != nil {
			return err
		}
		there, err := Drop(ctx, d, r)
		missing, out = err == nil && !there, row
		return err
	})
	if err == nil && missing {
		err = r.missing()
	}
	return out, err
}

// Drop deletes a row that the caller has locked, or that no request names: it reads nothing and checks no
// condition. It reports whether there was one.
func Drop(ctx context.Context, d *DB, r Row) (bool, error) {
	n, err := d.Exec(ctx, "DELETE FROM "+r.target()+" WHERE "+r.key()+" = ?"+r.And.AndSQL(), r.args()...)
	return n > 0, err
}
