package db_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// recorder keeps what is logged.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *recorder) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

func (r *recorder) has(words ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, word := range words {
		if !strings.Contains(r.text.String(), word) {
			return false
		}
	}
	return true
}
