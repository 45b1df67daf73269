package gitcmd

import (
	"bytes"
	"strconv"
	"strings"
)

// ChangedLine is a line that a patch adds or takes away. Its number in the other file is
// that of the line which would stand there.
type ChangedLine struct {
	OldNumber int
	NewNumber int
	Old       bool // taken away
}

// Changed finds the added line with a number in the new file, or the one taken away with
// a number in the old file.
func (f *FileDiff) Changed(number int, old bool) (ChangedLine, bool) {
	at := ChangedLine{Old: old}
	for line := range bytes.Lines(f.Patch) {
		if at.OldNumber == 0 && at.NewNumber == 0 || line[0] == '@' {
			if !at.hunk(string(line)) {
				return ChangedLine{}, false
			}
			continue
		}
		switch line[0] {
		case '+':
			if !old && at.NewNumber == number {
				return at, true
			}
			at.NewNumber++
		case '-':
			if old && at.OldNumber == number {
				return at, true
			}
			at.OldNumber++
		case ' ':
			at.OldNumber++
			at.NewNumber++
		}
	}
	return ChangedLine{}, false
}

// Numbered sets the number of a side that has no lines to 0, as git's header of the hunk does.
func (f *FileDiff) Numbered(l ChangedLine) ChangedLine {
	header, _, _ := bytes.Cut(f.Patch, []byte("\n"))
	if bytes.HasPrefix(header, []byte("@@ -0,0 ")) {
		l.OldNumber = 0
	}
	if bytes.Contains(header, []byte(" +0,0 @@")) {
		l.NewNumber = 0
	}
	return l
}

// hunk reads where a hunk begins: "@@ -<old>[,<n>] +<new>[,<n>] @@".
func (l *ChangedLine) hunk(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[0] != "@@" {
		return false
	}
	for i, to := range []*int{&l.OldNumber, &l.NewNumber} {
		first, count, _ := strings.Cut(fields[i+1][1:], ",")
		n, err := strconv.Atoi(first)
		if err != nil {
			return false
		}
		if count == "0" {
			n++ // git names the line before an empty range
		}
		*to = n
	}
	return true
}
