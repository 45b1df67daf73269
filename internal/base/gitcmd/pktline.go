package gitcmd

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tenon/internal/base/gitstore"
)

// Packet is a packet line: its payload behind its length.
func Packet(payload string) string { return fmt.Sprintf("%04x%s", len(payload)+4, payload) }

// packetLength reads the length that a packet line begins with, itself included: 0 is a
// flush, 1 and 2 are marks of version 2.
func packetLength(from io.Reader) (head [4]byte, n int, err error) {
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return head, 0, err
	}
	length, err := strconv.ParseUint(string(head[:]), 16, 16)
	if err != nil || length == 3 {
		return head, 0, fmt.Errorf("line of length %q: %w", head[:], gitstore.ErrMalformed)
	}
	return head, int(length), nil
}

// ReadRequest reads one request of version 2 of git's protocol, packet lines up to a
// flush, which it returns with the others as they came. One that is only a flush, or the
// end of the input where a request would begin, gives nothing. More than limit bytes are
// ErrTooLarge.
func ReadRequest(from io.Reader, limit int) ([]byte, error) {
	var out []byte
	for {
		head, n, err := packetLength(from)
		if err != nil {
			if errors.Is(err, io.EOF) && len(out) == 0 {
				return nil, nil
			}
			return nil, fmt.Errorf("read request: %w", err)
		}
		size := max(n-len(head), 0)
		if len(out)+size+len(head) > limit {
			return nil, fmt.Errorf("read request: more than %d bytes: %w", limit, gitstore.ErrTooLarge)
		}
		out = append(out, head[:]...)
		if n == 0 {
			if len(out) == len(head) {
				return nil, nil
			}
			return out, nil
		}
		at := len(out)
		out = append(out, make([]byte, size)...)
		if _, err := io.ReadFull(from, out[at:]); err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
	}
}

// ProtocolVersion returns the version that a client's Git-Protocol asks for: 0, 1 or 2.
func ProtocolVersion(protocol string) int {
	version := 0
	for word := range strings.SplitSeq(protocol, ":") {
		switch word {
		case "version=1":
			version = max(version, 1)
		case "version=2":
			version = 2
		}
	}
	return version
}
