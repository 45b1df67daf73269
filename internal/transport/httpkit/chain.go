package httpkit

import (
	"net/http"

	"github.com/google/uuid"
)

// Chain is the X-Gitlab-Event-UUID of a request that a call of a hook has led to, "" where it has none that is a UUID.
func Chain(r *http.Request) string {
	id, err := uuid.Parse(r.Header.Get("X-Gitlab-Event-UUID"))
	if err != nil {
		return ""
	}
	return id.String()
}
