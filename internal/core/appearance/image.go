package appearance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/picture"
)

// Image says which picture one is, as paths have it.
type Image string

// The pictures.
const (
	Logo       Image = "logo"        // of the sign-in page
	PWAIcon    Image = "pwa_icon"    // of the web application
	HeaderLogo Image = "header_logo" // of the navigation bar and of mail
	Favicon    Image = "favicon"
)

// Images are all pictures.
var Images = []Image{Logo, PWAIcon, HeaderLogo, Favicon}

// maxFile bounds the file of a picture as it comes, in bytes.
const maxFile = 1 << 20

// prefix is where the objects of pictures are.
const prefix = "appearance"

// Picture is a picture that was read and is not stored yet.
type Picture struct {
	content []byte
	name    string
}

// stored is the name under which a picture is stored, "" for none.
func (p *Picture) stored() string {
	if p == nil {
		return ""
	}
	return p.name
}

// Read reads a picture from a file with this name; a favicon may be an ICO file. What is wrong with it is Invalid with a map.
func (s *Service) Read(of Image, name string, from io.Reader) (*Picture, error) {
	read, formats := s.cleaner.Clean, picture.Formats
	if of == Favicon {
		read, formats = s.cleaner.CleanIcon, picture.IconFormats
	}
	clean, err := read(from, maxFile)
	var f errs.Fields
	switch {
	case errors.Is(err, picture.ErrTooBig):
		f.Add(string(of), "is too big (should be at most 1 MiB)")
		return nil, f.Err()
	case errors.Is(err, picture.ErrFormat):
		f.Add(string(of), "file format is not supported. Please try one of the following supported formats: "+strings.Join(formats, ", "))
		return nil, f.Err()
	case err != nil:
		return nil, err
	}
	return &Picture{content: clean.Content, name: clean.StoredName(name)}, nil
}

// ContentType returns the media type of a picture, "" where there is none.
func (a *Appearance) ContentType(of Image) string {
	name, _ := picture.Split(a.Image(of))
	return picture.ContentType(name)
}

// object is where the picture with a stored name is kept.
func object(of Image, stored string) string {
	name, _ := picture.Split(stored)
	return prefix + "/" + string(of) + "/" + name
}

// store puts pictures where they are kept. Sweep deletes those that are not named afterwards.
func (s *Service) store(ctx context.Context, images map[Image]*Picture) error {
	for of, p := range images {
		if p == nil {
			continue
		}
		size := int64(len(p.content))
		if _, err := s.Objects.Put(ctx, object(of, p.name), bytes.NewReader(p.content), blob.Wanted{Size: &size}); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the pictures that the row does not name any more, once that is committed.
func (s *Service) remove(ctx context.Context, before, after *Appearance) {
	for _, of := range Images {
		was := before.Image(of)
		if was == "" || was == after.Image(of) {
			continue
		}
		s.DB.AfterCommit(ctx, func() {
			if err := s.Objects.Delete(context.WithoutCancel(ctx), object(of, was)); err != nil {
				s.Log.Warn("remove picture of the appearance", "image", of, "error", err)
			}
		})
	}
}

// Opened is a picture that is open for reading; close it.
type Opened struct {
	*blob.Object
	ContentType string
	Version     string // differs for each picture
}

// OpenImage opens a picture for anybody: the sign-in page has it. It is NotFound for a file that is not the current one.
func (s *Service) OpenImage(ctx context.Context, of Image, id ID, file string) (*Opened, error) {
	a := s.Current()
	name, current := picture.Split(a.Image(of))
	if name == "" || id != a.ID || file != current {
		return nil, errs.Missing("")
	}
	o, err := s.Objects.Open(ctx, object(of, name))
	if errors.Is(err, blob.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, err
	}
	return &Opened{Object: o, ContentType: picture.ContentType(name), Version: name}, nil
}

// Sweep is the periodic job that deletes pictures that no row names.
type Sweep struct{}

// Kind names the job.
func (Sweep) Kind() string { return "appearance_sweep" }

// RegisterJobs has pictures that no row names deleted each day.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.Sweep, job.On(job.Maintenance), job.Unique(), job.Low(), job.Timeout(time.Hour))
	job.Every(r, 24*time.Hour, Sweep{})
}

// Sweep deletes what was replaced and what a crash left. Doing it twice is harmless.
func (s *Service) Sweep(ctx context.Context, _ Sweep) error {
	return s.Objects.SweepUnnamed(ctx, blob.Unnamed{
		Prefix: prefix, Before: s.Now().Add(-24 * time.Hour),
		Named: func(ctx context.Context, _ []string) ([]string, error) {
			a, err := s.read(ctx)
			if err != nil {
				return nil, err
			}
			var keys []string
			for _, of := range Images {
				if stored := a.Image(of); stored != "" {
					keys = append(keys, object(of, stored))
				}
			}
			return keys, nil
		},
	})
}
