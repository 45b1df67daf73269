package db

import (
	"context"
	"database/sql"
	"fmt"
)

// Trim gives back the memory of an idle SQLite database: the connections that read are
// closed, to be opened again when they are needed, and the one that writes drops its
// pages and its prepared statements. On PostgreSQL it does nothing.
func (d *DB) Trim(ctx context.Context) error {
	if d.dialect != SQLite {
		return nil
	}
	d.reader.SetMaxIdleConns(0) // closes the idle ones now
	d.reader.SetMaxIdleConns(d.readers)
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("trim database: %w", err)
	}
	if err := shrink(ctx, conn); err != nil {
		_ = conn.Close()
		return fmt.Errorf("trim database: %w", err)
	}
	return conn.Close()
}

func shrink(ctx context.Context, conn *sql.Conn) error {
	if err := conn.Raw(func(c any) error {
		c.(*cachingConn).forget()
		return nil
	}); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "PRAGMA shrink_memory;")
	return err
}
