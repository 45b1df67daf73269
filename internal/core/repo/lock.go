package repo

import (
	"sync"

	"tenon/internal/core/project"
)

// lockKey is a branch of a project; "" stands for the project while it has none.
type lockKey struct {
	project project.ID
	branch  string
}

// locks has those who change the same thing, such as a branch, wait for each other. The
// zero value is ready.
type locks[K comparable] struct {
	mu   sync.Mutex
	held map[K]*heldLock
}

type heldLock struct {
	sync.Mutex
	users int // who hold it or wait for it; the last one takes it off the map
}

// try takes the key if it is free, and returns the function that lets go of it.
func (l *locks[K]) try(key K) (unlock func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] != nil {
		return nil, false
	}
	if l.held == nil {
		l.held = make(map[K]*heldLock)
	}
	h := &heldLock{users: 1}
	h.Lock()
	l.held[key] = h
	return l.release(key, h), true
}

// lock waits for the key and returns the function that lets go of it.
func (l *locks[K]) lock(key K) (unlock func()) {
	l.mu.Lock()
	h := l.held[key]
	if h == nil {
		if l.held == nil {
			l.held = make(map[K]*heldLock)
		}
		h = &heldLock{}
		l.held[key] = h
	}
	h.users++
	l.mu.Unlock()
	h.Lock()
	return l.release(key, h)
}

func (l *locks[K]) release(key K, h *heldLock) func() {
	return func() {
		h.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(l.held, key)
		}
	}
}
