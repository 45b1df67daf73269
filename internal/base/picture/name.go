package picture

import (
	"path"
	"slices"
	"strings"

	"tenon/internal/base/blob"
)

// StoredName returns the name under which a picture is stored: an object of its own, a slash, and the name of the file as URLs
// have it. The object is another each time, so that deleting one picture deletes no other that was stored meanwhile, were it the same.
func (p *Picture) StoredName(file string) string {
	return blob.Random() + p.Format.Exts()[0] + "/" + p.fileName(file)
}

// fileName returns a name of a file that ends in what the format ends in, so that a user who saves the picture can open it.
func (p *Picture) fileName(name string) string {
	name = strings.TrimLeft(blob.CleanName(name), ".")
	exts := p.Format.Exts()
	if !slices.ContainsFunc(exts, func(ext string) bool { return len(name) > len(ext) && strings.EqualFold(path.Ext(name), ext) }) {
		name += exts[0]
	}
	return name
}

// Split takes the stored name of a picture apart: the object, "" for none, and the name of the file.
func Split(stored string) (object, file string) {
	object, file, _ = strings.Cut(stored, "/")
	return object, file
}

// ContentType returns the media type of a picture by the name of its object, "" for one of no known format.
func ContentType(object string) string {
	return contentTypes[path.Ext(object)]
}

var contentTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".ico": "image/vnd.microsoft.icon",
}
