package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// movingArchive is what an archive of a project is made of.
type movingArchive struct {
	issues, requests, notes int
	textBytes               int      // of the description of each issue
	bundle                  string   // file with the repository, "" for none
	shas                    []string // commits of it
	uploads                 int      // files of uploadBytes
}

// uploadBytes is the size of an upload. Three quarters of it compress well.
const uploadBytes = 96 << 20

const movingTime = `"created_at":"2024-01-02T03:04:05.678Z","updated_at":"2024-01-02T03:04:05.678Z"`

// write makes the archive. Notes are spread over issues and merge requests.
func (a *movingArchive) write(name string) (err error) {
	folder := filepath.Dir(name)
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	each := a.notes / max(1, a.issues+a.requests)
	parts := []struct {
		name  string
		write func(to *bufio.Writer)
	}{
		{"VERSION", func(to *bufio.Writer) { _, _ = to.WriteString("0.2.4\n") }},
		{"tree/project.json", func(to *bufio.Writer) {
			_, _ = to.WriteString(`{"description":"Moved","visibility_level":0,"default_branch":"main"}`)
		}},
		{"tree/project/labels.ndjson", func(to *bufio.Writer) {
			for i := range 200 {
				_, _ = fmt.Fprintf(to, `{"title":"label %d","color":"#5843AD","type":"ProjectLabel"}`+"\n", i)
			}
		}},
		{"tree/project/issues.ndjson", func(to *bufio.Writer) {
			for i := range a.issues {
				_, _ = fmt.Fprintf(to, `{"title":"issue %d","iid":%d,"author_id":1,"state":"opened","description":%q,%s,"label_links":[{"label":{"title":"label %d","color":"#5843AD","type":"ProjectLabel"}}],"notes":[`,
					i, i+1, strings.Repeat("word ", a.textBytes/5), movingTime, i%200)
				writeNotes(to, each, "Issue")
				_, _ = to.WriteString("]}\n")
			}
		}},
		{"tree/project/merge_requests.ndjson", func(to *bufio.Writer) {
			for i := range a.requests {
				base, head := a.shas[len(a.shas)-1-i%(len(a.shas)-1)], a.shas[len(a.shas)-2-i%(len(a.shas)-1)]
				_, _ = fmt.Fprintf(to, `{"title":"request %d","iid":%d,"author_id":1,"state":"merged","source_branch":"topic-%d","target_branch":"main","source_project_id":1,"target_project_id":1,%s,`+
					`"merge_request_diff":{"state":"collected","base_commit_sha":%q,"start_commit_sha":%q,"head_commit_sha":%q,"merge_request_diff_commits":[],"merge_request_diff_files":[]},"notes":[`,
					i, i+1, i, movingTime, base, base, head)
				writeNotes(to, each, "MergeRequest")
				_, _ = to.WriteString("]}\n")
			}
		}},
	}
	for _, p := range parts {
		if err := addPart(w, folder, p.name, p.write); err != nil {
			return err
		}
	}
	if a.bundle != "" {
		if err := addFile(w, a.bundle, "project.bundle"); err != nil {
			return err
		}
	}
	for i := range a.uploads {
		if err := addUpload(w, i); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), zip.Close())
}

// addUpload makes an upload as it is written.
func addUpload(w *tar.Writer, n int) error {
	err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("./uploads/%032x/file.bin", n), Typeflag: tar.TypeReg, Mode: 0o600, Size: uploadBytes})
	random, block := rand.NewChaCha8([32]byte{byte(n)}), make([]byte, 64<<10)
	for range uploadBytes / len(block) {
		_, _ = random.Read(block[:len(block)/4])
		if err == nil {
			_, err = w.Write(block)
		}
	}
	return err
}

func writeNotes(to *bufio.Writer, n int, kind string) {
	for i := range n {
		if i > 0 {
			_ = to.WriteByte(',')
		}
		_, _ = fmt.Fprintf(to, `{"note":"A comment of some words, the %d. of its kind, as people write them","author_id":1,"author":{"name":"Jo Doe"},"noteable_type":%q,%s}`, i+1, kind, movingTime)
	}
}

// addPart writes a file of the tree, by way of one whose size is known.
func addPart(w *tar.Writer, folder, name string, write func(to *bufio.Writer)) (err error) {
	f, err := os.CreateTemp(folder, "part-")
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	write(out)
	err = errors.Join(out.Flush(), f.Close())
	if err == nil {
		err = addFile(w, f.Name(), name)
	}
	return errors.Join(err, os.Remove(f.Name()))
}

func addFile(w *tar.Writer, from, name string) (err error) {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: "./" + name, Typeflag: tar.TypeReg, Mode: 0o600, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// bundle makes a bundle of a repository, and returns the commits of main with it.
func bundle(ctx context.Context, repository, to string) ([]string, error) {
	if _, err := git(ctx, repository, "bundle", "create", "-q", to, "--all"); err != nil {
		return nil, err
	}
	text, err := git(ctx, repository, "rev-list", "--first-parent", "main")
	return strings.Fields(text), err
}
