//go:build !linux

package gitcmd

import "syscall"

// withServer does nothing where the system has no such thing: processes end when they
// find nobody at the other end of their pipes.
func withServer(attr *syscall.SysProcAttr) *syscall.SysProcAttr { return attr }
