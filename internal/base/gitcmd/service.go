package gitcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"tenon/internal/base/gitstore"
)

// Service describes one run of upload-pack or upload-archive.
type Service struct {
	Advertise bool      // list the references only, as a first HTTP request wants
	Stateless bool      // one request and its answer, as HTTP does it
	Protocol  string    // the client's Git-Protocol, such as "version=2"; strange ones are ignored
	Config    []string  // further settings of ours, as key=value; never text of a user
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

// UploadArchive serves git archive --remote.
func (r *Repo) UploadArchive(ctx context.Context, s Service) error {
	return r.service(ctx, fetching, []string{"upload-archive"}, nil, s)
}

func (r *Repo) service(ctx context.Context, l load, args, config []string, s Service) error {
	if !r.Exists() {
		return fmt.Errorf("repository: %w", gitstore.ErrNotFound)
	}
	if s.Stateless || s.Advertise {
		args = append(args, "--stateless-rpc")
	}
	if s.Advertise {
		args = append(args, "--http-backend-info-refs")
	}
	var env []string
	if validProtocol(s.Protocol) {
		env = append(env, "GIT_PROTOCOL="+s.Protocol)
	}
	return r.git.run(ctx, call{
		repo: r, config: append(config, s.Config...), args: append(args, r.Path()), env: env,
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

// ArchiveFormat is the format of an archive, as git makes it.
type ArchiveFormat string

// The formats.
const (
	ArchiveZip ArchiveFormat = "zip"
	ArchiveTar ArchiveFormat = "tar"
)

// ArchiveInput says what an archive holds.
type ArchiveInput struct {
	Commit  gitstore.ObjectID
	Format  ArchiveFormat
	Prefix  string   // folder above every name, without a slash at its end; "" is none
	Path    string   // the only folder or file to hold; "" is everything
	Exclude []string // folders and files to leave out, named from the top, without wildcards
}

// Archive streams an archive of a commit. A missing path is ErrNotFound before anything
// is written.
func (r *Repo) Archive(ctx context.Context, in ArchiveInput, out io.Writer) error {
	path := gitstore.CleanPath(in.Path)
	if path != "" {
		if _, err := r.Entry(ctx, in.Commit, path); err != nil {
			return err
		}
	}
	if strings.ContainsAny(in.Prefix, "\x00\n\\") || strings.HasPrefix(in.Prefix, "/") || strings.Contains("/"+in.Prefix+"/", "/../") {
		return fmt.Errorf("archive prefix %q: %w", clip(in.Prefix), gitstore.ErrBadName)
	}
	if in.Format != ArchiveZip && in.Format != ArchiveTar {
		return fmt.Errorf("archive format %q: %w", clip(string(in.Format)), gitstore.ErrBadName)
	}
	c := call{repo: r, stdout: out, load: long, args: []string{"archive", "--format=" + string(in.Format)}}
	if in.Prefix != "" {
		c.args = append(c.args, "--prefix="+in.Prefix+"/")
	}
	c.args = append(c.args, in.Commit.String(), "--")
	if len(in.Exclude) == 0 {
		if path != "" {
			c.args = append(c.args, path)
		}
		return missing(r.git.run(ctx, c))
	}
	c.env = []string{"GIT_LITERAL_PATHSPECS=0"} // each says of itself that it is literal
	c.args = append(c.args, ":(top,literal)"+path)
	for _, left := range in.Exclude {
		if left = gitstore.CleanPath(left); left != "" {
			c.args = append(c.args, ":(top,exclude,literal)"+left)
		}
	}
	return missing(r.git.run(ctx, c))
}
