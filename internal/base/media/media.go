// Package media tells pictures, videos and audio files by the endings of their names.
package media

import (
	"path"
	"strings"
)

// Kind is how a text or a page shows a file.
type Kind int

// The kinds. A file of kind None is linked to, all others are shown.
const (
	None Kind = iota
	Image
	Video
	Audio
)

// format is a kind with the media type as which browsers show or play a file of it. The type is "" where
// a server has to look into the file first.
type format struct {
	kind Kind
	mime string
}

func of(name string) format {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return format{Image, "image/png"}
	case ".jpg", ".jpeg":
		return format{Image, "image/jpeg"}
	case ".gif":
		return format{Image, "image/gif"}
	case ".webp":
		return format{Image, "image/webp"}
	case ".bmp", ".tiff", ".ico", ".svg": // SVG can have scripts
		return format{Image, ""}
	case ".mp4", ".m4v":
		return format{Video, "video/mp4"}
	case ".mov":
		return format{Video, "video/quicktime"}
	case ".webm":
		return format{Video, "video/webm"}
	case ".ogv":
		return format{Video, "video/ogg"}
	case ".mp3":
		return format{Audio, "audio/mpeg"}
	case ".oga", ".ogg", ".spx":
		return format{Audio, "audio/ogg"}
	case ".wav":
		return format{Audio, "audio/wav"}
	}
	return format{}
}

// Of returns the kind of a file.
func Of(name string) Kind { return of(name).kind }

// Type returns the media type of a file that a browser shows or plays and never runs, whatever the file holds, "" for all
// other files.
func Type(name string) string { return of(name).mime }
