package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// client is a lean HTTP/1.1 client on one connection that it keeps open. It reads an
// answer to its end and decodes nothing, since it shares the machine with the server.
type client struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
}

// longest is how long one answer may take.
const longest = time.Minute

// do sends a whole request and returns the status of the answer.
func (c *client) do(request []byte) (int, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.address, longest)
		if err != nil {
			return 0, err
		}
		c.conn, c.in = conn, bufio.NewReaderSize(conn, 64<<10)
	}
	status, closing, err := c.exchange(request)
	if err != nil || closing {
		c.close()
	}
	return status, err
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (c *client) exchange(request []byte) (status int, closing bool, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(longest)); err != nil {
		return 0, false, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return 0, false, err
	}
	line, err := c.line()
	if err != nil {
		return 0, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, false, fmt.Errorf("no status line: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, false, fmt.Errorf("no status: %q", line)
	}
	length, chunked := -1, false
	for {
		if line, err = c.line(); err != nil {
			return status, false, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return status, false, fmt.Errorf("content length: %w", err)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("Connection")):
			closing = bytes.EqualFold(value, []byte("close"))
		}
	}
	switch {
	case status == 204 || status == 304:
	case chunked:
		err = c.chunks()
	case length >= 0:
		_, err = c.in.Discard(length)
	default:
		closing = true
		_, err = io.Copy(io.Discard, c.in)
	}
	return status, closing, err
}

// line reads to the end of a line, which it leaves out.
func (c *client) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

func (c *client) chunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		hex, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(hex), 16, 31)
		if err != nil {
			return fmt.Errorf("chunk: %w", err)
		}
		if _, err := c.in.Discard(int(size)); err != nil {
			return err
		}
		if size == 0 {
			break
		}
		if line, err = c.line(); err != nil || len(line) > 0 {
			return errors.Join(err, errors.New("a chunk does not end where it should"))
		}
	}
	for { // what may follow the last chunk
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return err
		}
	}
}
