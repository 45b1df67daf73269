package rest

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// Terraform's tests send base64 without padding.
func TestFiles_take_base64_with_and_without_padding(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		const file = appPath + "/repository/files/"
		for name, content := range map[string]string{"padded": "c29tZQ==", "bare": "c29tZQ", "lines": "c29t\\nZQ==\\n"} {
			p.want("maint", "POST", file+name, `{"branch":"main","commit_message":"Add","encoding":"base64","content":"`+content+`"}`, 201, "")
			p.want("maint", "GET", file+name+"/raw?ref=main", "", 200, "some")
		}
		p.want("maint", "POST", file+"bad", `{"branch":"main","commit_message":"Add","encoding":"base64","content":"c29=tZQ"}`, 400, `{"message":"content is not valid base64: bad"}`)
	})
}
