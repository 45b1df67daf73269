package wiki

import (
	"path"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/base/media"
	"tenon/internal/core/upload"
)

// Format is the markup of a page.
type Format string

// The formats that pages can be written in by a call.
const (
	Markdown Format = "markdown"
	RDoc     Format = "rdoc"
	AsciiDoc Format = "asciidoc"
	Org      Format = "org"
)

// endings are those of the files of pages, the first of a format that of new pages. Pages in the
// other formats come by git.
var endings = map[Format][]string{
	Markdown: {"md", "markdown", "mkd", "mkdn", "mdown"}, RDoc: {"rdoc"}, AsciiDoc: {"asciidoc", "adoc"}, Org: {"org"},
	"textile": {"textile"}, "creole": {"creole"}, "rest": {"rst", "rest"}, "mediawiki": {"mediawiki", "wiki"}, "plaintext": {"txt"},
}

// uploads is the folder of attachments, which has no pages.
const uploads = "uploads"

const (
	maxPages  = 10_000
	maxFolder = 255  // bytes of the name of a folder
	maxName   = 245  // bytes of the name of a page
	maxTitle  = 4096 // bytes of a title with its folders
)

// formatOf returns the format of a file, "" for what is no page.
func formatOf(file string) Format {
	if strings.HasPrefix(file, uploads+"/") {
		return ""
	}
	for format, list := range endings {
		for _, ending := range list {
			if name, ok := strings.CutSuffix(path.Base(file), "."+ending); ok && name != "" {
				return format
			}
		}
	}
	return ""
}

// stem returns the path of a page's file without its ending.
func stem(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }

// slugOf returns the slug of a page's file: folders are divided by slashes, and a blank is a dash.
func slugOf(file string) string { return dashed(stem(file)) }

// titleOf returns the title of a page's file: its name, in which a dash is a blank. Dashes at either end stay,
// because titles have no blanks there.
func titleOf(file string) string {
	name := path.Base(stem(file))
	words := strings.Trim(name, "-")
	return strings.Replace(name, words, strings.ReplaceAll(words, "-", " "), 1)
}

func dashed(text string) string { return strings.ReplaceAll(text, " ", "-") }

// Page is a page at some commit.
type Page struct {
	ID       PageID // 0 for a page that the default branch does not have any more
	Path     string // of the file
	Slug     string
	Title    string
	Format   Format
	Content  string         // without the front matter
	Front    map[string]any // the front matter, empty where there is none
	raw      string         // Content with its front matter
	blob     string
	inFolder string // slug of the folder, "" for the root
}

func pageOf(file, blob string, id PageID) Page {
	p := Page{ID: id, Path: file, Slug: slugOf(file), Title: titleOf(file), Format: formatOf(file), Front: map[string]any{}, blob: blob}
	if at := strings.LastIndexByte(p.Slug, '/'); at > 0 {
		p.inFolder = p.Slug[:at]
	}
	return p
}

// Input describes a new page.
type Input struct {
	Title   string // with the folders before it
	Content string
	Format  Format
	Front   *string // title in the front matter; nil leaves that as the content has it
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Title   *string // without a slash the page stays in its folder
	Content *string
	Format  *Format
	Front   *string // title in the front matter; "" removes it
}

// fileFor returns the path of the file of a page with a title. No title leads out of the
// repository.
func fileFor(title string, format Format) (string, error) {
	var f errs.Fields
	words := strings.TrimSpace(title)
	clean := dashed(strings.TrimPrefix(path.Clean("/"+words), "/"))
	switch {
	case words == "" || clean == "":
		f.Add("title", "can't be blank")
		return "", f.Err()
	case !utf8.ValidString(words) || strings.ContainsAny(words, "\x00\r\n\\") || len(words) > maxTitle:
		f.Add("title", "is invalid")
		return "", f.Err()
	case clean == uploads || strings.HasPrefix(clean, uploads+"/"):
		f.Add("title", "'"+uploads+"' is a reserved name")
		return "", f.Err()
	}
	parts := strings.Split(clean, "/")
	for i, part := range parts {
		limit, what := maxFolder, "directory"
		if i == len(parts)-1 {
			limit, what = maxName, "page"
		}
		if len(part) > limit {
			f.Add("title", what+" name is too long (maximum is "+bytesText(limit)+")")
		}
		if strings.TrimSpace(part) == "" || strings.EqualFold(part, ".git") {
			f.Add("title", "is invalid")
		}
	}
	return clean + "." + endings[format][0], f.Err()
}

// sameSlug reports whether a page answers to a slug or title.
func sameSlug(file, slug string) bool { return slugOf(file) == dashed(strings.Trim(slug, "/")) }

// duplicate gives the error for a page that would have the slug of another one, whose file is
// named; but is the page itself.
func duplicate(files []string, file, but string) error {
	for _, other := range files {
		if other != but && slugOf(other) == slugOf(file) {
			var f errs.Fields
			f.Add("base", "Duplicate page: A page with that title already exists in the file "+other)
			return f.Err()
		}
	}
	return nil
}

// Attachment is a file that was uploaded to a wiki.
type Attachment struct {
	Name   string
	Path   string // in the repository
	Branch string
}

// Markdown shows the attachment, or links to it.
func (a *Attachment) Markdown() string {
	u := upload.Upload{Name: a.Name}
	link := "[" + u.Alt() + "](" + a.Path + ")"
	if media.Of(a.Name) == media.None {
		return link
	}
	return "!" + link
}
