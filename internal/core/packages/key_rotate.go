package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// keyOverlap is how long a key that was replaced signs beside the new one.
const keyOverlap = 30 * 24 * time.Hour

// RotateKeys gives distributions a new signing key each: all of them, or those of a project or group by its full path. The old key signs
// beside the new one for 30 days. Tell gets the share that is done. It requires an administrator, and returns how many distributions have a
// new key.
func (s *Service) RotateKeys(ctx context.Context, as authz.Actor, path string, tell func(done, all int)) (int, error) {
	if !as.Admin {
		return 0, errs.Denied("")
	}
	var w db.Where
	if path != "" {
		w.And("d.namespace_id = (SELECT r.namespace_id FROM routes r WHERE r.path_fold = ?)", db.Fold(path))
	}
	ids, err := db.Select[DistributionID](ctx, s.DB, "SELECT d.id FROM debian_distributions d"+w.SQL()+" ORDER BY d.id", w.Args()...)
	if err != nil {
		return 0, fmt.Errorf("list distributions: %w", err)
	}
	if path != "" && len(ids) == 0 {
		return 0, errs.Missing("Distribution")
	}
	rotated := 0
	for i, id := range ids {
		tell(i, len(ids))
		err := s.rotateKey(ctx, id)
		if errors.Is(err, errNoDistribution) {
			continue // deleted meanwhile
		}
		if err != nil {
			return rotated, err
		}
		rotated++
	}
	return rotated, nil
}

// rotateKey replaces the signing key of a distribution.
func (s *Service) rotateKey(ctx context.Context, id DistributionID) error {
	key, err := s.newKey(id)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.requireDistribution(ctx, id); err != nil {
			return err
		}
		_, err := s.DB.Exec(ctx, "UPDATE debian_distribution_keys SET retire_at = ? WHERE distribution_id = ? AND retire_at IS NULL", db.At(s.Now().Add(keyOverlap)), id)
		if err != nil {
			return fmt.Errorf("retire signing key: %w", err)
		}
		row := *key
		if err := db.Create(ctx, s.DB, "debian_distribution_keys", &row); err != nil {
			return err
		}
		return s.republish(ctx, id)
	})
	return errs.Wrap(err, "rotate signing key")
}

// keyring puts public keys into one armored block, the newest first.
func keyring(public []string) (string, error) {
	if len(public) == 1 {
		return public[0], nil
	}
	var all openpgp.EntityList
	for _, text := range public {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
		if err != nil {
			return "", fmt.Errorf("read signing key: %w", err)
		}
		all = append(all, ring...)
	}
	return armored(openpgp.PublicKeyType, func(w io.Writer) error {
		var err error
		for _, e := range all {
			err = errors.Join(err, e.Serialize(w))
		}
		return err
	})
}
