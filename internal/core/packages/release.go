package packages

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/db"
	"tenon/internal/base/debian"
)

// release is what a distribution shows: one row, so that the Release file and all that it names change in one step.
type release struct {
	ID             int64          `db:"id"`
	DistributionID DistributionID `db:"distribution_id"`
	Generation     int64          `db:"generation"`
	Content        string         `db:"content"`
	Release        string         `db:"release"`
	InRelease      string         `db:"in_release"`
	Signature      string         `db:"signature"`
	Projects       int64          `db:"projects"`
	RenewAt        *db.Time       `db:"renew_at"`
	ModifiedAt     db.Time        `db:"modified_at"`
}

var releaseColumns = db.Columns[release]("l")

// releaseOf returns what a distribution shows; nil where nothing was published yet.
func (s *Service) releaseOf(ctx context.Context, id DistributionID) (*release, error) {
	r, err := db.Get[release](ctx, s.DB, "SELECT "+releaseColumns+" FROM debian_releases l WHERE l.distribution_id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find Release file: %w", err)
	}
	return &r, nil
}

// index is an index of a distribution; one without content has no object and no row.
type index struct {
	ID             int64          `db:"id"`
	DistributionID DistributionID `db:"distribution_id"`
	Directory      string         `db:"directory"`
	Name           string         `db:"name"`
	Size           int64          `db:"size"`
	SHA256         string         `db:"sha256"`
	Object         string         `db:"object"`
	RetiredAt      *db.Time       `db:"retired_at"`
}

// emptyDigest is the SHA-256 of nothing.
const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// folder is the folder of an index, and the index's name.
type folder struct{ directory, name string }

// folders are the folders that the Release file of a distribution lists.
func (d *Distribution) folders() []folder {
	var out []folder
	for _, c := range d.Components {
		for _, a := range d.Architectures {
			out = append(out, folder{c + "/binary-" + a, "Packages"})
		}
		for _, a := range d.Architectures {
			out = append(out, folder{c + "/debian-installer/binary-" + a, "Packages"})
		}
		out = append(out, folder{c + "/source", "Sources"})
	}
	return out
}

// timeForm is how a Release file writes times.
const timeForm = "Mon, 02 Jan 2006 15:04:05 -0700"

// releaseText writes a Release file. The zero time leaves out when it was made.
func releaseText(d *Distribution, indices map[string]*index, now time.Time) string {
	var out []byte
	field := func(name string, value *string) {
		if value != nil && *value != "" {
			out = debian.Append(out, name, *value)
		}
	}
	field("Origin", d.Origin)
	field("Label", d.Label)
	field("Suite", d.Suite)
	field("Version", d.Version)
	field("Codename", &d.Codename)
	if !now.IsZero() {
		out = debian.Append(out, "Date", now.UTC().Format(timeForm))
		if d.ValidTime != nil {
			out = debian.Append(out, "Valid-Until", now.UTC().Add(time.Duration(*d.ValidTime)*time.Second).Format(timeForm))
		}
	} else if d.ValidTime != nil {
		out = debian.Append(out, "Valid-Until", fmt.Sprint(*d.ValidTime))
	}
	out = debian.Append(out, "Acquire-By-Hash", "yes")
	out = debian.Append(out, "Architectures", strings.Join(d.Architectures, " "))
	out = debian.Append(out, "Components", strings.Join(d.Components, " "))
	field("Description", d.Description)
	out = append(out, "SHA256:\n"...)
	for _, f := range d.folders() {
		line := func(name, sum string, size int64) {
			out = fmt.Appendf(out, " %s %8d %s/%s\n", sum, size, f.directory, name)
		}
		plain := indices[f.directory+"/"+f.name]
		if plain == nil {
			line(f.name, emptyDigest, 0)
			continue
		}
		line(f.name, plain.SHA256, plain.Size)
		if packed := indices[f.directory+"/"+f.name+".gz"]; packed != nil {
			line(packed.Name, packed.SHA256, packed.Size)
		}
	}
	return string(out)
}

// digestOf is the SHA-256 of a text.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// signers returns the keys that sign for a distribution.
func (s *Service) signers(ctx context.Context, id DistributionID) (openpgp.EntityList, error) {
	if err := s.makeKey(ctx, makeKey{id}); err != nil {
		return nil, err
	}
	rows, err := db.Select[signingKey](ctx, s.DB, "SELECT "+db.Columns[signingKey]("k")+" FROM debian_distribution_keys k WHERE k.distribution_id = ? ORDER BY k.id", id)
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	var out openpgp.EntityList
	for i := range rows {
		private, err := s.Box.Open(sealedFor(id), rows[i].Sealed)
		if err != nil {
			return nil, fmt.Errorf("open signing key: %w", err)
		}
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(private))
		if err != nil || len(ring) != 1 || ring[0].PrivateKey == nil {
			return nil, fmt.Errorf("read signing key: %w", err)
		}
		out = append(out, ring[0])
	}
	if len(out) == 0 {
		return nil, errNoDistribution // it was deleted meanwhile
	}
	return out, nil
}

// fingerprints are those of keys.
func fingerprints(keys openpgp.EntityList) string {
	var out strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&out, "%x\n", k.PrimaryKey.Fingerprint)
	}
	return out.String()
}

// sign signs a Release file: inside of a text, and apart.
func sign(text string, keys openpgp.EntityList, now time.Time) (inside, apart string, err error) {
	config := &packet.Config{DefaultHash: crypto.SHA512, Time: func() time.Time { return now }}
	private := make([]*packet.PrivateKey, len(keys))
	for i, key := range keys {
		private[i] = key.PrivateKey
	}
	var b bytes.Buffer
	w, err := clearsign.EncodeMulti(&b, private, config)
	if err == nil {
		_, err = w.Write([]byte(text))
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return "", "", fmt.Errorf("sign Release file: %w", err)
	}
	if inside, err = withChecksum(b.Bytes()); err != nil {
		return "", "", err
	}
	b.Reset()
	w, err = armor.Encode(&b, openpgp.SignatureType, nil)
	if err != nil {
		return "", "", fmt.Errorf("sign Release file: %w", err)
	}
	for _, key := range keys {
		err = errors.Join(err, openpgp.DetachSign(w, key, strings.NewReader(text), config))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return "", "", fmt.Errorf("sign Release file: %w", err)
	}
	return inside, b.String() + "\n", nil
}

// withChecksum adds the checksum of its signature to a text that was signed inside: GnuPG 2.2 takes the last line of a signature that has none, and
// that needs no padding, for more of it.
func withChecksum(signed []byte) (string, error) {
	block, _ := clearsign.Decode(signed)
	from := bytes.LastIndex(signed, []byte("-----BEGIN "+openpgp.SignatureType))
	if block == nil || from < 0 {
		return "", errors.New("sign Release file: what was signed has no signature")
	}
	b := bytes.NewBuffer(bytes.Clone(signed[:from]))
	w, err := armor.Encode(b, openpgp.SignatureType, nil)
	if err == nil {
		_, err = io.Copy(w, block.ArmoredSignature.Body)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return "", fmt.Errorf("sign Release file: %w", err)
	}
	return b.String() + "\n", nil
}
