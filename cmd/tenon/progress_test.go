package main

import (
	"bytes"
	"fmt"
	"testing"
)

// On a terminal progress is one line that is written over and makes way for other words;
// elsewhere each step is a line.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, "tenon: on a server\ntenon: 0%: tables\ntenon: 55%: repositories: 5 of 9 (team/shop)\nwarning\ntenon: objects: 3\ntenon: 100%: done\n"},
		{80, "tenon: on a server\n\r\x1b[K[....................]   0% tables\r\x1b[K[###########.........]  55% repositories: 5 of 9 (team/shop)" +
			"\r\x1b[Kwarning\ntenon: objects: 3\n\r\x1b[K[####################] 100% done\r\x1b[K"},
		{30, "tenon: on a server\n\r\x1b[K[....................]   0% t\r\x1b[K[###########.........]  55% r" +
			"\r\x1b[Kwarning\ntenon: objects: 3\n\r\x1b[K[####################] 100% d\r\x1b[K"},
	} {
		var out bytes.Buffer
		p := &progress{out: &out, width: func() int { return tt.width }}
		p.tell("on a server")
		p.tell("0%: tables")
		p.tell("55%: repositories: 5 of 9 (team/shop)")
		fmt.Fprintln(p, "warning")
		p.tell("objects: 3")
		p.tell("100%: done")
		p.clear()
		p.clear()
		if got := out.String(); got != tt.want {
			t.Errorf("width %d:\n got %q\nwant %q", tt.width, got, tt.want)
		}
	}
}
