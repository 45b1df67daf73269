package account

import (
	"path"
	"slices"
	"strings"
)

// The path rules that users and groups share. Messages go behind
// the name of the attribute.
const (
	PathMessage = "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."

	maxPath = 255
)

// topLevelNames may not be the first part of any path, because the server uses them.
var topLevelNames = []string{
	"-", ".well-known", "404.html", "422.html", "500.html", "502.html", "503.html", "admin", "api",
	"apple-touch-icon.png", "assets", "dashboard", "deploy.html", "explore", "favicon.ico", "favicon.png",
	"groups", "health_check", "help", "import", "jwt", "login", "o", "oauth", "profile", "projects", "public",
	"robots.txt", "s", "search", "sitemap", "sitemap.xml", "sitemap.xml.gz", "slash-command-logo.png",
	"snippets", "unsubscribes", "uploads", "users", "v2",
}

// innerNames may not be the path of a project or subgroup.
var innerNames = []string{
	"-", "badges", "blame", "blob", "builds", "commits", "create", "create_dir", "edit", "environments/folders",
	"files", "find_file", "gitlab-lfs/objects", "info/lfs/objects", "new", "preview", "raw", "refs", "tree",
	"update", "wikis",
}

// fileExtensions are the suffixes that a username may not have: its page would be taken for a file.
var fileExtensions = []string{
	".atom", ".bmp", ".css", ".csv", ".gif", ".gz", ".htm", ".html", ".ico", ".ics", ".jpeg", ".jpg", ".js",
	".json", ".map", ".md", ".pdf", ".png", ".rss", ".svg", ".text", ".tif", ".tiff", ".txt", ".webp", ".xml",
	".yaml", ".yml", ".zip",
}

// reservedPrefixes are kept for accounts of the server.
var reservedPrefixes = []string{"duo-", "duo_", "ai-", "ai_"}

// ValidPath reports whether the text has the form of one part of a user's or group's
// path. It knows nothing of reserved names and lengths.
func ValidPath(text string) bool {
	if text == "" || text[0] == '-' || text[0] == '.' {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	folded := strings.ToLower(text)
	return !strings.HasSuffix(folded, ".") && !strings.HasSuffix(folded, ".git") && !strings.HasSuffix(folded, ".atom")
}

// ReservedTopLevel reports whether no user or top-level group may have this path.
func ReservedTopLevel(text string) bool {
	return slices.Contains(topLevelNames, strings.ToLower(text))
}

// ReservedInside reports whether no project or subgroup may have this path.
func ReservedInside(text string) bool {
	return slices.Contains(innerNames, strings.ToLower(text))
}

// usernameProblems lists what is wrong with a username, as messages behind "username".
func usernameProblems(name string) []string {
	var out []string
	if name == "" {
		return []string{"can't be blank"}
	}
	if len(name) < 2 {
		out = append(out, "is too short (minimum is 2 characters)")
	}
	if len(name) > maxPath {
		out = append(out, "is too long (maximum is 255 characters)")
	}
	folded := strings.ToLower(name)
	if ReservedTopLevel(name) || slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(folded, p) }) {
		out = append(out, name+" is a reserved name")
	}
	if !ValidPath(name) {
		out = append(out, PathMessage)
	}
	if slices.Contains(fileExtensions, path.Ext(folded)) && path.Ext(folded) != ".atom" {
		out = append(out, "ending with a reserved file extension is not allowed.")
	}
	return out
}
