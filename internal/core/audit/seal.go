package audit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tenon/internal/base/db"
)

const (
	sealAtOnce  = 100         // rows of one transaction, which is over in a few milliseconds
	sealDelay   = time.Second // in which the events of several changes come together
	sealRetry   = 5 * time.Second
	sealLook    = time.Minute // for what came without a notice: from another process, or in a commit whose answer was lost
	proofOf     = "audit.event"
	chainColumn = "number, seal, unproved"
)

// States of a row in its column sealed.
const (
	waiting  = 0
	sealed   = 1
	unproved = 2 // the server did not write it
)

// waitingSQL holds for rows that wait. Its first half is the condition of their index.
const waitingSQL = "e.sealed <> 1 AND e.sealed = 0"

// chain is the end of the chain of seals.
type chain struct {
	Number   int64  `db:"number"`   // seals there are
	Seal     string `db:"seal"`     // the last one, "" before the first
	Unproved ID     `db:"unproved"` // events up to this one may have no proof
}

// link is a seal.
type link struct {
	Number  int64  `db:"number"`
	EventID ID     `db:"event_id"`
	Seal    string `db:"seal"`
}

// text of a row that is the same on both engines. The name of the author and the path of a user are what the database found as
// it wrote the row, and no part of the proof, which is made before.
func (r *row) form(whole bool) []byte {
	fields := []string{
		strconv.FormatInt(r.AuthorID, 10), r.EntityType, strconv.FormatInt(r.EntityID, 10), r.Name, r.TargetType, strconv.FormatInt(r.TargetID, 10),
		r.TargetDetails, r.Details, r.Address, strconv.FormatInt(r.CreatedAt.UnixMicro(), 10),
	}
	if whole {
		fields = append(fields, strconv.FormatInt(int64(r.ID), 10), r.AuthorName, r.EntityPath)
	}
	var out []byte
	for _, f := range fields {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(f))), f...)
	}
	return out
}

// next is the seal of a row after another seal.
func (r *row) next(before string) string {
	h := sha256.New()
	h.Write([]byte("tenon audit event\n" + before + "\n"))
	h.Write(r.form(true))
	return hex.EncodeToString(h.Sum(nil))
}

// prove makes the proof that the server wrote a row.
func (s *Service) prove(r *row) string { return s.Signer.Sum(proofOf, r.form(false)) }

// proved reports whether the server wrote a row.
func (s *Service) proved(r *row, proof string) bool {
	return hmac.Equal([]byte(proof), []byte(s.prove(r)))
}

// unsealed is a row that waits.
type unsealed struct {
	row
	Proof  string `db:"proof"`
	Sealed int64  `db:"sealed"`
}

// end reads the end of the chain; there is none before the first event.
func (s *Service) end(ctx context.Context) (chain, error) {
	c, err := db.Get[chain](ctx, s.DB, "SELECT "+chainColumn+" FROM audit_chain WHERE id = 1")
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return c, fmt.Errorf("read end of chain: %w", err)
	}
	return c, nil
}

