package hook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
)

// maxChanges is how many references one push may move.
const maxChanges = 50_000

// Client is what git starts as a hook.
type Client struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// Run plays the named hook and returns the exit status for git: 0 lets the push go on.
func (c Client) Run(name string) int {
	var err error
	var refused bool
	switch name {
	case PreReceive:
		refused, err = c.preReceive()
	case ProcReceive:
		err = c.procReceive()
	default:
		err = fmt.Errorf("unknown hook %q", name)
	}
	if err != nil {
		// The server has logged the cause; the person who pushes cannot act on it.
		_, _ = fmt.Fprintln(c.Stderr, "The server could not finish this push. Please try again.")
		_, _ = fmt.Fprintf(c.Stderr, "(%s: %v)\n", name, err)
		return 1
	}
	if refused {
		return 1
	}
	return 0
}

// preReceive reads "<old> <new> <ref>" lines, asks for a verdict on the whole push and
// prints what the server has to say.
func (c Client) preReceive() (refused bool, err error) {
	var changes []Change
	lines := bufio.NewScanner(c.Stdin)
	lines.Buffer(make([]byte, 0, 4096), maxPacket)
	for lines.Scan() {
		change, err := parseChange(lines.Text())
		if err != nil {
			return false, err
		}
		if len(changes) == maxChanges {
			return false, errors.New("too many references in one push")
		}
		changes = append(changes, change)
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("read changes: %w", err)
	}
	reply, err := c.call(Call{
		Hook: PreReceive, Changes: changes, Options: c.options(),
		Objects: c.Getenv("GIT_OBJECT_DIRECTORY"), Alternates: c.Getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES"),
	})
	if err != nil {
		return false, err
	}
	c.say(reply.Message)
	return reply.Refused, nil
}

// procReceive speaks git's proc-receive protocol, version 1, without capabilities.
func (c Client) procReceive() error {
	in := bufio.NewReader(c.Stdin)
	hello, err := readSection(in, 16)
	if err != nil {
		return err
	}
	if len(hello) == 0 || !strings.HasPrefix(hello[0], "version=1") {
		return errors.New("git speaks another version of proc-receive")
	}
	out := bufio.NewWriter(c.Stdout)
	if err := errors.Join(writePacket(out, "version=1\n"), writeFlush(out), out.Flush()); err != nil {
		return err
	}
	lines, err := readSection(in, maxChanges)
	if err != nil {
		return err
	}
	changes := make([]Change, 0, len(lines))
	for _, line := range lines {
		change, err := parseChange(line)
		if err != nil {
			return err
		}
		changes = append(changes, change)
	}
	reply, err := c.call(Call{Hook: ProcReceive, Changes: changes})
	if err != nil {
		return err
	}
	for _, v := range reply.Verdicts {
		line := "ok " + v.Ref
		if v.Reason != "" {
			line = "ng " + v.Ref + " " + strings.ReplaceAll(v.Reason, "\n", " ")
		}
		if err := writePacket(out, line+"\n"); err != nil {
			return err
		}
	}
	if err := errors.Join(writeFlush(out), out.Flush()); err != nil {
		return err
	}
	c.say(reply.Message)
	return nil
}

func (c Client) call(call Call) (Reply, error) {
	call.Token = c.Getenv(EnvToken)
	socket := c.Getenv(EnvSocket)
	if socket == "" || call.Token == "" {
		return Reply{}, errors.New("this repository takes pushes through its server only")
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return Reply{}, fmt.Errorf("reach the server: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := writeJSON(conn, call); err != nil {
		return Reply{}, err
	}
	if err := conn.CloseWrite(); err != nil {
		return Reply{}, fmt.Errorf("reach the server: %w", err)
	}
	var reply Reply
	if err := readJSON(conn, &reply); err != nil {
		return Reply{}, err
	}
	return reply, nil
}

// options reads the push options that git passes to pre-receive.
func (c Client) options() []string {
	n, err := strconv.Atoi(c.Getenv("GIT_PUSH_OPTION_COUNT"))
	if err != nil || n <= 0 || n > 1000 {
		return nil
	}
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, c.Getenv("GIT_PUSH_OPTION_"+strconv.Itoa(i)))
	}
	return out
}

func (c Client) say(message string) {
	if message == "" {
		return
	}
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	_, _ = io.WriteString(c.Stderr, message)
}

func parseChange(line string) (Change, error) {
	parts := strings.SplitN(line, " ", 3)
	if len(parts) != 3 {
		return Change{}, fmt.Errorf("bad change line %q", line)
	}
	return Change{Old: parts[0], New: parts[1], Ref: parts[2]}, nil
}

// Main runs the hook named by the program's own name, if it is one, on the process's
// streams. ok is false when the program was started under another name.
func Main(name string) (status int, ok bool) {
	if name != PreReceive && name != ProcReceive {
		return 0, false
	}
	c := Client{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	return c.Run(name), true
}
