// Command flaky runs go test beside busy loops and prints a table of packages and of the tests that failed:
//
//	go run ./internal/tools/flaky -loops 3 go test -json -count=10 ./...
//
// The command must print what "go test -json" prints. The exit code is 0 if it succeeds and nothing failed, else 1.
// The loops are threads of this process, so that none outlives it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	loops := flag.Int("loops", 3, "busy loops beside the tests")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: flaky [-loops n] command [argument...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *loops, flag.Args(), os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "flaky: %v\n", err)
		os.Exit(1)
	}
}

// errRed says that a test or a package failed.
var errRed = errors.New("not every run passed")

// run runs the command beside busy loops and writes the output of failed tests, and the table at the end, also when ctx ends early.
func run(ctx context.Context, loops int, command []string, out io.Writer) error {
	defer busy(loops)()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Cancel reaches the programs of the tests, too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := newReport(out)
	readErr := r.read(events)
	if readErr != nil {
		_ = cmd.Cancel() // its output has no reader any more
	}
	waitErr := cmd.Wait()
	red := r.table()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case readErr != nil:
		return readErr
	case red:
		return errRed
	}
	return waitErr
}

// busy starts loops that keep as many processors busy, and returns the function that ends them.
func busy(loops int) (end func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(loops + 2) // each loop has a thread, and the reader of events is not kept waiting by them
	var done atomic.Bool
	var group sync.WaitGroup
	for range loops {
		group.Go(func() {
			for !done.Load() {
			}
		})
	}
	return func() {
		done.Store(true)
		group.Wait()
		runtime.GOMAXPROCS(before)
	}
}
