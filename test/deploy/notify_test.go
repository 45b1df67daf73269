package deploy

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// TestNotify tells the service manager when the server answers and when it stops.
func TestNotify(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	told := func(want string) {
		t.Helper()
		b := make([]byte, 1<<10)
		n, err := socket.Read(b)
		if err != nil || !strings.Contains(string(b[:n]), want) {
			t.Errorf("told %q, %v, want %q", b[:n], err, want)
		}
	}
	t.Setenv("NOTIFY_SOCKET", name)
	s := servertest.Start(t, "")
	told("READY=1\nSTATUS=ready on " + s.URL)
	s.Stop()
	told("STOPPING=1")
}
