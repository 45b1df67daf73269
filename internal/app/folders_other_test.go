//go:build !linux

package app

import "testing"

// folders cannot tell here whether something has changed in folders.
type folders struct{}

func newFolders(testing.TB) *folders { return &folders{} }

func (*folders) watch(string) error { return nil }

func (*folders) untouched() bool { return false }