// Seal seals the events that wait, in the order of their ids as far as they are committed, at most sealAtOnce of them. It
// returns how many it looked at. No other writer waits for it longer than for any other short transaction.
func (s *Service) Seal(ctx context.Context) (int, error) {
	was, err := s.end(ctx)
	if err != nil {
		return 0, err
	}
	// PostgreSQL would read all seals where NOT EXISTS asks for one.
	rows, err := db.Select[unsealed](ctx, s.DB, "SELECT "+db.Columns[unsealed]("e")+` FROM audit_events e
		WHERE `+waitingSQL+` AND (SELECT s.number FROM audit_seals s WHERE s.event_id = e.id) IS NULL ORDER BY e.id LIMIT ?`, sealAtOnce)
	if err != nil {
		return 0, fmt.Errorf("read events without seal: %w", err)
	}
	now := was
	var links []link
	var good, bad []ID
	for i := range rows {
		r := &rows[i]
		if r.ID > was.Unproved && !s.proved(&r.row, r.Proof) {
			bad = append(bad, r.ID)
			continue
		}
		now.Number, now.Seal = now.Number+1, r.next(now.Seal)
		links, good = append(links, link{now.Number, r.ID, now.Seal}), append(good, r.ID)
	}
	if len(rows) == 0 || rows[0].ID > was.Unproved {
		now.Unproved = 0 // all that came without are sealed
	}
	if now == was && len(bad) == 0 {
		return 0, nil
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.move(ctx, was, now); err != nil {
			return err
		}
		if err := db.InsertRows(ctx, s.DB, "audit_seals", links, ""); err != nil {
			return err
		}
		for state, ids := range map[int][]ID{sealed: good, unproved: bad} {
			if len(ids) == 0 {
				continue
			}
			marks, args := db.Marks(ids)
			if _, err := s.DB.Exec(ctx, "UPDATE audit_events SET sealed = ? WHERE id IN ("+marks+")", append([]any{state}, args...)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("seal audit events: %w", err)
	}
	return len(rows), nil
}

// errMoved reports that the chain has another end by now.
var errMoved = errors.New("another process seals audit events")

// move sets the end of the chain, in the transaction of ctx.
func (s *Service) move(ctx context.Context, was, now chain) error {
	if was == (chain{}) {
		_, err := db.InsertRow(ctx, s.DB, "audit_chain", db.Values{"id": 1, "number": 0, "seal": "", "unproved": 0}, "ON CONFLICT (id) DO NOTHING")
		if err != nil {
			return err
		}
	}
	n, err := s.DB.Exec(ctx, "UPDATE audit_chain SET number = ?, seal = ?, unproved = ? WHERE id = 1 AND number = ? AND seal = ?",
		now.Number, now.Seal, now.Unproved, was.Number, was.Seal)
	if err == nil && n == 0 {
		return errMoved
	}
	return err
}

// sealAll seals until nothing waits, or until ctx ends.
func (s *Service) sealAll(ctx context.Context) error {
	for {
		n, err := s.Seal(ctx)
		if n < sealAtOnce || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// Start begins to seal events as they are committed. Stop ends it.
func (s *Service) Start() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.stop = func() { stop(); <-done }
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			wait := s.wake // nothing waits now
			again := time.After(sealLook)
			if err := s.sealAll(ctx); err != nil && ctx.Err() == nil {
				s.Log.ErrorContext(ctx, "seal audit events", "error", err)
				again = time.After(sealRetry)
			}
			select {
			case <-ctx.Done():
			case <-again:
			case <-wait:
				select {
				case <-ctx.Done():
				case <-time.After(sealDelay):
				}
			}
		}
	}()
}

// Stop ends what Start began, and seals what waits.
func (s *Service) Stop(ctx context.Context) error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	s.stop = nil
	return s.sealAll(ctx)
}

// notice has what the transaction of ctx writes sealed once it is committed.
func (s *Service) notice(ctx context.Context) {
	s.DB.AfterCommit(ctx, func() {
		select {
		case s.wake <- struct{}{}:
		default: // it is about to look anyway
		}
	})
}

// Trust has events without a seal taken for the server's own although another key proves them: the key was replaced, or a backup
// restored without it. It is called while no server runs.
func Trust(ctx context.Context, d *db.DB) error {
	there, err := d.HasTable(ctx, "audit_chain")
	if err != nil || !there {
		return err
	}
	newest, err := db.Get[*ID](ctx, d, "SELECT MAX(e.id) FROM audit_events e WHERE "+waitingSQL)
	if err == nil && newest != nil {
		_, err = db.InsertRow(ctx, d, "audit_chain", db.Values{"id": 1, "number": 0, "seal": "", "unproved": *newest},
			"ON CONFLICT (id) DO UPDATE SET unproved = excluded.unproved")
	}
	if err != nil {
		return fmt.Errorf("keep audit events without seal: %w", err)
	}
	return nil
}
