package tenontest_test

import (
	"net/http"
	"testing"

	"tenon/tenontest"
)

// A test of a tool that works with a server of its own.
func ExampleStart() {
	test := func(t *testing.T) {
		s := tenontest.Start(t, tenontest.Seed(`
[[projects]]
path = "root/app"
[projects.files]
"README.md" = "# App\n"
`))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v4/projects/root%2Fapp", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Private-Token", s.Token)
		res, err := (&http.Client{}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("got %s, want 200 OK", res.Status)
		}
	}
	_ = test
}
