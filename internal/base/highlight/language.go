package highlight

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

//go:generate go run tenon/internal/tools/lexers languages.zip

// archive has the rules of each language, and their names (see internal/tools/lexers).
//
//go:embed languages.zip
var archive []byte

type (
	language struct {
		Rules  []*rule          `json:"rules"`
		States map[string][]int `json:"states"` // the rules of each, in their order
	}
	// rule says what a pattern shows, and which state comes after it.
	rule struct {
		lazy
		First  string   `json:"f"` // the ASCII characters that it begins with, as 32 hexadecimal digits
		Any    bool     `json:"u"` // it may begin with other characters too, or match nothing
		Before *look    `json:"b"`
		After  *look    `json:"a"` // what must not come after it
		Ahead  bool     `json:"h"` // its first group is the match
		Groups bool     `json:"g"` // each group has its part, not the whole match one
		Parts  []*part  `json:"t"`
		Next   []string `json:"n"`

		first [16]byte
	}
	// look is a pattern that the text before or after a match has to match, or must not.
	look struct {
		lazy
		Not bool `json:"n"`
	}
	// part says how a match or a group is shown: with a class, or as a text of a language.
	part struct {
		Class    string `json:"c"`
		Language string `json:"l"` // "." for the same
		State    string `json:"s"`
	}
	// lazy is a pattern that is compiled when it is needed first: most texts need few of a language.
	lazy struct {
		Pattern string `json:"p"`

		once sync.Once
		made *pattern
	}
	pattern struct {
		*regexp.Regexp
		cost int // steps to try it, beside the characters that it looks at
	}
)

// languages are those that were asked for, by the names of their files.
type languages struct {
	files map[string]*zip.File
	names map[string]string

	mu    sync.Mutex
	known map[string]*language
}

var load = sync.OnceValue(func() *languages {
	l := &languages{files: map[string]*zip.File{}, known: map[string]*language{}}
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic(fmt.Sprintf("languages: %v", err)) // a mistake of the build
	}
	for _, f := range z.File {
		l.files[strings.TrimSuffix(f.Name, ".json")] = f
	}
	l.read("names", &l.names)
	return l
})

func (l *languages) read(name string, into any) {
	r, err := l.files[name].Open()
	if err == nil {
		err = json.NewDecoder(r).Decode(into)
	}
	if err != nil {
		panic(fmt.Sprintf("language %s: %v", name, err)) // a mistake of the build
	}
	_ = r.Close() // it reads from memory
}

// find returns a language by one of its names in any case, nil for one that is not known.
func find(name string) *language {
	if len(name) > 40 {
		return nil
	}
	l := load()
	file, ok := l.names[strings.ToLower(name)]
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.known[file]; known != nil {
		return known
	}
	made := &language{}
	l.read(file, made)
	for _, r := range made.Rules {
		_, _ = hex.Decode(r.first[:], []byte(r.First)) // the archive has digits
	}
	l.known[file] = made
	return made
}

// OfFile returns the language of a file by its name, "" for one that is not known.
func OfFile(name string) string {
	name = strings.ToLower(name)
	names := load().names
	if language := names["="+name]; language != "" {
		return language
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		return names["=*"+name[dot:]]
	}
	return ""
}

// Languages are the names of all languages, sorted.
func Languages() []string {
	l := load()
	out := make([]string, 0, len(l.files))
	for name := range l.files {
		if name != "names" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (r *rule) begins(c byte) bool { return r.first[c/8]&(1<<(c%8)) != 0 }

// compiled matches the pattern after any one character.
func (l *lazy) compiled() *pattern { return l.compile(`\A(?s:.)`, "") }

// behind matches the pattern at the end of a text.
func (l *lazy) behind() *pattern { return l.compile("", `\z`) }

func (l *lazy) compile(before, after string) *pattern {
	l.once.Do(func() {
		whole := before + l.Pattern + after
		l.made = &pattern{Regexp: regexp.MustCompile(whole), cost: perRule}
		if parsed, err := syntax.Parse(whole, syntax.Perl); err == nil {
			if program, err := syntax.Compile(parsed.Simplify()); err == nil {
				l.made.cost += len(program.Inst) / perCost
			}
		}
	})
	return l.made
}

// perCost is how many instructions of a pattern are a step more to try it.
const perCost = 20
