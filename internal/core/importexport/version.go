package importexport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// maxVersion bounds the file with the version, in bytes.
const maxVersion = 64

// checkVersion refuses an archive of a newer format. One without a version is of the oldest.
func checkVersion(root *os.Root) error {
	f, err := root.Open("VERSION")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read version: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxVersion+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read version: %w", err)
	}
	found, ok := parseVersion(string(bytes.TrimSpace(text)))
	if !ok || len(text) > maxVersion {
		return failure{"Incorrect VERSION format"}
	}
	own, _ := parseVersion(version)
	for i := range own {
		if found[i] != own[i] {
			if found[i] > own[i] {
				return failure{fmt.Sprintf("Import version mismatch: Required %s but was %s", version, bytes.TrimSpace(text))}
			}
			break
		}
	}
	return nil
}

// parseVersion reads three numbers.
func parseVersion(text string) (out [3]int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != len(out) {
		return out, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || len(part) > 6 || part[0] == '+' {
			return out, false
		}
		out[i] = n
	}
	return out, true
}
