package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tenon/internal/base/charset"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/lru"
)

// DiffOptions says how two trees are compared. Zero limits have defaults.
type DiffOptions struct {
	NoPatch          bool // names, modes and ids only
	NoRenames        bool // a renamed file is a deletion and an addition
	IgnoreWhitespace bool
	Context          int // lines around a change; 0 means 3, negative means none
	MaxFiles         int // default 3,000
	MaxFileBytes     int // a longer patch is left out; default 200 kB
	MaxBytes         int // of all patches together; default 10 MB
	MaxLines         int // of all patches together; default 100,000
}

// FileDiff is the change of one file. It is shared between callers: do not change it.
type FileDiff struct {
	OldPath   string // any bytes; for a new file the same as NewPath, and the other way round
	NewPath   string
	OldMode   gitstore.Mode // 0 for a new file
	NewMode   gitstore.Mode // 0 for a deleted file
	OldID     gitstore.ObjectID
	NewID     gitstore.ObjectID
	Status    byte // A, D, M or R; a change of type is a D and an A
	Score     int  // likeness of a renamed file in percent
	Binary    bool
	Patch     []byte // from the first @@ on; empty for binary, mode-only and left-out changes
	TooLarge  bool   // the patch was longer than allowed and was left out
	Collapsed bool   // the same, because those before it took the room of all; TooLarge is set too
	Additions int    // counted even where the patch was left out as too large
	Deletions int

	oldCharset, newCharset charset.Charset // where the patch is not UTF-8
}

// New reports whether the file was added.
func (f *FileDiff) New() bool { return f.Status == 'A' }

// Deleted reports whether the file was deleted.
func (f *FileDiff) Deleted() bool { return f.Status == 'D' }

// Renamed reports whether the file was renamed.
func (f *FileDiff) Renamed() bool { return f.Status == 'R' }

// Diff is a comparison of two trees. It is shared between callers: do not change it.
type Diff struct {
	Files    []FileDiff
	Overflow bool // a limit was hit: files are missing or have no patch
}

func (o DiffOptions) defaults() DiffOptions {
	o.MaxFiles = orDefault(o.MaxFiles, 3000)
	o.MaxFileBytes = orDefault(o.MaxFileBytes, 200<<10)
	o.MaxBytes = orDefault(o.MaxBytes, 10<<20)
	o.MaxLines = orDefault(o.MaxLines, 100_000)
	o.Context = orDefault(o.Context, 3)
	o.Context = min(max(o.Context, 0), 10_000)
	return o
}

// command is the command line of the process that answers for these options. Names are
// quoted instead of ended by NUL, so that no name can look like the end of an answer.
func (o DiffOptions) command() []string {
	args := []string{
		"diff-tree", "--stdin", "-r", "--raw", "--full-index", "--no-color",
		"--no-ext-diff", "--no-textconv", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/",
	}
	if !o.NoPatch {
		args = append(args, "-p", "-U"+strconv.Itoa(o.Context))
	}
	if o.NoRenames {
		args = append(args, "--no-renames")
	} else {
		args = append(args, "-M", "-l1000")
	}
	if o.IgnoreWhitespace {
		args = append(args, "-w")
	}
	return args
}

type diffKey struct {
	path string
	a, b gitstore.ObjectID
	o    DiffOptions
}

// Diff compares two commits or trees; a zero id stands for the empty tree. A warm
// comparison starts no process.
func (r *Repo) Diff(ctx context.Context, a, b gitstore.ObjectID, o DiffOptions) (*Diff, error) {
	o = o.defaults()
	from, err := r.treeOf(ctx, a)
	if err != nil {
		return nil, err
	}
	to, err := r.treeOf(ctx, b)
	if err != nil {
		return nil, err
	}
	if from == to {
		return &Diff{}, nil
	}
	key := diffKey{r.Path(), from, to, o}
	if d, ok := lru.Get[*Diff](r.git.results, key); ok {
		return d, nil
	}
	var d *Diff
	err = r.git.pool.do(ctx, r, o.command(), func(w *worker) error {
		if err := w.ask(fmt.Sprintf("%s %s\n%s\n", from, to, diffEnd)); err != nil {
			return err
		}
		p := diffParser{worker: w, options: o, diff: &Diff{}, pair: fmt.Sprintf("%s %s", from, to)}
		err := p.parse()
		d = p.diff
		return err
	})
	if err == nil {
		err = r.charsets(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	cost := 100
	for i := range d.Files {
		cost += 200 + len(d.Files[i].OldPath) + len(d.Files[i].NewPath) + cap(d.Files[i].Patch)
	}
	r.remember(r.git.results, key, d, cost)
	return d, nil
}

// RawDiff streams the plain text of a comparison, as a .diff file has it.
func (r *Repo) RawDiff(ctx context.Context, a, b gitstore.ObjectID, out io.Writer) error {
	from, err := r.treeOf(ctx, a)
	if err != nil {
		return err
	}
	to, err := r.treeOf(ctx, b)
	if err != nil {
		return err
	}
	args := []string{"diff-tree", "-r", "-p", "-M", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", from.String(), to.String()}
	return r.git.run(ctx, call{repo: r, args: args, stdout: out, load: reading})
}

// Patches streams the commits that to has and from has not as mails, which "git am" applies, without merges. The zero
// value of from takes all that to has.
func (r *Repo) Patches(ctx context.Context, from, to gitstore.ObjectID, out io.Writer) error {
	args := []string{"format-patch", "--stdout", "--no-signature", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"}
	if from.IsZero() {
		args = append(args, "--root", to.String())
	} else {
		args = append(args, from.String()+".."+to.String())
	}
	return r.git.run(ctx, call{repo: r, args: args, stdout: out, load: reading})
}

// Streamed returns what a call writes, while it writes. The call ends when the text is closed or the request is over.
func Streamed(write func(out io.Writer) error) io.ReadCloser {
	text, to := io.Pipe()
	go func() { to.CloseWithError(write(to)) }()
	return text
}

// errFlood means that the rest of an answer is not worth reading.
var errFlood = errors.New("answer is too long")

// unquote reads a name as git prints it: plain, or in C quotes.
func unquote(s string) (string, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s, nil
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", fmt.Errorf("quoted name %q: %w", clip(s), gitstore.ErrMalformed)
		}
		if j := strings.IndexByte("abtnvfr\"\\", s[i]); j >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r\"\\"[j])
			continue
		}
		if i+3 > len(s) {
			return "", fmt.Errorf("quoted name %q: %w", clip(s), gitstore.ErrMalformed)
		}
		n, err := strconv.ParseUint(s[i:i+3], 8, 8)
		if err != nil {
			return "", fmt.Errorf("quoted name %q: %w", clip(s), gitstore.ErrMalformed)
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), nil
}
