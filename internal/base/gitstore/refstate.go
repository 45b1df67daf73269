package gitstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tenon/internal/base/intx"
)

// RefState returns a text that is the same exactly as long as HEAD and every reference
// stay where they are, apart from those below the hidden prefixes such as
// "refs/keep-around/". It starts no process. Those who ask at once have one look at the
// references, which begins after all of them have asked.
func (r *Repo) RefState(ctx context.Context, hidden ...string) (string, error) {
	intx.MustNot(ctx, "references are read")
	return r.store.states.share(ctx, r.path+"\x00"+strings.Join(hidden, "\x00"), func(ctx context.Context) (string, error) {
		return r.lookAtRefs(ctx, hidden)
	})
}

func (r *Repo) lookAtRefs(ctx context.Context, hidden []string) (string, error) {
	sum := sha256.New()
	head, err := os.ReadFile(filepath.Join(r.path, string(HEAD)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	sum.Write(head)
	// The loose files first and packed-refs after them: packing writes in the opposite order.
	loose, err := r.looseRefs(ctx, "refs/")
	if err != nil {
		return "", err
	}
	packed, err := r.packed()
	if err != nil {
		return "", err
	}
	for _, ref := range loose {
		if !ref.Name.Below(hidden) {
			sum.Write(ref.ID[:])
			sum.Write([]byte(ref.Name + "\x00"))
		}
	}
	digest := packed.digest(hidden)
	sum.Write(digest[:])
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest names what the file says of the references that are not hidden. It is worked out
// once for each state of the file.
func (p *packedRefs) digest(hidden []string) [sha256.Size]byte {
	key := strings.Join(hidden, "\x00")
	if known := p.known.Load(); known != nil && known.hidden == key {
		return known.sum
	}
	h := sha256.New()
	for _, ref := range p.refs {
		if !ref.Name.Below(hidden) {
			h.Write(ref.ID[:])
			h.Write([]byte(ref.Name + "\x00"))
		}
	}
	d := packedDigest{hidden: key}
	h.Sum(d.sum[:0])
	p.known.Store(&d)
	return d.sum
}

type packedDigest struct {
	hidden string
	sum    [sha256.Size]byte
}
