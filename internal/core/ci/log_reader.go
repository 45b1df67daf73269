package ci

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
)

// window is how many bytes of a log are read at once, and the rest of the last piece.
const window = 1 << 20

// pieces reads the log of a job that is not joined yet, as far as it goes when it is opened. What is read is in memory by the window.
type pieces struct {
	s      *Service
	ctx    context.Context
	id     StatusID
	size   int64
	at     int64             // where the next Read begins
	rest   []byte            // what follows there, as far as it was read
	joined io.ReadSeekCloser // the log where it was joined meanwhile
}

// Seek says where the next Read begins.
func (p *pieces) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		offset += p.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of a log")
	}
	if offset != p.at {
		p.at, p.rest = offset, nil
		if p.joined != nil {
			if _, err := p.joined.Seek(offset, io.SeekStart); err != nil {
				return 0, err
			}
		}
	}
	return offset, nil
}

// Read returns what follows.
func (p *pieces) Read(b []byte) (int, error) {
	if p.at >= p.size {
		return 0, io.EOF
	}
	if len(p.rest) == 0 && p.joined == nil {
		if err := p.fill(); err != nil {
			return 0, err
		}
	}
	b = b[:min(int64(len(b)), p.size-p.at)]
	var n int
	var err error
	if p.joined != nil {
		n, err = p.joined.Read(b)
	} else {
		n = copy(b, p.rest)
		p.rest = p.rest[n:]
	}
	p.at += int64(n)
	return n, err
}

// fill reads the pieces of the next window. Where there are none any more, the log was joined or erased: it returns io.EOF then.
func (p *pieces) fill() error {
	type row struct {
		Start int64  `db:"start"`
		Data  []byte `db:"data"`
	}
	rows, err := db.Select[row](p.ctx, p.s.DB, `SELECT start, data FROM job_log_pieces WHERE job_id = ? AND start < ?
		AND start >= COALESCE((SELECT MAX(b.start) FROM job_log_pieces b WHERE b.job_id = ? AND b.start <= ?), 0) ORDER BY start`, p.id, p.at+window, p.id, p.at)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	for _, r := range rows {
		from := p.at + int64(len(p.rest)) - r.Start
		if from < 0 || from >= int64(len(r.Data)) {
			continue
		}
		if p.rest == nil {
			p.rest = r.Data[from:]
		} else {
			p.rest = append(p.rest, r.Data[from:]...)
		}
	}
	if len(p.rest) > 0 {
		return nil
	}
	j, err := p.s.loadJob(p.ctx, p.id)
	switch {
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return fmt.Errorf("read log: %w", err)
	case err != nil || j.LogKey == nil:
		return io.EOF // as far as there is a log
	}
	log, err := p.s.Objects.Open(p.ctx, *j.LogKey)
	if errors.Is(err, blob.ErrNotFound) {
		return io.EOF // erased since the job was read
	}
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if _, err := log.Seek(p.at, io.SeekStart); err != nil {
		_ = log.Close()
		return fmt.Errorf("read log: %w", err)
	}
	p.joined = log
	return nil
}

// Close ends the reading.
func (p *pieces) Close() error {
	if p.joined != nil {
		return p.joined.Close()
	}
	return nil
}
