package signature

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/db"
	"tenon/internal/core/gpgkey"
)

// pgp judges a signature by an OpenPGP key.
func (s *Service) pgp(ctx context.Context, o signed) (*Signature, error) {
	out := &Signature{Kind: PGP, Status: Unverified}
	packets, err := readPGP(o.Signature)
	if err != nil {
		return nil, missing()
	}
	first := packets[0]
	out.PGP.KeyID = keyIDOf(first)
	if o.Several || len(packets) > 1 {
		out.Status = MultipleSignatures
		return out, nil
	}
	signers, err := s.PGPKeys.ByKeyID(ctx, out.PGP.KeyID)
	if err != nil {
		return nil, fmt.Errorf("key of signature: %w", err)
	}
	out.Status = UnknownKey
	for _, signer := range signers {
		fits, err := s.judge(ctx, o, out, first, signer)
		if err != nil {
			return nil, err
		}
		if fits {
			break
		}
	}
	return out, nil
}

// readPGP returns the signature packets of an armoured signature, one at least.
func readPGP(text []byte) ([]*packet.Signature, error) {
	block, err := armor.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read armour: %w", err)
	}
	var out []*packet.Signature
	for reader := packet.NewReader(block.Body); len(out) < 10; {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read signature: %w", err)
		}
		sig, ok := p.(*packet.Signature)
		if !ok || sig.IssuerKeyId == nil {
			return nil, errors.New("no signature")
		}
		out = append(out, sig)
	}
	if len(out) == 0 {
		return nil, errors.New("no signature")
	}
	return out, nil
}

// keyIDOf is the id of the key that a signature names.
func keyIDOf(sig *packet.Signature) string {
	if finger := sig.IssuerFingerprint; len(finger) == 20 {
		return strings.ToUpper(hex.EncodeToString(finger[12:]))
	}
	return gpgkey.KeyID(*sig.IssuerKeyId)
}

// judge fills out what one key makes of the signature and reports whether it fits.
func (s *Service) judge(ctx context.Context, o signed, out *Signature, sig *packet.Signature, signer gpgkey.Signer) (bool, error) {
	entity, err := gpgkey.Entity(signer.PublicKey)
	if err != nil {
		return false, fmt.Errorf("stored OpenPGP key %d: %w", signer.ID, err)
	}
	proved, err := s.Accounts.Proved(ctx, signer.UserID)
	if err != nil {
		return false, fmt.Errorf("owner of OpenPGP key: %w", err)
	}
	claimed := gpgkey.Identities(entity, s.Now())
	var own []gpgkey.Identity
	for _, id := range claimed {
		if slices.Contains(proved, db.Fold(id.Email)) {
			own = append(own, id)
		}
	}
	id, user := signer.ID, signer.UserID
	out.PGP = PGPKey{ID: &id, KeyID: signer.KeyID, SubkeyID: signer.SubkeyID, UserID: &user}
	if shown := slices.Concat(own, claimed); len(shown) > 0 {
		out.PGP.Name, out.PGP.Email = &shown[0].Name, &shown[0].Email
	}
	email := db.Fold(o.by.Email)
	fits := s.fits(o, sig, entity)
	switch {
	case len(own) == 0:
		out.Status = UnverifiedKey
	case !fits:
		out.Status = Unverified
	case slices.ContainsFunc(own, func(id gpgkey.Identity) bool { return db.Fold(id.Email) == email }):
		out.Status = Verified
	case slices.Contains(proved, email):
		out.Status = SameUser
	default:
		out.Status = OtherUser
	}
	return fits, nil
}

// fits reports whether the signature is over the object and was made while the key was
// good. A key that was taken back since is good for nothing, not even what is older.
func (s *Service) fits(o signed, sig *packet.Signature, entity *openpgp.Entity) bool {
	now := s.Now()
	if entity.Revoked(now) || sig.CreationTime.After(now.Add(24*time.Hour)) {
		return false
	}
	for _, sub := range entity.Subkeys {
		if sub.PublicKey.KeyId == *sig.IssuerKeyId && sub.Revoked(now) {
			return false
		}
	}
	config := &packet.Config{Time: func() time.Time { return sig.CreationTime }}
	_, err := openpgp.CheckArmoredDetachedSignature(openpgp.EntityList{entity}, bytes.NewReader(o.Payload), bytes.NewReader(o.Signature), config)
	return err == nil
}
