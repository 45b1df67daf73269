package gitcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/gitstore"
)

// diffEnd is no object id: diff-tree prints it back and flushes. No other line of its
// output can begin with "=".
const diffEnd = "=end"

// maxNames is how many bytes of names are read of files beyond MaxFiles, to come to the patches
// of those before them.
const maxNames = 64 << 20

// diffParser reads one answer of diff-tree: the pair, the raw lines, an empty line,
// the patches, the end mark.
type diffParser struct {
	worker  *worker
	options DiffOptions
	diff    *Diff
	pair    string
	headers []string // of the patch that each file should have: "diff --git a/x b/x"
	at      int      // file of the current patch; -1 before the first
	next    int      // first file that may have the next patch
	hunks   bool     // past the first @@ of the current patch
	total   int      // bytes of all patches kept
	lines   int      // lines of all patches kept
	own     int      // of these, lines of the current file
	more    bool     // there are files beyond MaxFiles
	seen    int      // bytes read, kept or not
}

// parse leaves the process clean, unless the answer was too long to read on.
func (p *diffParser) parse() error {
	line, _, err := p.line()
	if err != nil {
		return err
	}
	if string(line) == diffEnd { // without the pair: an object is missing
		p.worker.clean()
		return fmt.Errorf("compare %s: %w", p.pair, gitstore.ErrNotFound)
	}
	if string(line) != p.pair {
		return fmt.Errorf("git diff-tree answered %q", clip(string(line)))
	}
	p.at = -1
	for {
		line, whole, err := p.line()
		if err != nil {
			return err
		}
		if whole && string(line) == diffEnd {
			p.worker.clean()
			return nil
		}
		err = p.take(line, whole)
		if errors.Is(err, errFlood) {
			p.diff.Overflow = true
			return nil // the process is not clean and ends
		}
		if err != nil {
			return err
		}
	}
}

// line reads one line without its end; of a very long one the first part, with whole
// false and further parts to follow.
func (p *diffParser) line() (line []byte, whole bool, err error) {
	line, err = p.worker.out.ReadSlice('\n')
	p.seen += len(line)
	if errors.Is(err, bufio.ErrBufferFull) {
		return line, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read from git diff-tree: %w", err)
	}
	return line[:len(line)-1], true, nil
}

func (p *diffParser) take(line []byte, whole bool) error {
	switch {
	case p.at < 0 && len(line) > 0 && line[0] == ':':
		if !whole {
			return errFlood
		}
		if len(p.diff.Files) < p.options.MaxFiles {
			return p.raw(string(line))
		}
		p.more, p.diff.Overflow = true, true
		if p.options.NoPatch || p.seen > maxNames {
			return errFlood
		}
		return nil // the patches of the files before it follow
	case bytes.HasPrefix(line, []byte("diff --git ")):
		if !whole {
			return errFlood
		}
		return p.open(string(line))
	case p.at < 0:
		return nil // the empty line between the two parts
	}
	f := &p.diff.Files[p.at]
	if !p.hunks {
		switch {
		case bytes.HasPrefix(line, []byte("@@ ")):
			p.hunks = true
		case bytes.HasPrefix(line, []byte("Binary files ")):
			f.Binary = true
			return nil
		default:
			return nil
		}
	}
	p.keep(f, line, whole)
	for !whole { // the rest of a long line
		var err error
		if line, whole, err = p.line(); err != nil {
			return err
		}
		p.keepPart(f, line, whole)
	}
	if p.seen > 4*p.options.MaxBytes+4*p.options.MaxFileBytes {
		return errFlood
	}
	return nil
}

// raw reads ":<mode> <mode> <id> <id> <status>\t<path>[\t<path>]". A change of type, such as from a file to
// a link, is a deletion and an addition.
func (p *diffParser) raw(line string) error {
	head, paths, ok := strings.Cut(line[1:], "\t")
	fields := strings.Split(head, " ")
	if !ok || len(fields) != 5 || fields[4] == "" {
		return fmt.Errorf("git diff-tree answered %q", clip(line))
	}
	f := FileDiff{Status: fields[4][0]}
	oldMode, err1 := strconv.ParseUint(fields[0], 8, 32)
	newMode, err2 := strconv.ParseUint(fields[1], 8, 32)
	var err3, err4, err5, err6, err7 error
	f.OldMode, f.NewMode = gitstore.Mode(oldMode), gitstore.Mode(newMode)
	f.OldID, err3 = gitstore.ParseObjectID(fields[2])
	f.NewID, err4 = gitstore.ParseObjectID(fields[3])
	if len(fields[4]) > 1 {
		f.Score, err5 = strconv.Atoi(fields[4][1:])
	}
	from, to, renamed := strings.Cut(paths, "\t")
	if !renamed {
		to = from
	}
	f.OldPath, err6 = unquote(from)
	f.NewPath, err7 = unquote(to)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		return fmt.Errorf("git diff-tree answered %q: %w", clip(line), err)
	}
	header := "diff --git " + prefixed("a/", from) + " " + prefixed("b/", to)
	if f.Status == 'T' { // git prints two patches as well
		gone := f
		gone.Status, gone.NewMode, gone.NewID = 'D', 0, gitstore.ObjectID{}
		f.Status, f.OldMode, f.OldID = 'A', 0, gitstore.ObjectID{}
		p.diff.Files = append(p.diff.Files, gone)
		p.headers = append(p.headers, header)
	}
	p.diff.Files = append(p.diff.Files, f)
	p.headers = append(p.headers, header)
	return nil
}

// prefixed puts a prefix before a name that may be quoted.
func prefixed(prefix, name string) string {
	if strings.HasPrefix(name, `"`) {
		return `"` + prefix + name[1:]
	}
	return prefix + name
}

// open finds the file that a patch belongs to. Patches come in the order of the raw
// lines; some files have none.
func (p *diffParser) open(header string) error {
	p.hunks = false
	for i := p.next; i < len(p.headers); i++ {
		if p.headers[i] == header {
			p.at, p.next, p.own = i, i+1, 0
			return nil
		}
	}
	if p.more {
		return errFlood // the first patch of a file beyond MaxFiles: those of all others came before
	}
	return fmt.Errorf("git diff-tree sent a patch of an unknown file: %q", clip(header))
}

// keep counts a line of a patch and adds it while there is room.
func (p *diffParser) keep(f *FileDiff, line []byte, whole bool) {
	if len(line) > 0 {
		switch line[0] {
		case '+':
			f.Additions++
		case '-':
			f.Deletions++
		}
	}
	if !f.TooLarge {
		p.lines, p.own = p.lines+1, p.own+1
	}
	p.keepPart(f, line, whole)
}

func (p *diffParser) keepPart(f *FileDiff, line []byte, whole bool) {
	if f.TooLarge {
		return
	}
	n := len(line)
	if whole {
		n++
	}
	if len(f.Patch)+n > p.options.MaxFileBytes || p.total+n > p.options.MaxBytes || p.lines > p.options.MaxLines {
		f.Collapsed = len(f.Patch)+n <= p.options.MaxFileBytes
		p.total -= len(f.Patch)
		p.lines -= p.own
		f.Patch, f.TooLarge, p.diff.Overflow = nil, true, true
		return
	}
	p.total += n
	f.Patch = append(f.Patch, line...)
	if whole {
		f.Patch = append(f.Patch, '\n')
	}
}
