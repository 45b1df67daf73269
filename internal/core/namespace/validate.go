package namespace

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Messages that groups and projects share.
const (
	MessageBlank    = "can't be blank"
	MessageTaken    = "has already been taken"
	MessageReserved = "is a reserved name"
	MessageLongName = "is too long (maximum is 255 characters)"

	// MaxName and MaxDescription are counted in characters.
	MaxName        = 255
	MaxDescription = 2000
)

const messageGroupName = "can contain only letters, digits, emoji, '_', '.', dash, space, parenthesis. " +
	"It must start with letter, digit, emoji or '_'."

// LetterDigitEmoji reports whether a character may start the name of a group or
// project.
func LetterDigitEmoji(r rune) bool {
	switch {
	case r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.So, r):
		return true
	case r >= 0x1F3FB && r <= 0x1F3FF: // skin tones
		return true
	}
	return false
}

// NameRune reports whether a character may stand inside the name of a group or
// project, besides those in extra.
func NameRune(r rune, extra string) bool {
	switch {
	case LetterDigitEmoji(r), unicode.Is(unicode.M, r), unicode.Is(unicode.Pd, r):
		return true
	case r == 0x200D: // joins emoji
		return true
	}
	return strings.ContainsRune(extra, r)
}

// ValidName reports whether a name starts and goes on as NameRune allows.
func ValidName(name, extra string) bool {
	for i, r := range name {
		if i == 0 && !LetterDigitEmoji(r) {
			return false
		}
		if !NameRune(r, extra) {
			return false
		}
	}
	return true
}

func checkGroupName(f *errs.Fields, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		f.Add("name", MessageBlank)
	case utf8.RuneCountInString(name) > MaxName:
		f.Add("name", MessageLongName)
	case !ValidName(name, ". ()"):
		f.Add("name", messageGroupName)
	}
}

func checkGroupPath(f *errs.Fields, path string, inside bool) {
	if path == "" {
		f.Add("path", MessageBlank)
		return
	}
	f.Check(utf8.RuneCountInString(path) >= 2, "path", "is too short (minimum is 2 characters)")
	f.Check(utf8.RuneCountInString(path) <= MaxName, "path", MessageLongName)
	f.Check(account.ValidPath(path), "path", account.PathMessage)
	reserved := account.ReservedTopLevel(path)
	if inside {
		reserved = account.ReservedInside(path)
	}
	f.Check(!reserved, "path", MessageReserved)
}

// RestrictedVisibility is the message for a visibility that the instance keeps for
// administrators.
func RestrictedVisibility(v authz.Visibility) string {
	return v.String() + " has been restricted by your GitLab administrator"
}
