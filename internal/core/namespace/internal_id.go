package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// The kinds of numbers that count per project or group.
const (
	KindIssue        = "issue"
	KindMergeRequest = "merge_request"
	KindMilestone    = "milestone"
	KindEpic         = "epic"
	KindIteration    = "iteration"
	KindPipeline     = "pipeline"
	KindDeployment   = "deployment"
	KindUserList     = "feature_flag_user_list"
)

// NextIID returns the next number of a kind in a project's or group's namespace, from 1
// without gaps. Call it inside the transaction that inserts the row: the row of the
// counter stays locked until that transaction ends, so numbers of transactions that
// fail are given out again.
func NextIID(ctx context.Context, d *db.DB, ns authz.NamespaceID, kind string) (int64, error) {
	return NextIIDs(ctx, d, ns, kind, 1)
}

// NextIIDs is NextIID for n rows: it returns the last of the next n numbers.
func NextIIDs(ctx context.Context, d *db.DB, ns authz.NamespaceID, kind string, n int) (int64, error) {
	var iid int64
	err := d.InTx(ctx, func(ctx context.Context) error {
		var err error
		iid, err = db.Get[int64](ctx, d, `INSERT INTO internal_ids (namespace_id, kind, last) VALUES (?, ?, ?)
			ON CONFLICT (namespace_id, kind) DO UPDATE SET last = internal_ids.last + excluded.last RETURNING last`, ns, kind, n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("next %s number: %w", kind, err)
	}
	return iid, nil
}

// RaiseIID makes the next number of a kind be greater than iid, for rows that bring
// their own. Call it inside the transaction that inserts the row.
func RaiseIID(ctx context.Context, d *db.DB, ns authz.NamespaceID, kind string, iid int64) error {
	err := d.InTx(ctx, func(ctx context.Context) error {
		_, err := db.InsertRow(ctx, d, "internal_ids", db.Values{
			"namespace_id": ns, "kind": kind, "last": iid,
		}, "ON CONFLICT (namespace_id, kind) DO UPDATE SET last = excluded.last WHERE internal_ids.last < excluded.last")
		return err
	})
	if err != nil {
		return fmt.Errorf("raise %s number: %w", kind, err)
	}
	return nil
}
