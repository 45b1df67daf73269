package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Runner returns the path of gitlab-runner: that of the path, or the one packed beside the contract or
// beside the checkout. Where there is none it says which were looked for.
func Runner(tb testing.TB) (path, missing string) {
	tb.Helper()
	if found, err := exec.LookPath("gitlab-runner"); err == nil {
		return found, ""
	}
	const name = "gitlab-runner-16.0.2.xz"
	places := []string{filepath.Join("..", "..", "..", "shared", "tools", name)}
	if contract := os.Getenv("TENON_CONTRACT_DIR"); contract != "" {
		places = append(places, filepath.Join(contract, "..", "tools", name))
	}
	for _, packed := range places {
		if _, err := os.Stat(packed); err != nil {
			continue
		}
		content, err := exec.CommandContext(tb.Context(), "xz", "--decompress", "--keep", "--stdout", packed).Output()
		if err != nil {
			return "", err.Error()
		}
		return Write(tb, "gitlab-runner", content), ""
	}
	return "", "neither in the path nor one of " + strings.Join(places, ", ")
}
