package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"tenon/internal/base/charset"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// Hit is a file whose path holds a text, or a place in a file that holds it with the lines
// around it.
type Hit struct {
	Path  string
	Named bool              // the path holds the text; Line and Data are empty
	Blob  gitstore.ObjectID // of the file
	Line  int               // of the first line of Data, from 1
	Data  string            // whole lines in UTF-8, cut where they are long
}

// SearchOptions say what is looked for in the files of a commit.
type SearchOptions struct {
	Text string                 // in any case; "" finds every path and looks into no file
	Path func(path string) bool // only in these files; nil for all
	Key  string                 // says in which files Path looks, for the memory of repeats
	Most int                    // how many hits are given
}

const (
	maxSearched = 1 << 20  // bytes of the largest file that is searched
	maxListing  = 64 << 20 // bytes of the listing of a commit's files
	maxHitLine  = 1000     // bytes of a line that are given
	aroundHit   = 2        // lines before and after one that holds the text
	maxHitLines = 100      // of one hit; the next begins after it
)

// Search looks for a text in the paths of a commit's files, and then in the files, in their
// order in its tree. It does not look into binary files and those of more than 1 MiB; links
// and submodules are left out. It takes two processes, and none where the same search was
// made before. What takes too long ends with ctx.
func (r *Repo) Search(ctx context.Context, commit gitstore.ObjectID, o SearchOptions) ([]Hit, error) {
	key := resultKey{r.Path(), "search", fmt.Sprintf("%x|%q|%q|%d", commit, o.Text, o.Key, o.Most)}
	if hits, ok := lru.Get[[]Hit](r.git.results, key); ok {
		return hits, nil
	}
	done, err := r.git.permit(ctx, searching)
	if err != nil {
		return nil, err
	}
	defer done()
	hits, err := r.search(ctx, commit, o)
	if err != nil {
		return nil, err
	}
	cost := 100
	for i := range hits {
		cost += 64 + len(hits[i].Path) + len(hits[i].Data)
	}
	r.remember(r.git.results, key, hits, cost)
	return hits, nil
}

func (r *Repo) search(ctx context.Context, commit gitstore.ObjectID, o SearchOptions) ([]Hit, error) {
	listing, err := r.git.output(ctx, call{repo: r, args: []string{"ls-tree", "-r", "-l", "-z", "--full-tree", commit.String()}}, maxListing)
	if err != nil {
		return nil, missing(err)
	}
	text := newFolder().fold(o.Text)
	folds := newFolder()
	var files []Hit
	var ids strings.Builder
	var hits []Hit
	for len(listing) > 0 {
		entry, rest, _ := bytes.Cut(listing, []byte{0})
		listing = rest
		file, size, ok := listed(entry)
		if !ok || o.Path != nil && !o.Path(file.Path) {
			continue
		}
		if len(hits) < o.Most && strings.Contains(folds.fold(file.Path), text) {
			file.Named = true
			hits = append(hits, file)
			file.Named = false
		}
		if o.Text != "" && size > 0 && size <= maxSearched {
			files = append(files, file)
			ids.WriteString(file.Blob.String() + "\n")
		}
	}
	if len(files) == 0 || len(hits) >= o.Most {
		return hits, nil
	}
	out, err := r.git.stream(ctx, call{repo: r, args: []string{"cat-file", "--batch", "--buffer"}, stdin: strings.NewReader(ids.String())})
	if err != nil {
		return nil, err
	}
	defer out.Close() // which ends the process where enough was found
	in := bufio.NewReaderSize(out, 64<<10)
	var content []byte
	for _, file := range files {
		if content, err = nextObject(in, content); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, fmt.Errorf("search files: %w", err)
		}
		if charset.Binary(content) {
			continue
		}
		shown := content
		if c := r.charsetOf(file.Blob, content); c != "" {
			shown = []byte(c.Text(content))
		}
		if hits = folds.hits(hits, file, shown, text, o.Most); len(hits) >= o.Most {
			break
		}
	}
	return hits, nil
}

// listed reads an entry of a listing: mode, kind, id and size, then a tab and the path. Not ok
// is what is no file.
func listed(entry []byte) (file Hit, size int64, ok bool) {
	head, path, found := strings.Cut(string(entry), "\t")
	fields := strings.Fields(head)
	if !found || len(fields) != 4 || fields[0] != "100644" && fields[0] != "100755" {
		return file, 0, false
	}
	id, err := gitstore.ParseObjectID(fields[2])
	if err != nil {
		return file, 0, false
	}
	size, err = strconv.ParseInt(fields[3], 10, 64)
	return Hit{Path: strings.ToValidUTF8(path, "\uFFFD"), Blob: id}, size, err == nil
}

// nextObject reads an answer of cat-file --batch into a buffer.
func nextObject(in *bufio.Reader, into []byte) ([]byte, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return into, fmt.Errorf("read object: %w", unexpected(err))
	}
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return into, fmt.Errorf("read object: answer %q: %w", clip(head), gitstore.ErrNotFound)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size > maxSearched {
		return into, fmt.Errorf("read object: answer %q: %w", clip(head), gitstore.ErrTooLarge)
	}
	if cap(into) < size+1 {
		into = make([]byte, size+1)
	}
	into = into[:size+1] // a newline follows
	if _, err = io.ReadFull(in, into); err != nil {
		return into, fmt.Errorf("read object: %w", unexpected(err))
	}
	return into[:size], nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// folder makes texts comparable without regard to case.
type folder struct{ caser cases.Caser }

func newFolder() folder { return folder{cases.Fold()} }

func (f folder) fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return f.caser.String(s)
		}
	}
	return strings.ToLower(s)
}

// hits adds the places of a file that hold a folded text.
func (f folder) hits(hits []Hit, file Hit, content []byte, text string, most int) []Hit {
	if !strings.Contains(f.fold(string(content)), text) {
		return hits
	}
	lines := strings.SplitAfter(string(content), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from, to := -1, -1 // the lines of the hit at hand
	flush := func() {
		if from < 0 {
			return
		}
		var data strings.Builder
		for _, line := range lines[from:to] {
			if len(line) > maxHitLine {
				line = line[:maxHitLine] + "\n"
			}
			data.WriteString(strings.ToValidUTF8(line, "\uFFFD"))
		}
		file.Line, file.Data = from+1, data.String()
		hits = append(hits, file)
		from = -1
	}
	for i, line := range lines {
		if len(hits) >= most {
			return hits
		}
		if !strings.Contains(f.fold(line), text) {
			continue
		}
		begin := max(i-aroundHit, 0)
		full := from >= 0 && i-from >= maxHitLines
		if full { // the lines before this one are in the hit at hand, if they are near
			begin = max(begin, min(to, i))
			to = min(to, begin)
		}
		if full || from >= 0 && begin > to {
			flush()
		}
		if from < 0 {
			from = begin
		}
		to = min(i+aroundHit+1, len(lines))
	}
	if len(hits) < most {
		flush()
	}
	return hits
}
