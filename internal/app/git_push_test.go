package app

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
)

// lockedText keeps what is written to it.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write keeps the text.
func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all of it.
func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// onePack is a pack of one blob.
func onePack(t *testing.T, content string) string {
	t.Helper()
	var pack bytes.Buffer
	pack.WriteString("PACK")
	_ = binary.Write(&pack, binary.BigEndian, []uint32{2, 1})
	if len(content) > 15 {
		t.Fatal("the size is one byte here")
	}
	pack.WriteByte(3<<4 | byte(len(content)))
	z := zlib.NewWriter(&pack)
	_, _ = io.WriteString(z, content)
	_ = z.Close()
	sum := sha1.Sum(pack.Bytes())
	pack.Write(sum[:])
	return pack.String()
}

// A client that goes on sending when its push is answered already, whether it was taken or
// refused: the server answers, reads the rest itself, and takes the next request of the
// same connection. No goroutine of the push reads meanwhile.
func TestGit_pushAnsweredEarly(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	said := &lockedText{}
	web := httptest.NewUnstartedServer(s.http.Handler)
	web.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(said, nil), slog.LevelError)
	web.Start()
	t.Cleanup(web.Close) // after the parallel parts
	s.do("admin", "POST", "/projects", obj{"name": "Shop", "initialize_with_readme": true})
	branch := s.do("admin", "GET", "/projects/root%2Fshop/repository/branches/main", nil)
	tip := branch["commit"].(map[string]any)["id"].(string)
	none := strings.Repeat("0", 40)
	good := onePack(t, "hello\n")
	head := "POST /root/shop.git/git-receive-pack HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-git-receive-pack-request\r\n" +
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("root:"+rootToken)) + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunk := func(body string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(body), body) }
	for i := range 8 {
		for _, tt := range []struct{ name, pack, want, more string }{
			{"taken", good, "unpack ok", ""},
			{"taken, and more comes", good, "unpack ok", strings.Repeat("x", 1000)},
			{"refused by git", good[:len(good)-3] + "bad", "unpack unpack-objects abnormal exit", strings.Repeat("x", 100_000)},
			{"no pack", "KCAP" + good[4:], "bad pack signature", strings.Repeat("x", 1000)},
		} {
			t.Run(fmt.Sprint(tt.name, i), func(t *testing.T) {
				t.Parallel()
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", web.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				in := bufio.NewReader(conn)
				ref := strings.ReplaceAll(strings.ToLower(tt.name), " ", "-") + fmt.Sprint(i)
				command := gitcmd.Packet(none+" "+tip+" refs/heads/"+strings.ReplaceAll(ref, ",", "")+"\x00report-status") + "0000"
				if _, err := io.WriteString(conn, head+chunk(command)+chunk(tt.pack)); err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(in, nil)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("answer: %v, %v", answer, err)
				}
				report := bufio.NewReader(answer.Body)
				line := make([]byte, 4)
				if _, err := io.ReadFull(report, line); err != nil {
					t.Fatalf("report: %v", err)
				}
				// Only now, with the answer begun, comes the rest of the request.
				if tt.more != "" {
					tt.more = chunk(tt.more)
				}
				if _, err := io.WriteString(conn, tt.more+"0\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(report)
				if err != nil || !strings.Contains(string(text), tt.want) {
					t.Errorf("report: %v, %q, want %q", err, text, tt.want)
				}
				if _, err := io.WriteString(conn, "GET /-/liveness HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				next, err := http.ReadResponse(in, nil)
				if err != nil || next.StatusCode != http.StatusOK {
					t.Fatalf("next request of the connection: %v, %v", next, err)
				}
				_ = next.Body.Close()
			})
		}
	}
	t.Cleanup(func() {
		if text := said.String(); strings.Contains(text, "panic") {
			t.Errorf("the server panicked:\n%s", text)
		}
	})
}
