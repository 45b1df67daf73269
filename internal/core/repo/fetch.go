package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/spool"
	"tenon/internal/core/authz"
)

// Fetch is one request of a git client that reads, whole in itself as git sends them over
// HTTP and, in version 2 of its protocol, everywhere.
type Fetch struct {
	Protocol  string // what the client says of versions, as it stands
	Advertise bool   // it asks what there is, and Request is empty
	Request   []byte
}

// MaxFetch is how long a request may be to be answered from the cache, in bytes.
const MaxFetch = 1 << 20

// unseen lists what is hidden from a request. The references of pipelines, which come and go, are shown to requests that
// name them, as those of runners do, also without credentials, which git does not send to public projects. In the versions
// of the protocol where no request names what it looks for, all are shown. So answers to all others stay in the cache.
func (f Fetch) unseen() []string {
	out := []string{"refs/environments/", "refs/keep-around/", "refs/tenon/"}
	if gitcmd.ProtocolVersion(f.Protocol) >= 2 && !bytes.Contains(f.Request, []byte("ref-prefix refs/pipelines/")) {
		out = append(out, "refs/pipelines/")
	}
	return out
}

// Fetch answers a request of a git client. Requests that are the same while every
// reference stays where it is have one answer, which git works out once. Close the
// reader. An anonymous caller may be told to come again (Unavailable) where git has too
// much to do already.
func (r *Remote) Fetch(ctx context.Context, as authz.Actor, f Fetch) (*spool.Reader, error) {
	if err := r.requireFetch(ctx, as); err != nil {
		return nil, err
	}
	if f.Advertise && r.service.fetches.full(as) {
		return nil, errBusy // sooner than after more requests, and where git shows the text
	}
	at, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	return r.service.answer(ctx, as, at, r.key(), f)
}

// answer answers a request from the cache, or has git work it out. The key names the
// repository.
func (s *Service) answer(ctx context.Context, as authz.Actor, r *gitcmd.Repo, repository string, f Fetch) (*spool.Reader, error) {
	version := gitcmd.ProtocolVersion(f.Protocol)
	state := ""
	if !f.Advertise || version < 2 { // version 2 begins with what the program can do
		var err error
		if state, err = r.RefState(ctx, f.unseen()...); err != nil {
			return nil, fmt.Errorf("read references: %w", err)
		}
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %d %t ", repository, state, version, f.Advertise)
	sum.Write(f.Request)
	key := hex.EncodeToString(sum.Sum(nil))
	s.asked.Add(1)
	for {
		refused := false
		reader, err := s.Packs.Open(ctx, key, func(ctx context.Context, out io.Writer) error {
			leave, err := s.fetches.enter(ctx, as)
			if err != nil {
				refused = true
				return err
			}
			defer leave()
			s.worked.Add(1)
			if err := r.UploadPack(ctx, f.service(version, bytes.NewReader(f.Request), out)); err != nil {
				return err
			}
			return f.still(ctx, r, state)
		})
		if errors.Is(err, errBusy) && !refused {
			continue // another caller was refused, and this one had joined it
		}
		return reader, err
	}
}

// still keeps an answer from the cache whose references moved while git worked on it.
func (f Fetch) still(ctx context.Context, r *gitcmd.Repo, state string) error {
	if state == "" {
		return nil
	}
	now, err := r.RefState(ctx, f.unseen()...)
	if err != nil || now != state {
		return errors.Join(spool.ErrUnkept, err)
	}
	return nil
}

func (f Fetch) service(version int, in io.Reader, out io.Writer) gitcmd.Service {
	s := gitcmd.Service{Advertise: f.Advertise, Stateless: true, Stdin: in, Stdout: out}
	if version > 0 {
		s.Protocol = fmt.Sprintf("version=%d", version)
	}
	for _, prefix := range f.unseen() {
		s.Config = append(s.Config, "uploadpack.hideRefs="+prefix[:len(prefix)-1])
	}
	return s
}

// FetchLong answers what Fetch cannot: a request that is too long, whose rest is still to
// be read.
func (r *Remote) FetchLong(ctx context.Context, as authz.Actor, f Fetch, rest io.Reader, out io.Writer) error {
	at, leave, err := r.beginFetch(ctx, as)
	if err != nil {
		return err
	}
	defer leave()
	in := io.MultiReader(bytes.NewReader(f.Request), rest)
	return at.UploadPack(ctx, f.service(gitcmd.ProtocolVersion(f.Protocol), in, out))
}

// Converse lets git answer a client whose requests build on each other, as those of the
// old versions of the protocol do over SSH. With archive it is git archive that asks.
func (r *Remote) Converse(ctx context.Context, as authz.Actor, c Conversation) error {
	at, leave, err := r.beginFetch(ctx, as)
	if err != nil {
		return err
	}
	defer leave()
	service := Fetch{Protocol: c.Protocol}.service(gitcmd.ProtocolVersion(c.Protocol), c.In, c.Out)
	service.Stateless = false
	if c.Archive {
		return at.UploadArchive(ctx, service)
	}
	return at.UploadPack(ctx, service)
}

// Conversation is what Converse holds.
type Conversation struct {
	Protocol string
	Archive  bool // an archive is asked for, not a fetch
	In       io.Reader
	Out      io.Writer
}

func (r *Remote) beginFetch(ctx context.Context, as authz.Actor) (at *gitcmd.Repo, leave func(), err error) {
	if err := r.requireFetch(ctx, as); err != nil {
		return nil, nil, err
	}
	if at, err = r.open(ctx); err != nil {
		return nil, nil, err
	}
	s := r.service
	s.asked.Add(1)
	if leave, err = s.fetches.enter(ctx, as); err == nil {
		s.worked.Add(1)
	}
	return at, leave, err
}

// FetchCounts returns the number of requests of those who fetch since the server was
// started, and how many of them git had to work on.
func (s *Service) FetchCounts() (asked, worked uint64) { return s.asked.Load(), s.worked.Load() }
