package db

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"
)

// Rows wait for their trigrams: indexing one costs a fraction of its time where others are indexed with it.
const (
	indexedAtOnce = 64 // while others write, who wait for it: fewer, where these take longer than indexTime
	indexTime     = 20 * time.Millisecond
	indexedMany   = 2000                   // before anybody writes
	indexAfter    = 500 * time.Millisecond // of the first write
	indexRest     = 5 * time.Second        // without a write: fewer than indexedAtOnce are indexed too
)

// indexer writes the trigrams of rows on SQLite.
type indexer struct {
	d      *DB
	tables []Trigrams
	wake   chan struct{} // something was written
	over   chan struct{}
	done   chan struct{}
	stop   func() // closes over
}

// startIndexer indexes what waits, and starts the indexer of the database, if that did not happen before.
func (d *DB) startIndexer(ctx context.Context, tables []Trigrams) error {
	x := &indexer{d: d, wake: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{})}
	x.stop = sync.OnceFunc(func() { close(x.over) })
	for _, t := range tables {
		if t.Late {
			x.tables = append(x.tables, t)
		}
	}
	if err := x.all(ctx); err != nil {
		return err
	}
	if d.indexer.CompareAndSwap(nil, x) {
		go x.run() // ends in close
	}
	return nil
}

// all indexes every row that waits, which are many after a backup was restored.
func (x *indexer) all(ctx context.Context) error {
	tick := time.NewTicker(x.d.reporting)
	defer tick.Stop()
	for _, t := range x.tables {
		for indexed, more := 0, true; more; {
			n, err := x.step(ctx, t, indexedMany)
			if err != nil {
				return err
			}
			indexed, more = indexed+n, n == indexedMany
			select {
			case <-tick.C:
				x.d.log.InfoContext(ctx, "texts are being indexed for searches", slog.String("table", t.Table), slog.Int("rows", indexed))
			default:
			}
		}
	}
	return nil
}

func (x *indexer) close() {
	x.stop()
	<-x.done
}

// written tells the indexer that rows may wait.
func (x *indexer) written() {
	if x == nil {
		return
	}
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *indexer) run() {
	defer close(x.done)
	var rest <-chan time.Time // nil while nothing waits
	for {
		select {
		case <-x.over:
			return
		case <-rest:
			x.index(1)
			rest = nil
		case <-x.wake:
			select { // others are about to write too
			case <-x.over:
				return
			case <-time.After(indexAfter):
			}
			x.index(indexedAtOnce)
			rest = time.After(indexRest)
		}
	}
}

// index indexes rows as long as at least so many of a table wait.
func (x *indexer) index(least int) {
	ctx := context.Background()
	for _, t := range x.tables {
		for most := indexedAtOnce / 4; ; {
			var waiting int
			err := x.d.attempt(ctx, 0, 0, func(ctx context.Context, s session) error {
				rows, err := s.query(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+t.pending()+" LIMIT ?)", []any{least})
				if err != nil {
					return err
				}
				return x.d.scanOne(rows, reflect.TypeFor[int](), &waiting)
			})
			if err == nil && waiting >= least {
				began := time.Now()
				_, err = x.step(ctx, t, most)
				if took := time.Since(began); took > indexTime {
					most = max(1, most/2)
				} else if took < indexTime/2 {
					most = min(indexedAtOnce, 2*most)
				}
			}
			if err != nil {
				x.d.log.Error("texts are not indexed for searches; the next write tries again", slog.String("table", t.Table), slog.Any("error", err))
			}
			if err != nil || waiting < least {
				break
			}
		}
	}
}

// step indexes the rows of a table that have waited for longest, and returns their number. Its statements are not
// counted with those of requests.
func (x *indexer) step(ctx context.Context, t Trigrams, most int) (int, error) {
	var n int64
	_, err := x.d.group.inTx(ctx, func(ctx context.Context) error {
		done, err := x.d.current(ctx).sql.ExecContext(ctx, "DELETE FROM "+t.pending()+" WHERE id IN (SELECT id FROM "+t.pending()+" ORDER BY id LIMIT ?)", most)
		if err != nil {
			return translate(err)
		}
		n, err = done.RowsAffected()
		return err
	})
	return int(n), err
}
