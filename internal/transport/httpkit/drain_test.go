package httpkit_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenon/internal/transport/httpkit"
)

// dial connects to a server that answers with 413 after it read some bytes of each body.
func dial(t *testing.T, reads int64) net.Conn {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, end := httpkit.Drain(w, r)
		_, _ = io.CopyN(io.Discard, r.Body, reads)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, "too large")
		end()
	}))
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// A client that sends everything before it reads gets the answer, whether or not the size was
// announced, and whatever was read of the body.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 300 << 10, 20 << 20} {
		for _, reads := range []int64{0, 50, 1 << 20} {
			for _, chunked := range []bool{false, true} {
				t.Run(fmt.Sprint(size, " ", reads, " ", chunked), func(t *testing.T) {
					t.Parallel()
					c := dial(t, reads)
					head, body := fmt.Sprintf("Content-Length: %d", size), strings.Repeat("x", size)
					if chunked {
						head, body = "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)
					}
					if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: tenon\r\n"+head+"\r\n\r\n"+body); err != nil {
						t.Fatalf("send: %v", err)
					}
					a, err := http.ReadResponse(bufio.NewReader(c), nil)
					if err != nil {
						t.Fatalf("read the answer: %v", err)
					}
					text, err := io.ReadAll(a.Body)
					if err != nil || a.StatusCode != http.StatusRequestEntityTooLarge || string(text) != "too large" {
						t.Errorf("got %d %q, %v", a.StatusCode, text, err)
					}
				})
			}
		}
	}
}

// A client that sends without end is cut off, and one that asked whether to send is told not to.
func TestDrain_bounded(t *testing.T) {
	t.Parallel()
	t.Run("endless", func(t *testing.T) {
		t.Parallel()
		c := dial(t, 0)
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: tenon\r\nContent-Length: 9000000000\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		sent, piece := 0, make([]byte, 1<<20)
		for {
			n, err := c.Write(piece)
			if sent += n; err != nil {
				break
			}
		}
		if sent < 500<<20 || sent > 600<<20 {
			t.Errorf("%d bytes were taken, want 512 MiB and what lies in buffers", sent)
		}
	})
	t.Run("expect", func(t *testing.T) {
		t.Parallel()
		c := dial(t, 0)
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: tenon\r\nContent-Length: 9000000000\r\nExpect: 100-continue\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		got, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 413 ") {
			t.Errorf("got %q, %v", got, err)
		}
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("the connection was kept for %v", took)
		}
	})
}
