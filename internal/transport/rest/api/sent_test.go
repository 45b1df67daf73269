package api_test

import (
	"testing"

	"tenon/internal/transport/rest/api"
)

type withAll struct {
	ID  string `param:"id" doc:"ID"`
	All api.Sent
}

func TestSent(t *testing.T) {
	t.Parallel()
	k := kitOf(api.Post("/p", decoded[withAll]))
	for request, want := range map[string]string{
		"POST /p":             `{"ID":"","All":{}}`,
		"POST /p?id=1&b[c]=2": `{"ID":"1","All":{"b":{"c":"2"},"id":"1"}}`,
		"POST /p?b=1\nContent-Type: application/json\n\n{\"id\":\"1\",\"c\":{\"d\":[1,true,null]}}": `{"ID":"1","All":{"b":"1","c":{"d":[1,true,null]},"id":"1"}}`,
	} {
		if got := call(t, k, request); got.Code != 201 && got.Code != 200 || got.Body.String() != want {
			t.Errorf("%q: got %d %s, want %s", request, got.Code, got.Body, want)
		}
	}
}
