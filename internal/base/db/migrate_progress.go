package db

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// report logs that a migration is running: every d.reporting, until stop is called. Stop waits
// for the last line.
func (d *DB) report(name string, number, of int) (stop func()) {
	began := time.Now()
	ended := make(chan struct{})
	var lines sync.WaitGroup
	lines.Go(func() {
		tick := time.NewTicker(d.reporting)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				d.log.Info("schema is being migrated", slog.String("migration", name), slog.String("step", fmt.Sprintf("%d of %d", number, of)),
					slog.Duration("for", time.Since(began).Round(time.Second)))
			}
		}
	})
	return func() {
		close(ended)
		lines.Wait()
	}
}
