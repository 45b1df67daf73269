package gitcmd

import "bytes"

// Hunk is a range of lines that a change replaces. Lines are counted from 1; an empty range
// begins at the line before which the other range was inserted, or from which it was cut.
type Hunk struct {
	Old, OldCount int
	New, NewCount int
}

// LineMap says where the lines of a file are after a change: the replaced ranges in their order.
type LineMap []Hunk

// Lines reads the replaced ranges of the patch. A file without a patch has none.
func (f *FileDiff) Lines() LineMap {
	var out LineMap
	var at ChangedLine
	open := false // the last hunk goes on
	for line := range bytes.Lines(f.Patch) {
		switch line[0] {
		case '@':
			open = false
			if !at.hunk(string(line)) {
				return out
			}
			continue
		case '+', '-':
			if !open {
				out, open = append(out, Hunk{Old: at.OldNumber, New: at.NewNumber}), true
			}
			h := &out[len(out)-1]
			if line[0] == '+' {
				h.NewCount++
				at.NewNumber++
			} else {
				h.OldCount++
				at.OldNumber++
			}
		case ' ':
			open = false
			at.OldNumber++
			at.NewNumber++
		}
	}
	return out
}

// New returns the number that a line of the old file has in the new one, false where it was
// removed or replaced.
func (m LineMap) New(old int) (int, bool) {
	shift := 0
	for _, h := range m {
		if old < h.Old {
			break
		}
		if old < h.Old+h.OldCount {
			return 0, false
		}
		shift = h.New + h.NewCount - h.Old - h.OldCount
	}
	return old + shift, true
}

// Old returns the number that a line of the new file has in the old one, false where it was
// added.
func (m LineMap) Old(number int) (int, bool) {
	shift := 0
	for _, h := range m {
		if number < h.New {
			break
		}
		if number < h.New+h.NewCount {
			return 0, false
		}
		shift = h.Old + h.OldCount - h.New - h.NewCount
	}
	return number + shift, true
}

// Added finds the hunk that added a line of the new file.
func (m LineMap) Added(number int) (Hunk, bool) {
	for _, h := range m {
		if number >= h.New && number < h.New+h.NewCount {
			return h, true
		}
	}
	return Hunk{}, false
}

// Removed finds the hunk that removed a line of the old file.
func (m LineMap) Removed(number int) (Hunk, bool) {
	for _, h := range m {
		if number >= h.Old && number < h.Old+h.OldCount {
			return h, true
		}
	}
	return Hunk{}, false
}

// Last returns the last line of the new file that the change touches, 0 for none.
func (m LineMap) Last() int {
	if len(m) == 0 {
		return 0
	}
	h := m[len(m)-1]
	return h.New + h.NewCount - 1
}
