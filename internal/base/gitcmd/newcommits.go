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

	"tenon/internal/base/gitstore"
)

// NewCommits returns the commits that the tips bring and no branch or tag has, parents
// before children, with one process. Tips are commits or annotated tags; what leads to
// no commit brings none.
func (r *Repo) NewCommits(ctx context.Context, tips []gitstore.ObjectID) ([]gitstore.ObjectID, error) {
	var in strings.Builder
	for _, tip := range tips {
		info, err := r.Peel(ctx, tip)
		if err != nil {
			return nil, err
		}
		if info.Kind == gitstore.KindCommit {
			in.WriteString(info.ID.String() + "\n")
		}
	}
	if in.Len() == 0 {
		return nil, nil
	}
	// --stdin comes first: what stands before --not is wanted.
	args := []string{"rev-list", "--topo-order", "--reverse", "--stdin", "--not", "--branches", "--tags"}
	out, err := r.git.output(ctx, call{repo: r, args: args, stdin: strings.NewReader(in.String())}, maxIDs)
	if err != nil {
		return nil, missing(err)
	}
	return parseIDs(out)
}

// CommitFile is a file that a commit added or changed against all of its parents.
type CommitFile struct {
	Commit gitstore.ObjectID
	Path   string
	Mode   gitstore.Mode
	ID     gitstore.ObjectID
	Added  bool // no parent has it under this path
}

// maxFileLine bounds a line of a list of files: no path is longer than that.
const maxFileLine = 64 << 10

// CommitFiles calls fn with each file that the commits added or changed, with one process.
// An error of fn ends it and is returned.
func (r *Repo) CommitFiles(ctx context.Context, commits []gitstore.ObjectID, fn func(CommitFile) error) error {
	var in strings.Builder
	for _, id := range commits {
		in.WriteString(id.String() + "\n")
	}
	out, err := r.git.stream(ctx, call{
		repo: r, stdin: strings.NewReader(in.String()),
		args: []string{"diff-tree", "--stdin", "--root", "-r", "-c", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv"},
	})
	if err != nil {
		return err
	}
	err = readCommitFiles(bufio.NewReaderSize(out, maxFileLine), fn)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

// readCommitFiles reads "<commit>\0" and, for each of its files,
// "<colons><modes> <ids> <letters>\0<path>\0".
func readCommitFiles(in *bufio.Reader, fn func(CommitFile) error) error {
	var at gitstore.ObjectID
	for {
		word, err := field(in)
		if errors.Is(err, io.EOF) && word == "" {
			return nil
		}
		if err != nil {
			return err
		}
		if !strings.HasPrefix(word, ":") {
			if at, err = gitstore.ParseObjectID(strings.TrimPrefix(word, "\n")); err != nil {
				return fmt.Errorf("git diff-tree answered %q: %w", clip(word), err)
			}
			continue
		}
		file, err := parseCommitFile(word)
		if err != nil {
			return err
		}
		if file.Path, err = field(in); err != nil {
			return err
		}
		file.Commit = at
		if file.ID.IsZero() {
			continue // deleted
		}
		if err := fn(file); err != nil {
			return err
		}
	}
}

// field reads up to a NUL.
func field(in *bufio.Reader) (string, error) {
	b, err := in.ReadSlice(0)
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("git diff-tree: a name of more than %d bytes: %w", maxFileLine, gitstore.ErrTooLarge)
	}
	return string(bytes.TrimSuffix(b, []byte{0})), err
}

func parseCommitFile(word string) (CommitFile, error) {
	parents := len(word) - len(strings.TrimLeft(word, ":"))
	fields := strings.Fields(word[parents:])
	if len(fields) != 2*parents+3 {
		return CommitFile{}, fmt.Errorf("git diff-tree answered %q", clip(word))
	}
	mode, err := strconv.ParseUint(fields[parents], 8, 32)
	if err != nil {
		return CommitFile{}, fmt.Errorf("git diff-tree answered %q: %w", clip(word), err)
	}
	id, err := gitstore.ParseObjectID(fields[2*parents+1])
	if err != nil {
		return CommitFile{}, fmt.Errorf("git diff-tree answered %q: %w", clip(word), err)
	}
	return CommitFile{Mode: gitstore.Mode(mode), ID: id, Added: strings.Trim(fields[2*parents+2], "A") == ""}, nil
}
