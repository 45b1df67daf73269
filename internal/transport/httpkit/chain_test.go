package httpkit_test

import (
	"net/http/httptest"
	"testing"

	"tenon/internal/transport/httpkit"
)

func TestChain(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "", "one": "", "6d61d8c6-3e6e-4b8a-9c6f-0d5ad1ffb0b4": "6d61d8c6-3e6e-4b8a-9c6f-0d5ad1ffb0b4",
		"6D61D8C6-3E6E-4B8A-9C6F-0D5AD1FFB0B4": "6d61d8c6-3e6e-4b8a-9c6f-0d5ad1ffb0b4", "6d61d8c6-3e6e-4b8a-9c6f-0d5ad1ffb0b4' OR 1": "",
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("X-Gitlab-Event-UUID", header)
		if got := httpkit.Chain(r); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}
