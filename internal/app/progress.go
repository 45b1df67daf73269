package app

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// progress tells at most so often how far something is.
type progress struct {
	tell func(string)
	last time.Time
}

// line says that at of all are done; of is 0 where the whole is not known.
func (p *progress) line(at, of int64, format string, args ...any) {
	const every = time.Second
	if now := time.Now(); now.Sub(p.last) >= every {
		p.last = now
		p.tell(share(at, of) + fmt.Sprintf(format, args...))
	}
}

// shareMark ends the share at the beginning of a line of progress.
const shareMark = "%: "

// share begins a line of progress with how much is done.
func share(at, of int64) string {
	if of <= 0 {
		return ""
	}
	return strconv.FormatInt(max(0, min(100, at*100/of)), 10) + shareMark
}

// Share takes a line of progress apart: how much is done, in percent, and what comes after
// it. Where the line does not say how much is done, ok is false and text is the line.
func Share(line string) (percent int, text string, ok bool) {
	number, text, found := strings.Cut(line, shareMark)
	percent, err := strconv.Atoi(number)
	if !found || err != nil || percent < 0 || percent > 100 {
		return 0, line, false
	}
	return percent, text, true
}
