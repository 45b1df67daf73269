package web

import (
	"bytes"
	"fmt"
	"io"

	"github.com/a-h/templ"

	"tenon/internal/base/charset"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/media"
)

// shownPicture reports whether a file is a picture that browsers show without running anything.
func shownPicture(name string) bool { return media.Of(name) == media.Image && media.Type(name) != "" }

// getRaw sends a file of a project.
func (x *visit) getRaw() (templ.Component, error) {
	p, f, got, err := x.file()
	if err != nil {
		return nil, err
	}
	return x.sendRaw(int64(p.ID), f.Path, got.Blob)
}

// sendRaw sends a file as it is and closes it: text as plain text, pictures, videos and audio files as such, all else as
// a download, so that no browser runs what a user pushed. project is 0 for a file that is in the
// code of none; its name then says what it is of.
func (x *visit) sendRaw(project int64, name string, blob *gitcmd.BlobReader) (templ.Component, error) {
	defer blob.Close()
	if err := x.Limits.CheckRaw(x.as, project, name, blob.Size); err != nil {
		return nil, err
	}
	head := make([]byte, min(blob.Size, sniffed))
	if _, err := io.ReadFull(blob, head); err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	kind, shown := media.Type(name), "inline"
	if kind == "" {
		if kind = charset.MediaType(head); kind == "" {
			kind, shown = "application/octet-stream", "attachment"
		}
	}
	x.headers(kind, shown)
	content := joined{io.MultiReader(bytes.NewReader(head), blob), blob}
	if m := media.Of(name); m == media.Video || m == media.Audio {
		x.playOut(content, blob.Size)
	} else {
		x.copyOut(content, blob.Size)
	}
	return nil, nil
}
