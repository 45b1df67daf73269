package app

import "context"

// RotatedKey is what rotating the key of ID tokens did.
type RotatedKey struct {
	KeyID string `json:"kid"` // of the key that signs from now on
}

// adminKeyRotate makes another key that signs the ID tokens of jobs.
func (a *App) adminKeyRotate(ctx context.Context, _ struct{}, _ func(string)) (RotatedKey, error) {
	id, err := a.core.IDTokens.Rotate(ctx)
	return RotatedKey{KeyID: id}, err
}
