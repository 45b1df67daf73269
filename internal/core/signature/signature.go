// Package signature says who signed a commit or a tag, and whether that is to be believed.
package signature

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/sshkey"
)

// Kind is the way something is signed.
type Kind string

// The kinds that are verified.
const (
	PGP Kind = "PGP"
	SSH Kind = "SSH"
)

// Status says what a signature proves.
type Status string

// The statuses of the contract.
const (
	Verified           Status = "verified"
	Unverified         Status = "unverified"                // it does not fit, or cannot be read
	SameUser           Status = "same_user_different_email" // of the committer, under another address
	OtherUser          Status = "other_user"                // of a user who is not the committer
	UnverifiedKey      Status = "unverified_key"            // of a key whose addresses its user has not proved
	UnknownKey         Status = "unknown_key"
	MultipleSignatures Status = "multiple_signatures"
)

// Signature is what a commit or tag is signed with.
type Signature struct {
	Kind   Kind
	Status Status

	PGP PGPKey      // of the kind PGP
	SSH *sshkey.Key // of the kind SSH, nil for a key that no user has
}

// PGPKey is the key of a signature, as far as it is known.
type PGPKey struct {
	ID       *gpgkey.ID // nil for a key that no user has
	KeyID    string     // of the primary key, or what the signature says
	Name     *string    // that the key claims
	Email    *string
	SubkeyID *int64        // nil where the primary key signed
	UserID   *authz.UserID // whose the key is; nil for a key that no user has
}

// Deps are what the service is built on.
type Deps struct {
	Accounts *account.Service
	Repos    *repo.Service
	SSHKeys  *sshkey.Service
	PGPKeys  *gpgkey.Service
	Now      func() time.Time
}

// Service verifies signatures when it is asked; it remembers nothing, so that a key that
// is gone proves nothing from that moment on.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// maxSignature is the longest signature that is looked at, in bytes.
const maxSignature = 64 << 10

// signed is an object that is to be judged.
type signed struct {
	gitstore.Signed
	by gitstore.Signature // the committer or tagger
}

// OfCommit returns the signature of a commit, NotFound where it has none of a kind that is
// verified. The actor must be allowed to read the code.
func (s *Service) OfCommit(ctx context.Context, as authz.Actor, p *project.Project, ref string) (*Signature, error) {
	c, err := s.Repos.FindCommit(ctx, as, p, ref)
	if err != nil {
		return nil, err
	}
	return s.of(ctx, as, p, c.ID, gitstore.KindCommit, c.Committer)
}

// OfTag is OfCommit for an annotated tag.
func (s *Service) OfTag(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Signature, error) {
	t, err := s.Repos.FindTag(ctx, as, p, name)
	if err != nil {
		return nil, err
	}
	if t.Message == nil {
		return nil, missing()
	}
	r, err := s.Repos.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	tag, err := r.Tag(ctx, t.Target)
	if err != nil {
		return nil, fmt.Errorf("read tag: %w", err)
	}
	return s.of(ctx, as, p, t.Target, gitstore.KindTag, tag.Tagger)
}

func missing() error { return errs.Missing("Signature") }

func (s *Service) of(ctx context.Context, as authz.Actor, p *project.Project, id gitstore.ObjectID, kind gitstore.Kind, by gitstore.Signature,
) (*Signature, error) {
	r, err := s.Repos.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	object, err := r.Signed(ctx, id, kind)
	if err != nil {
		return nil, fmt.Errorf("read signature: %w", err)
	}
	o := signed{object, by}
	text := bytes.TrimSpace(o.Signature)
	switch {
	case len(text) == 0 || len(text) > maxSignature:
		return nil, missing()
	case bytes.HasPrefix(text, []byte("-----BEGIN SSH SIGNATURE-----")):
		return s.ssh(ctx, o)
	case bytes.HasPrefix(text, []byte("-----BEGIN PGP SIGNATURE-----")), bytes.HasPrefix(text, []byte("-----BEGIN PGP MESSAGE-----")):
		return s.pgp(ctx, o)
	}
	return nil, missing() // X.509 and what else there may be
}
