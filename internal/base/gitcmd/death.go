package gitcmd

import "syscall"

// withServer has a process end with this one, however that ends: a push that no client
// waits for must not move on, and what it leaves must belong to no process. The kernel watches
// the thread that starts the process, not all of them. Threads of Go last as long as the
// program, except those of goroutines that end while locked to theirs: nothing here locks
// a goroutine to its thread.
func withServer(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}
