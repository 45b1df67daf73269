package gitssh

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/lfs"
)

// lfs tells a client where the large objects of a project are and hands it a token for
// one operation with them: they go over HTTP.
func (x *exchange) lfs(ctx context.Context, as authz.Actor, path string, op lfs.Operation) int {
	if op != lfs.Download && op != lfs.Upload {
		x.refuse("Unknown LFS operation: " + clip(string(op)))
		return unknown
	}
	if err := x.Settings.Writable(); err != nil && op == lfs.Upload {
		return x.refuse(err.Error())
	}
	p, err := x.find(ctx, as, path)
	if err != nil {
		return x.explain(err, textHidden)
	}
	if err := x.LFS.Require(ctx, as, p, op); errors.Is(err, lfs.ErrOff) {
		return x.refuse(err.Error())
	} else if err != nil {
		return x.explain(err, textHidden)
	}
	if err := x.limited(as, p.NamespaceID, lfsAuthenticate); err != nil {
		return x.explain(err, "")
	}
	if !x.open(ctx, as, p.NamespaceID) {
		return failed
	}
	token, err := x.LFS.Token(lfs.Grant{Actor: as, ProjectID: p.ID, Operation: op, KeyID: x.key})
	if err != nil {
		return x.explain(err, "")
	}
	answer := struct {
		Href      string            `json:"href"`
		Header    map[string]string `json:"header"`
		ExpiresIn int               `json:"expires_in"`
	}{x.URLs.Service(p.FullPath, "info/lfs"), map[string]string{"Authorization": "Bearer " + token}, int(lfs.TokenLife / time.Second)}
	if err := json.NewEncoder(x.channel).Encode(answer); err != nil {
		return failed
	}
	return 0
}
