package hook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The packet lines of git's protocol: four hex digits of length, themselves counted,
// then the payload; "0000" ends a section.

const maxPacket = 65520

// readPacket gives the next payload without its newline, or nil at a flush.
func readPacket(r *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read packet length: %w", err)
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 32)
	if err != nil {
		return nil, fmt.Errorf("packet length %q: %w", head[:], err)
	}
	switch {
	case n == 0:
		return nil, nil
	case n < 4 || n > maxPacket:
		return nil, fmt.Errorf("packet length %d out of range", n)
	}
	payload := make([]byte, n-4)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, fmt.Errorf("read packet: %w", err)
	}
	if len(payload) > 0 && payload[len(payload)-1] == '\n' {
		payload = payload[:len(payload)-1]
	}
	return payload, nil
}

// readSection gives the payloads up to the next flush, at most limit of them.
func readSection(r *bufio.Reader, limit int) ([]string, error) {
	var out []string
	for {
		payload, err := readPacket(r)
		if err != nil {
			return nil, err
		}
		if payload == nil {
			return out, nil
		}
		if len(out) == limit {
			return nil, errors.New("too many packets in one section")
		}
		out = append(out, string(payload))
	}
}

func writePacket(w io.Writer, payload string) error {
	if len(payload)+4 > maxPacket {
		return fmt.Errorf("packet of %d bytes is too long", len(payload))
	}
	if _, err := fmt.Fprintf(w, "%04x%s", len(payload)+4, payload); err != nil {
		return fmt.Errorf("write packet: %w", err)
	}
	return nil
}

func writeFlush(w io.Writer) error {
	if _, err := io.WriteString(w, "0000"); err != nil {
		return fmt.Errorf("write packet: %w", err)
	}
	return nil
}
