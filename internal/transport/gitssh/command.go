package gitssh

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// maxCommand bounds what is read as a command, in bytes.
const maxCommand = 8 << 10

var errCommand = errors.New("unreadable command")

// words splits a command as a shell does, as far as git needs it: blanks, quotes of both
// kinds and backslashes. Nothing is ever run by a shell.
func words(text string) ([]string, error) {
	if len(text) > maxCommand || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, errCommand
	}
	var out []string
	var word strings.Builder
	inside, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote != 0 && b == quote:
			quote = 0
		case b == '\\' && quote != '\'':
			if i++; i == len(text) {
				return nil, errCommand
			}
			word.WriteByte(text[i])
			inside = true
		case quote != 0:
			word.WriteByte(b)
		case b == '\'' || b == '"':
			quote, inside = b, true
		case b == ' ' || b == '\t':
			if inside {
				out = append(out, word.String())
				word.Reset()
				inside = false
			}
		default:
			word.WriteByte(b)
			inside = true
		}
	}
	if quote != 0 {
		return nil, errCommand
	}
	if inside {
		out = append(out, word.String())
	}
	return out, nil
}

// place returns the path of a repository, such as the full path of a project, as a remote names it: with or without a slash
// before and .git after. It is "" where the path can be no repository's.
func place(path string) string {
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if !strings.Contains(path, "/") && !strings.HasSuffix(path, ".wiki") || strings.HasPrefix(path, "~") || len(path) > 4096 {
		return ""
	}
	return path
}
