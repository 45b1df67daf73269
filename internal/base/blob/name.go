package blob

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds the names of files, in bytes.
const maxName = 200

// CleanName makes the name of a file fit for addresses, texts and headers: the part after
// the last slash of either kind, with an underscore for every other character than a letter or digit and
// none of "._-+".
func CleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '_'
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), strings.ContainsRune("._-+", r):
			return r
		}
		return '_'
	}, name)
	if len(name) > maxName {
		end := path.Ext(name)
		if len(end) > 20 {
			end = ""
		}
		name = strings.ToValidUTF8(name[:maxName-len(end)], "") + end
	}
	switch {
	case name == "":
		return "unnamed"
	case strings.Trim(name, ".") == "":
		return "_" + name
	}
	return name
}
