// Command withpostgres runs a command with TENON_TEST_DATABASE_URL set to a private
// PostgreSQL cluster, so that all test packages share one:
//
//	go run ./internal/base/db/dbtest/withpostgres go test ./...
//
// Where the variable is set already, or PostgreSQL is not installed, the command
// runs without one of its own, in the latter case after the line "PostgreSQL: skipped (...)".
// Where TMPDIR is not set, temporary files are in shared memory if it has room.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"tenon/internal/base/db/dbtest/pgserver"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: withpostgres command [argument...]")
		os.Exit(2)
	}
	os.Exit(run(os.Args[1:]))
}

func run(command []string) int {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if dir := pgserver.Scratch(); dir != "" && os.Getenv("TMPDIR") == "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	}
	if os.Getenv("TENON_TEST_DATABASE_URL") == "" {
		server, err := pgserver.Start()
		if err != nil {
			fmt.Fprintf(os.Stderr, "PostgreSQL: skipped (%v)\n", err)
		} else {
			defer func() { _ = server.Stop() }()
			cmd.Env = append(cmd.Env, "TENON_TEST_DATABASE_URL="+server.URL)
		}
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
