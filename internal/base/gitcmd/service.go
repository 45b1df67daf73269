package gitcmd

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// Service describes one run of upload-pack, receive-pack or upload-archive.
type Service struct {
	Advertise bool      // list the references only, as a first HTTP request wants
	Stateless bool      // one request and its answer, as HTTP does it
	Protocol  string    // the client's Git-Protocol, such as "version=2"; strange ones are ignored
	Config    []string  // further settings of ours, as key=value; never text of a user
	Env       []string  // further variables for hooks, as NAME=value
	HooksDir  string    // absolute folder of hooks; "" runs none
	Decide    bool      // the folder's proc-receive hook moves every reference, not git
	Stdin     io.Reader // nil: nothing
	Stdout    io.Writer
	Stderr    io.Writer // what git tells the client outside the protocol; may be nil
}

// UploadPack serves a fetch or clone: reading only. Hide references with the setting
// uploadpack.hideRefs.
func (r *Repo) UploadPack(ctx context.Context, s Service) error {
	config := []string{
		"uploadpack.allowFilter=true",
		"uploadpack.allowAnySHA1InWant=false",
		"uploadpack.allowReachableSHA1InWant=true",
		"uploadpack.advertiseBundleURIs=false",
		"uploadpackfilter.allow=true",
	}
	return r.service(ctx, fetching, []string{"upload-pack", "--strict"}, config, s)
}

// ReceivePack serves a push. Objects go to git's own quarantine, which pre-receive finds
// in GIT_QUARANTINE_PATH and Repo.View reads. With Decide, the proc-receive hook moves
// every reference below refs/ and answers for each of them; objects have left the
// quarantine by then.
func (r *Repo) ReceivePack(ctx context.Context, s Service) error {
	config := []string{
		"receive.advertiseAtomic=true",
		"receive.advertisePushOptions=true",
		"receive.denyDeletes=false",
		"receive.denyDeleteCurrent=ignore",
		"receive.denyCurrentBranch=ignore",
		"receive.denyNonFastForwards=false",
		"receive.updateServerInfo=false",
	}
	if s.HooksDir != "" {
		if !filepath.IsAbs(s.HooksDir) {
			return fmt.Errorf("hooks folder %q: want an absolute path: %w", s.HooksDir, ErrBadName)
		}
		config = append(config, "core.hooksPath="+s.HooksDir)
	}
	if s.Decide {
		config = append(config, "receive.procReceiveRefs=refs")
	}
	// A delta of a few bytes can stand for gigabytes; files that are sent whole are not
	// held in memory.
	s.Env = append(s.Env[:len(s.Env):len(s.Env)], "GIT_ALLOC_LIMIT=1g")
	return r.service(ctx, pushing, []string{"receive-pack"}, config, s)
}

// UploadArchive serves git archive --remote.
func (r *Repo) UploadArchive(ctx context.Context, s Service) error {
	return r.service(ctx, fetching, []string{"upload-archive"}, nil, s)
}

func (r *Repo) service(ctx context.Context, l load, args, config []string, s Service) error {
	if !r.Exists() {
		return fmt.Errorf("repository: %w", ErrNotFound)
	}
	if s.Stateless || s.Advertise {
		args = append(args, "--stateless-rpc")
	}
	if s.Advertise {
		args = append(args, "--http-backend-info-refs")
	}
	env := append([]string(nil), s.Env...)
	if validProtocol(s.Protocol) {
		env = append(env, "GIT_PROTOCOL="+s.Protocol)
	}
	return r.git.run(ctx, call{
		repo: r, config: append(config, s.Config...), args: append(args, r.path), env: env,
		stdin: s.Stdin, stdout: s.Stdout, stderr: s.Stderr, load: l,
	})
}

// validProtocol accepts what real clients send: version=1 or 2, perhaps with further words.
func validProtocol(p string) bool {
	if p == "" || len(p) > 200 {
		return false
	}
	for i := range len(p) {
		c := p[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("=:.-_/", c) < 0 {
			return false
		}
	}
	return true
}

// ArchiveFormat is the format of an archive.
type ArchiveFormat string

// The formats. Bzip2 needs the program of that name on the server.
const (
	ArchiveZip      ArchiveFormat = "zip"
	ArchiveTar      ArchiveFormat = "tar"
	ArchiveTarGzip  ArchiveFormat = "tar.gz"
	ArchiveTarBzip2 ArchiveFormat = "tar.bz2"
)

// Archive streams an archive of a commit, or of the folder at a path in it, with every
// name below the folder prefix (no slash at its end). A missing path is ErrNotFound before anything is written.
func (r *Repo) Archive(ctx context.Context, commit ObjectID, format ArchiveFormat, prefix, path string, out io.Writer) error {
	path = CleanPath(path)
	if path != "" {
		if _, err := r.Entry(ctx, commit, path); err != nil {
			return err
		}
	}
	if strings.ContainsAny(prefix, "\x00\n\\") || strings.HasPrefix(prefix, "/") || strings.Contains("/"+prefix+"/", "/../") {
		return fmt.Errorf("archive prefix %q: %w", clip(prefix), ErrBadName)
	}
	c := call{repo: r, stdout: out, load: long, args: []string{"archive", "--format=" + string(format)}}
	switch format {
	case ArchiveZip, ArchiveTar, ArchiveTarGzip:
	case ArchiveTarBzip2:
		if _, err := exec.LookPath("bzip2"); err != nil {
			return fmt.Errorf("archive as tar.bz2: no bzip2 on this machine: %w", ErrNotFound)
		}
		c.config = []string{"tar.tar.bz2.command=bzip2 -c"}
	default:
		return fmt.Errorf("archive format %q: %w", clip(string(format)), ErrBadName)
	}
	if prefix != "" {
		c.args = append(c.args, "--prefix="+prefix+"/")
	}
	c.args = append(c.args, commit.String(), "--")
	if path != "" {
		c.args = append(c.args, path)
	}
	return missing(r.git.run(ctx, c))
}

// Bzip2 compresses with the program of that name, as git does for archives.
func (g *Git) Bzip2(ctx context.Context, in io.Reader, out io.Writer) error {
	done, err := g.permit(ctx, long)
	if err != nil {
		return err
	}
	defer done()
	cmd := exec.CommandContext(ctx, "bzip2", "-c")
	cmd.Env, cmd.Dir, cmd.WaitDelay = g.env, g.config.Root, waitDelay
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run bzip2: %w", err)
	}
	return nil
}
