package githttp

import (
	"net/http"
	"slices"
	"time"

	"tenon/internal/core/lfs"
)

// lfsObject names an object in requests and answers.
type lfsObject struct {
	OID  string `json:"oid"`
	Size int64  `json:"size"`
}

type lfsBatchRequest struct {
	Operation lfs.Operation `json:"operation"`
	Transfers []string      `json:"transfers"`
	HashAlgo  string        `json:"hash_algo"`
	Objects   []lfsObject   `json:"objects"`
}

type lfsAction struct {
	Href      string            `json:"href"`
	Header    map[string]string `json:"header,omitempty"`
	ExpiresIn int               `json:"expires_in,omitempty"` // seconds
}

type lfsError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type lfsBatchObject struct {
	lfsObject
	Authenticated bool                 `json:"authenticated,omitempty"`
	Actions       map[string]lfsAction `json:"actions,omitempty"`
	Error         *lfsError            `json:"error,omitempty"`
}

type lfsBatchAnswer struct {
	Transfer string           `json:"transfer"`
	HashAlgo string           `json:"hash_algo"`
	Objects  []lfsBatchObject `json:"objects"`
}

// batch says for each object where its content is read from or sent to. What the project
// has need not be sent; what only others have does.
func (x *lfsExchange) batch() {
	var in lfsBatchRequest
	if !x.read(&in) {
		return
	}
	switch {
	case in.Operation != lfs.Download && in.Operation != lfs.Upload:
		lfsRefuse(x.w, http.StatusUnprocessableEntity, "Operation not supported")
		return
	case in.HashAlgo != "" && in.HashAlgo != "sha256":
		lfsRefuse(x.w, http.StatusConflict, "Hash algorithm not supported")
		return
	case len(in.Transfers) > 0 && !slices.Contains(in.Transfers, "basic"):
		lfsRefuse(x.w, http.StatusUnprocessableEntity, "Transfer adapter not supported")
		return
	case len(in.Objects) > maxLFSObjects:
		lfsRefuse(x.w, http.StatusRequestEntityTooLarge, "Too many objects at once")
		return
	case in.Operation == lfs.Upload && x.grant != nil && x.grant.Operation != lfs.Upload:
		lfsRefuse(x.w, http.StatusForbidden, "Access forbidden. Check your access level.")
		return
	}
	if !x.may(in.Operation) || in.Operation == lfs.Upload && !x.writable() {
		return
	}
	if err := x.LFS.Require(x.r.Context(), x.as, x.p, in.Operation); err != nil {
		x.fault(err)
		return
	}
	if in.Operation == lfs.Upload {
		objects := make([]lfs.Pointer, len(in.Objects))
		for i, o := range in.Objects {
			objects[i] = lfs.Pointer(o)
		}
		if err := x.LFS.Room(x.r.Context(), x.as, x.p, objects); err != nil {
			x.fault(err)
			return
		}
	}
	oids := make([]string, len(in.Objects))
	for i, o := range in.Objects {
		oids[i] = o.OID
	}
	has, err := x.LFS.Has(x.r.Context(), x.p.ID, oids)
	if err != nil {
		x.fault(err)
		return
	}
	out := lfsBatchAnswer{Transfer: "basic", HashAlgo: "sha256", Objects: make([]lfsBatchObject, len(in.Objects))}
	for i, o := range in.Objects {
		got, there := has[o.OID]
		if out.Objects[i], err = x.batchObject(in.Operation, lfs.Pointer(o), got, there); err != nil {
			x.fault(err)
			return
		}
	}
	lfsAnswer(x.w, http.StatusOK, out)
}

// batchObject answers for one object; got is what the project has of this name.
func (x *lfsExchange) batchObject(op lfs.Operation, o, got lfs.Pointer, there bool) (lfsBatchObject, error) {
	out := lfsBatchObject{lfsObject: lfsObject(o)}
	switch {
	case !o.Valid():
		out.Error = &lfsError{http.StatusUnprocessableEntity, "Invalid object"}
		return out, nil
	case op == lfs.Download && !there:
		out.Error = &lfsError{http.StatusNotFound, "Object does not exist on the server or you don't have permissions to access it"}
		return out, nil
	case there && got.Size != o.Size:
		out.Error = &lfsError{http.StatusUnprocessableEntity, "The object has another size"}
		return out, nil
	case op == lfs.Upload && there:
		return out, nil
	}
	// It is good for this object alone, so that no caller makes tokens with it in turn.
	grant := lfs.Grant{Actor: x.as, ProjectID: x.p.ID, Operation: op, OID: o.OID}
	if x.grant != nil {
		grant.KeyID = x.grant.KeyID
	}
	token, err := x.LFS.Token(grant)
	if err != nil {
		return out, err
	}
	header := map[string]string{"Authorization": "Bearer " + token}
	expires := int(lfs.TokenLife / time.Second)
	out.Authenticated = true
	if op == lfs.Download {
		out.Actions = map[string]lfsAction{"download": {x.href("gitlab-lfs/objects/%s", o.OID), header, expires}}
		return out, nil
	}
	sending := map[string]string{"Authorization": header["Authorization"], "Content-Type": "application/octet-stream"}
	out.Actions = map[string]lfsAction{
		"upload": {x.href("gitlab-lfs/objects/%s/%d", o.OID, o.Size), sending, expires},
		"verify": {x.href("info/lfs/objects/verify"), header, expires},
	}
	return out, nil
}

// verify confirms that an upload is complete.
func (x *lfsExchange) verify() {
	var in lfsObject
	if !x.read(&in) || !x.may(lfs.Upload) {
		return
	}
	if x.grant != nil && x.grant.OID != "" && x.grant.OID != in.OID {
		lfsRefuse(x.w, http.StatusForbidden, "Access forbidden. Check your access level.")
		return
	}
	if err := x.LFS.Verify(x.r.Context(), x.as, x.p, lfs.Pointer(in)); err != nil {
		x.fault(err)
		return
	}
	lfsAnswer(x.w, http.StatusOK, in)
}
