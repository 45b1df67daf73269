package api_test

import (
	"testing"

	"tenon/internal/transport/rest/api"
)

type withOthers struct {
	ID     string `param:"id" alias:"number"`
	Others api.Undeclared
}

func TestUndeclared(t *testing.T) {
	t.Parallel()
	k := kitOf(api.Post("/p", decoded[withOthers]))
	for request, want := range map[string]string{
		"POST /p?id=1":             `{"ID":"1","Others":null}`,
		"POST /p?number=1&b=2&a=3": `{"ID":"1","Others":["b","a"]}`,
		"POST /p?b=1\nContent-Type: application/json\n\n{\"id\":\"1\",\"c\":{\"d\":1}}": `{"ID":"1","Others":["b","c"]}`,
	} {
		if got := call(t, k, request); got.Code != 201 && got.Code != 200 || got.Body.String() != want {
			t.Errorf("%q: got %d %s, want %s", request, got.Code, got.Body, want)
		}
	}
}
