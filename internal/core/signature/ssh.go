package signature

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"tenon/internal/base/errs"
	"tenon/internal/core/sshkey"
)

// namespace is what git signs for; a signature made for anything else proves nothing here.
const namespace = "git"

// ssh judges a signature by an SSH key.
func (s *Service) ssh(ctx context.Context, o signed) (*Signature, error) {
	out := &Signature{Kind: SSH, Status: Unverified}
	if o.Several {
		out.Status = MultipleSignatures
		return out, nil
	}
	sig, err := sshsig.Unarmor(o.Signature)
	if err != nil {
		return out, nil
	}
	key, err := s.SSHKeys.ForSigning(ctx, ssh.FingerprintSHA256(sig.PublicKey))
	if err != nil && !errs.Is(err, errs.NotFound) {
		return nil, fmt.Errorf("key of signature: %w", err)
	}
	out.SSH = key
	if err := sshsig.Verify(bytes.NewReader(o.Payload), sig, sig.PublicKey, sig.HashAlgorithm, namespace); err != nil {
		return out, nil
	}
	out.Status, err = s.sshStatus(ctx, o, key)
	return out, err
}

// sshStatus says what a signature proves that fits.
func (s *Service) sshStatus(ctx context.Context, o signed, key *sshkey.Key) (Status, error) {
	if key == nil {
		return UnknownKey, nil
	}
	if key.Expired(o.by.When) {
		return Unverified, nil // made when the key was good no more
	}
	committer, err := s.Accounts.ByProved(ctx, o.by.Email)
	switch {
	case err != nil:
		return "", fmt.Errorf("committer: %w", err)
	case key.UserID == nil || committer != *key.UserID:
		return OtherUser, nil
	}
	return Verified, nil
}
