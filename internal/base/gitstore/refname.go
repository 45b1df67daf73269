package gitstore

import (
	"fmt"
	"strings"
)

// RefName is the full name of a reference, such as refs/heads/main, or HEAD.
// Make one with ParseRefName, BranchRef or TagRef; every method of Repo checks
// the name again, so a converted string cannot smuggle anything in.
type RefName string

// The places where references live, and the symbolic reference of a repository.
const (
	HEAD     RefName = "HEAD"
	Branches string  = "refs/heads/"
	Tags     string  = "refs/tags/"
)

// maxRefName bounds a reference: a file name may have 255 bytes, a path 4096.
const maxRefName = 1024

// ParseRefName checks a full reference name by the rules of git check-ref-format,
// and refuses a leading dash in any component besides.
func ParseRefName(s string) (RefName, error) {
	r := RefName(s)
	if err := r.check(); err != nil {
		return "", err
	}
	return r, nil
}

// BranchRef returns the reference of a branch by its short name.
func BranchRef(name string) (RefName, error) { return shortRef(Branches, name) }

// TagRef returns the reference of a tag by its short name.
func TagRef(name string) (RefName, error) { return shortRef(Tags, name) }

// ValidBranchName reports whether a branch of this short name may be made. Names
// that look like an object id or a full name are refused, because they would shadow one.
func ValidBranchName(name string) bool {
	_, err := BranchRef(name)
	return err == nil && name != "HEAD" && !LooksLikeID(name) && !looksLikeRef(name)
}

// ValidTagName reports whether a tag of this short name may be made.
func ValidTagName(name string) bool {
	_, err := TagRef(name)
	return err == nil && name != "HEAD" && !LooksLikeID(name) && !looksLikeRef(name)
}

// looksLikeRef reports whether a short name could be taken for a full one, so that a
// rule for "main" would be asked about "refs/heads/main".
func looksLikeRef(name string) bool {
	for _, prefix := range []string{Branches, Tags, "refs/remotes/"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func shortRef(prefix, name string) (RefName, error) {
	if strings.HasPrefix(name, "-") {
		return "", fmt.Errorf("reference %q: %w", clip(name), ErrBadName)
	}
	return ParseRefName(prefix + name)
}

// LooksLikeID reports whether a name could be taken for a full object id.
func LooksLikeID(name string) bool {
	return (len(name) == 40 || len(name) == 64) && IsHex(name)
}

// Valid reports whether the name is HEAD or a well-formed name under refs/.
func (r RefName) Valid() bool { return r.check() == nil }

// IsBranch reports whether the reference lies under refs/heads/.
func (r RefName) IsBranch() bool { return strings.HasPrefix(string(r), Branches) }

// IsTag reports whether the reference lies under refs/tags/.
func (r RefName) IsTag() bool { return strings.HasPrefix(string(r), Tags) }

// Below reports whether the name begins with one of some prefixes, such as refs/keep-around/.
func (r RefName) Below(prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(string(r), p) {
			return true
		}
	}
	return false
}

// Short returns the name without refs/heads/ or refs/tags/, else the full name.
func (r RefName) Short() string {
	if r.IsBranch() {
		return string(r[len(Branches):])
	}
	if r.IsTag() {
		return string(r[len(Tags):])
	}
	return string(r)
}

func (r RefName) check() error {
	if r == HEAD {
		return nil
	}
	rest, ok := strings.CutPrefix(string(r), "refs/")
	if !ok || len(r) > maxRefName || !validRefPath(rest) {
		return fmt.Errorf("reference %q: %w", clip(string(r)), ErrBadName)
	}
	return nil
}

// validRefPath applies the rules of git check-ref-format to what follows refs/.
func validRefPath(s string) bool {
	if s == "" || strings.HasSuffix(s, ".") || strings.Contains(s, "..") || strings.Contains(s, "@{") {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f || strings.IndexByte(" ~^:?*[\\", s[i]) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part == "@" || len(part) > 250 || part[0] == '.' || part[0] == '-' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// ValidPrefix reports whether s may select references: refs/, or a folder below it.
func ValidPrefix(s string) bool {
	rest, ok := strings.CutPrefix(s, "refs/")
	return ok && (rest == "" || strings.HasSuffix(rest, "/") && validRefPath(strings.TrimSuffix(rest, "/")))
}
