package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"tenon/internal/app"
)

// progress shows how far a command is: on a terminal in one line that is written over, with a
// bar where the share is known, elsewhere line by line.
type progress struct {
	out   io.Writer
	width func() int // of the terminal in characters; 0 is no terminal

	mu    sync.Mutex
	shown bool // the last line is progress
}

func newProgress(f *os.File) *progress {
	return &progress{out: f, width: func() int {
		size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err != nil || os.Getenv("TERM") == "dumb" {
			return 0
		}
		return int(size.Col)
	}}
}

// barWidth is how many characters a bar has.
const barWidth = 20

// tell shows a line of progress.
func (p *progress) tell(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	percent, text, known := app.Share(line)
	width := p.width()
	if width == 0 || !known && !p.shown {
		_, _ = fmt.Fprintln(p.out, "tenon: "+line)
		return
	}
	if known {
		full := percent * barWidth / 100
		text = fmt.Sprintf("[%s%s] %3d%% %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), percent, text)
	}
	if all := []rune(text); len(all) >= width {
		text = string(all[:max(0, width-1)])
	}
	_, _ = fmt.Fprint(p.out, "\r\x1b[K"+text)
	p.shown = true
}

// clear takes the bar away, so that other words can follow.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *progress) erase() {
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// Write writes other words, such as those of a log, in lines of their own.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	return p.out.Write(text)
}
