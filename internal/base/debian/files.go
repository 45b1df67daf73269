package debian

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Listed is a file that a .changes or .dsc lists.
type Listed struct {
	Name              string
	Size              int64
	MD5, SHA1, SHA256 string
	Section, Priority string // of a .changes
}

// MaxListed is how many files a .changes or .dsc lists at most.
const MaxListed = 1000

// Files returns the files that a .changes or .dsc lists, each with its digests. Lists that differ are an error.
func (p Paragraph) Files() ([]Listed, error) {
	var out []Listed
	at := map[string]int{}
	err := p.list("Files", func(words []string, size int64) error {
		f := Listed{Name: words[len(words)-1], Size: size, MD5: words[0]}
		switch len(words) {
		case 3:
		case 5:
			f.Section, f.Priority = words[2], words[3]
		default:
			return errors.New("line of Files that is none")
		}
		if _, ok := at[f.Name]; ok {
			return fmt.Errorf("%s is listed twice in Files", f.Name)
		}
		at[f.Name] = len(out)
		out = append(out, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, sums := range []struct {
		field string
		of    func(f *Listed) *string
	}{
		{"Checksums-Sha1", func(f *Listed) *string { return &f.SHA1 }},
		{"Checksums-Sha256", func(f *Listed) *string { return &f.SHA256 }},
	} {
		if err := p.sums(sums.field, out, at, sums.of); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sums reads the digests of one kind.
func (p Paragraph) sums(field string, files []Listed, at map[string]int, of func(f *Listed) *string) error {
	err := p.list(field, func(words []string, size int64) error {
		if len(words) != 3 {
			return fmt.Errorf("line of %s that is none", field)
		}
		i, ok := at[words[2]]
		if !ok {
			return fmt.Errorf("%s is listed in %s but not in Files", words[2], field)
		}
		if files[i].Size != size {
			return fmt.Errorf("Size for %s in Files and %s differ", words[2], field) //nolint:staticcheck // the reason as uploaders of the reference get it
		}
		*of(&files[i]) = strings.ToLower(words[0])
		return nil
	})
	if err != nil {
		return err
	}
	for i := range files {
		if *of(&files[i]) == "" {
			return fmt.Errorf("%s is listed in Files but not in %s", files[i].Name, field)
		}
	}
	return nil
}

// list reads the lines of a field that lists files: a digest, a size, and more words.
func (p Paragraph) list(field string, each func(words []string, size int64) error) error {
	if !p.Has(field) {
		return fmt.Errorf("%s field is missing", field)
	}
	n := 0
	for line := range strings.SplitSeq(p.Get(field), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if n++; n > MaxListed {
			return fmt.Errorf("more than %d files", MaxListed)
		}
		if len(words) < 3 {
			return fmt.Errorf("line of %s that is none", field)
		}
		size, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("line of %s that is none", field)
		}
		if err := each(words, size); err != nil {
			return err
		}
	}
	if n == 0 {
		return fmt.Errorf("%s field is missing", field)
	}
	return nil
}
