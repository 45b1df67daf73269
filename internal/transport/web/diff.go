package web

import (
	"strconv"
	"strings"

	"tenon/internal/base/gitcmd"
)

// maxDiffLines is how many changed lines a page shows of one file.
const maxDiffLines = 3000

// diffView is what a page shows of a diff.
type diffView struct {
	Words        string
	Files        []diffFile
	Older, Newer string
}

// diffFile is the change of one file.
type diffFile struct {
	Name, Words string
	Lines       []diffLine
}

// diffLine is one line of a diff.
type diffLine struct{ Class, Old, New, Text string }

// shownDiff shows the files of a page of a diff that has total changed files.
func shownDiff(files []gitcmd.FileDiff, total int) *diffView {
	d := &diffView{Words: counted(int64(total), "changed file")}
	for i := range files {
		d.Files = append(d.Files, shownFile(&files[i]))
	}
	return d
}

func shownFile(f *gitcmd.FileDiff) diffFile {
	out := diffFile{Name: textOf(f.NewPath), Words: "+" + strconv.Itoa(f.Additions) + " -" + strconv.Itoa(f.Deletions)}
	switch {
	case f.New():
		out.Words = "new, " + out.Words
	case f.Deleted():
		out.Words = "deleted, " + out.Words
	case f.Renamed():
		out.Name = textOf(f.OldPath) + " to " + out.Name
	}
	switch {
	case f.Binary:
		out.Words += ", not text"
	case f.TooLarge:
		out.Words += ", too large to be shown"
	default:
		out.Lines = diffLines(textOf(f.Text()))
	}
	return out
}

// diffLines numbers the lines of a patch.
func diffLines(patch string) []diffLine {
	var out []diffLine
	from, to := 0, 0
	for text := range strings.Lines(patch) {
		if len(out) == maxDiffLines {
			return append(out, diffLine{Class: "hunk", Text: notShown})
		}
		text = strings.TrimRight(text, "\r\n")
		l := diffLine{Text: text}
		switch {
		case strings.HasPrefix(text, "@@"):
			l.Class = "hunk"
			from, to = hunk(text)
		case strings.HasPrefix(text, "+"):
			l.Class, l.New = "add", strconv.Itoa(to)
			to++
		case strings.HasPrefix(text, "-"):
			l.Class, l.Old = "del", strconv.Itoa(from)
			from++
		case strings.HasPrefix(text, `\`):
			l.Class = "hunk"
		default:
			l.Old, l.New = strconv.Itoa(from), strconv.Itoa(to)
			from, to = from+1, to+1
		}
		out = append(out, l)
	}
	return out
}

// hunk reads the first lines from a head such as "@@ -1,2 +3,4 @@".
func hunk(head string) (from, to int) {
	for _, word := range strings.Fields(head) {
		number, _, _ := strings.Cut(strings.TrimLeft(word, "-+"), ",")
		n, err := strconv.Atoi(number)
		switch {
		case err != nil:
		case strings.HasPrefix(word, "-") && from == 0:
			from = n
		case strings.HasPrefix(word, "+") && to == 0:
			to = n
		}
	}
	return from, to
}
