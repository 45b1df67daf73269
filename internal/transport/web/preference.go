package web

import (
	"tenon/internal/core/account"
	"tenon/internal/core/ci"
)

// preferences are what the reader of a page wants to see.
type preferences struct{ account.Profile }

// preferences reads those of the user who is signed in; others have none.
func (x *visit) preferences() (preferences, error) {
	if !x.as.SignedIn() {
		return preferences{}, nil
	}
	u, err := x.Accounts.Current(x.r.Context(), x.as)
	if err != nil {
		return preferences{}, err
	}
	return preferences{u.Profile}, nil
}

// pipeline names a pipeline by the number that the reader wants.
func (p preferences) pipeline(one *ci.Pipeline) string {
	if p.PipelineIIDs {
		return "#" + itoa(one.IID)
	}
	return "#" + itoa(int64(one.ID))
}
