package servertest

import (
	"os"
	"strconv"
	"testing"
)

// Times is how often a test does something: what a variable of the environment says, else short, so that the tests as a whole stay short.
func Times(t testing.TB, variable string, short int) int {
	t.Helper()
	given := os.Getenv(variable)
	if given == "" {
		return short
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}
