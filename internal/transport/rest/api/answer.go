package api

import (
	"encoding/json"
	"net/http"
)

// Answer is a refusal whose body is unlike all others: Body is rendered as JSON.
type Answer struct {
	Status int
	Body   any
}

// Error returns the status in words.
func (a *Answer) Error() string { return http.StatusText(a.Status) }

func (x *exchange) answer(a *Answer) {
	body, err := json.Marshal(a.Body)
	if err != nil {
		x.internal(err)
		return
	}
	x.discard()
	x.w.Header().Set("Content-Type", "application/json")
	x.bytes(a.Status, body)
}
