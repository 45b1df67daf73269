package gitcmd

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/gitstore"
)

// BlameRange is a run of lines of a file that one commit wrote.
type BlameRange struct {
	Commit gitstore.ObjectID
	Lines  [][]byte // without their line ends
}

// maxBlame bounds the output of blame.
const maxBlame = 64 << 20

// Blame says which commit wrote which lines of a file, as it is in a commit. first and
// last choose lines, from 1; zero for both is the whole file. Lines beyond the end are
// none, and an empty file has none. A file that is not there is ErrNotFound.
func (r *Repo) Blame(ctx context.Context, commit gitstore.ObjectID, path string, first, last int) ([]BlameRange, error) {
	path = gitstore.CleanPath(path)
	entry, err := r.Entry(ctx, commit, path)
	if err != nil {
		return nil, err
	}
	if entry.Kind() != gitstore.KindBlob {
		return nil, fmt.Errorf("blame %q: is a %s: %w", clip(path), entry.Kind(), gitstore.ErrWrongKind)
	}
	args := []string{"blame", "--porcelain"}
	if first > 0 || last > 0 {
		args = append(args, "-L"+strconv.Itoa(max(first, 1))+","+strconv.Itoa(last))
	}
	out, err := r.git.output(ctx, call{repo: r, args: append(args, commit.String(), "--", path)}, maxBlame)
	if err != nil {
		// git says "file x has only n lines".
		if strings.Contains(err.Error(), " has only ") && strings.Contains(err.Error(), " line") {
			return nil, nil
		}
		return nil, missing(err)
	}
	return parseBlame(out)
}

// parseBlame reads the porcelain format: for each line a header with the commit, facts
// about the commit, and the line itself behind a tab.
func parseBlame(out []byte) ([]BlameRange, error) {
	var ranges []BlameRange
	var commit gitstore.ObjectID
	header := true
	for len(out) > 0 {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		out = rest
		switch {
		case header:
			id, _, _ := strings.Cut(string(line), " ")
			var err error
			if commit, err = gitstore.ParseObjectID(id); err != nil {
				return nil, fmt.Errorf("read blame: %w", err)
			}
			header = false
		case len(line) > 0 && line[0] == '\t':
			header = true
			if n := len(ranges); n == 0 || ranges[n-1].Commit != commit {
				ranges = append(ranges, BlameRange{Commit: commit})
			}
			last := &ranges[len(ranges)-1]
			last.Lines = append(last.Lines, line[1:])
		}
	}
	return ranges, nil
}
