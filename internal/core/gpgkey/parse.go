package gpgkey

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Bounds of what is taken for a key, so that reading one costs little.
const (
	maxText    = 256 << 10 // bytes, armoured
	maxPackets = 1000
	maxSubkeys = 50
	maxBits    = 8192
)

const (
	prefix = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	suffix = "-----END PGP PUBLIC KEY BLOCK-----"
)

var (
	errNoKey = errors.New("not a public key")
	errHuge  = fmt.Errorf("a key of more than %d bits", maxBits)
)

// wellFormed reports whether a text is one armoured public key block and nothing else.
func wellFormed(text string) bool {
	inner, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return false
	}
	inner, ok = strings.CutSuffix(inner, suffix)
	return ok && inner != "" && !strings.Contains(inner, prefix) && !strings.Contains(inner, suffix)
}

// Entity reads the first key of an armoured block.
func Entity(text string) (*openpgp.Entity, error) {
	block, err := armor.Decode(strings.NewReader(text))
	if err != nil || block.Type != openpgp.PublicKeyType {
		return nil, errNoKey
	}
	content, err := io.ReadAll(io.LimitReader(block.Body, maxText+1))
	if err != nil || len(content) > maxText {
		return nil, errNoKey
	}
	if err := measure(content); err != nil {
		return nil, err
	}
	entity, err := openpgp.ReadEntity(packet.NewReader(bytes.NewReader(content)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoKey, err)
	}
	if entity.PrivateKey != nil || len(entity.Subkeys) > maxSubkeys {
		return nil, errNoKey
	}
	return entity, nil
}

// measure looks at the packets before anything is computed with them: a signature by a
// huge key takes minutes to verify, and the keys in here certify themselves.
func measure(content []byte) error {
	packets := packet.NewOpaqueReader(bytes.NewReader(content))
	for range maxPackets {
		p, err := packets.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errNoKey
		}
		parsed, err := p.Parse()
		if err != nil {
			continue // the next reader says whether it matters
		}
		if key, ok := parsed.(*packet.PublicKey); ok {
			if bits, err := key.BitLength(); err != nil || bits > maxBits {
				return errHuge
			}
		}
	}
	return errNoKey
}

// Identity is a name that a key claims.
type Identity struct {
	Name  string
	Email string // in lower case
}

// Identities returns what an entity claims and has not taken back, the primary one first,
// then by name.
func Identities(e *openpgp.Entity, now time.Time) []Identity {
	var out []Identity
	_, primary := e.PrimarySelfSignature()
	names := slices.Sorted(maps.Keys(e.Identities))
	if primary != nil {
		names = append([]string{primary.Name}, slices.DeleteFunc(names, func(n string) bool { return n == primary.Name })...)
	}
	for _, name := range names {
		id := e.Identities[name]
		if id == nil || id.UserId == nil || id.SelfSignature == nil || id.Revoked(now) {
			continue
		}
		out = append(out, Identity{Name: id.UserId.Name, Email: strings.ToLower(id.UserId.Email)})
	}
	return out
}

// part names a public key within an entity.
type part struct {
	keyID       string // sixteen digits
	fingerprint string
}

func partOf(key *packet.PublicKey) part {
	return part{keyID: KeyID(key.KeyId), fingerprint: strings.ToUpper(hex.EncodeToString(key.Fingerprint))}
}

// KeyID returns the sixteen digits of a key's id.
func KeyID(id uint64) string { return fmt.Sprintf("%016X", id) }
