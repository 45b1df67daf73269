package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/db/dbtest"
)

func newGPGKey(t *testing.T) string {
	t.Helper()
	e, err := openpgp.NewEntity("Mona", "", "mona@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err = errors.Join(err, e.Serialize(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestGPGKeys(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	first, second := newGPGKey(t), newGPGKey(t)
	form := func(key string) string { return "key=" + url.QueryEscape(key) }
	entity := func(id, key string) string {
		quoted, _ := json.Marshal(key)
		return `{"id":` + id + `,"key":` + string(quoted) + `,"created_at":"2026-05-04T15:38:00.000Z"}`
	}
	const malformed = `is invalid. A valid public GPG key begins with '-----BEGIN PGP PUBLIC KEY BLOCK-----' and ends with ` +
		`'-----END PGP PUBLIC KEY BLOCK-----'`
	p.want(mona, "POST", "/user/gpg_keys", form(first), 201, entity("1", first))
	p.want(adminToken, "POST", "/users/2/gpg_keys", form(second), 201, entity("2", second))
	for _, c := range []struct {
		token, method, path, form string
		status                    int
		body                      string
	}{
		{mona, "POST", "/user/gpg_keys", "", 400, `{"error":"key is missing"}`},
		{mona, "POST", "/user/gpg_keys", "key=", 400, `{"message":{"key":["can't be blank","` + malformed + `"]}}`},
		{mona, "POST", "/user/gpg_keys", "key=x", 400, `{"message":{"key":["` + malformed + `"]}}`},
		{mona, "POST", "/user/gpg_keys", form(first), 400, `{"message":{"key":["has already been taken"]}}`},
		{
			mona, "POST", "/user/gpg_keys", form(strings.Replace(first, "-----\n\n", "-----\nComment: x\n\n", 1)), 400,
			`{"message":{"fingerprint":["has already been taken"],"primary_keyid":["has already been taken"]}}`,
		},
		{
			mona, "POST", "/user/gpg_keys", form("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----"), 400,
			`{"message":{"fingerprint":["can't be blank"],"primary_keyid":["can't be blank"]}}`,
		},
		{mona, "POST", "/users/1/gpg_keys", form(first), 403, `{"message":"403 Forbidden"}`},
		{"", "POST", "/user/gpg_keys", form(first), 401, `{"message":"401 Unauthorized"}`},
		{mona, "GET", "/user/gpg_keys", "", 200, "[" + entity("1", first) + "," + entity("2", second) + "]"},
		{mona, "GET", "/user/gpg_keys/2", "", 200, entity("2", second)},
		{mona, "GET", "/user/gpg_keys/9", "", 404, `{"message":"404 GPG Key Not Found"}`},
		{"", "GET", "/users/mona/gpg_keys?per_page=1", "", 200, "[" + entity("1", first) + "]"},
		{"", "GET", "/users/2/gpg_keys/1", "", 200, entity("1", first)},
		{"", "GET", "/users/1/gpg_keys/1", "", 404, `{"message":"404 GPG Key Not Found"}`},
		{"", "GET", "/users/9/gpg_keys", "", 404, `{"message":"404 User Not Found"}`},
		{mona, "DELETE", "/users/2/gpg_keys/1", "", 403, `{"message":"403 Forbidden"}`},
		{adminToken, "DELETE", "/user/gpg_keys/1", "", 404, `{"message":"404 GPG Key Not Found"}`},
		{adminToken, "DELETE", "/users/2/gpg_keys/1", "", 204, ""},
		{mona, "POST", "/user/gpg_keys/2/revoke", "", 202, "202"},
		{mona, "POST", "/user/gpg_keys/2/revoke", "", 404, `{"message":"404 GPG Key Not Found"}`},
		{mona, "GET", "/user/gpg_keys", "", 200, "[]"},
	} {
		p.want(c.token, c.method, c.path, c.form, c.status, c.body)
	}
}
